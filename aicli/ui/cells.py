"""Text as terminal cells: grapheme clusters, their widths, and wrapping that keeps words and Chinese punctuation right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

Span = tuple[str, str]
"""Text and its style: SGR parameters such as "1" or "2;36", "" for none."""
Line = tuple[Span, ...]
Cluster = tuple[str, int, str]
"""Grapheme cluster, width in cells, style."""

NO_START = frozenset("，。、；：！？）】》」』〉”’…～·!?,.;:)]}%")
NO_END = frozenset("（【《「『〈“‘([{")


_MARKS = frozenset("›✓✗⊘◆◌⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏…·─│−⌃↑•")


@lru_cache(maxsize=8192)
def cluster_width(cluster: str) -> int:
    """Cells that one grapheme cluster takes: 0, 1 or 2."""
    import wcwidth  # its tables are needed only for text beyond ASCII

    return max(0, min(2, wcwidth.wcswidth(cluster)))


def clusters(text: str, style: str = "") -> Iterator[Cluster]:
    """The text cut into grapheme clusters."""
    if text.isascii() or _MARKS.issuperset(c for c in text if not c.isascii()):
        for char in text:
            yield char, 1, style
        return
    import wcwidth

    for cluster in wcwidth.iter_graphemes(text):
        yield cluster, cluster_width(cluster), style


def width(text: str) -> int:
    """Cells that the text takes on one line."""
    return len(text) if text.isascii() else sum(w for _, w, _ in clusters(text))


def line_width(line: Line) -> int:
    return sum(width(text) for text, _ in line)


def plain(line: Line) -> str:
    return "".join(text for text, _ in line)


def join(parts: Iterable[Cluster]) -> Line:
    """Clusters back to spans, neighbours of one style together."""
    spans: list[Span] = []
    run: list[str] = []
    style = ""
    for cluster, _, own in parts:
        if own != style and run:
            spans.append(("".join(run), style))
            run = []
        style = own
        run.append(cluster)
    if run:
        spans.append(("".join(run), style))
    return tuple(spans)


def cut(line: Line, limit: int, mark: str = "…") -> Line:
    """The line in at most `limit` cells; what is cut off leaves `mark`."""
    if limit <= 0:
        return ()
    if line_width(line) <= limit:
        return line
    kept: list[Cluster] = []
    used, room = 0, limit - width(mark)
    style = ""
    for text, own in line:
        for part in clusters(text, own):
            if used + part[1] > room:
                return join([*kept, *clusters(mark, style)])
            kept.append(part)
            used += part[1]
            style = own
    return join(kept)


def cut_text(text: str, limit: int) -> str:
    return plain(cut(((text, ""),), limit))


def pad_right(text: str, cells: int) -> str:
    return text + " " * max(0, cells - width(text))


def pad_left(text: str, cells: int) -> str:
    return " " * max(0, cells - width(text)) + text


def cut_middle(text: str, limit: int) -> str:
    """Keeps both ends, as a path needs."""
    if width(text) <= limit:
        return text
    parts = [c for c, _, _ in clusters(text)]
    tail: list[str] = []
    room = (limit - 1) * 2 // 3
    while parts and width("".join(tail)) + width(parts[-1]) <= room:
        tail.insert(0, parts.pop())
    head = "".join(parts)
    return cut_text(head, limit - width("".join(tail))) + "".join(tail)


def sides(left: Line, right: Line, total: int) -> Line:
    """`left` from the first cell, `right` ending at cell `total`; the right one goes first when both do not fit."""
    if not right:
        return cut(left, total)
    used, wanted = line_width(left), line_width(right)
    if used + 2 + wanted <= total:
        return (*left, (" " * (total - used - wanted), ""), *right)
    if total - 1 - wanted >= 12:
        room = total - 2 - wanted
        short = cut(left, room)
        return (*short, (" " * (total - line_width(short) - wanted), ""), *right)
    return cut(left, total)


def _breaks_after(cluster: str, cells: int) -> bool:
    return cells == 2 or cluster in " \u3000"


def _units(parts: Sequence[Cluster]) -> Iterator[list[Cluster]]:
    """Runs that stay on one line: words with the spaces behind them, wide characters with their punctuation."""
    unit: list[Cluster] = []
    for i, part in enumerate(parts):
        cluster, cells, _ = part
        unit.append(part)
        following = parts[i + 1] if i + 1 < len(parts) else None
        if following is None:
            break
        if cluster in NO_END or (following[0] in NO_START and cluster != " "):
            continue
        if following[0] == " " and cluster != " ":
            continue
        if cluster == " " and following[0] == " ":
            continue
        if _breaks_after(cluster, cells) or following[1] == 2:
            yield unit
            unit = []
    if unit:
        yield unit


def _strip(parts: list[Cluster]) -> list[Cluster]:
    end = len(parts)
    while end and parts[end - 1][0] == " ":
        end -= 1
    return parts[:end]


def _pieces(unit: list[Cluster], limit: int) -> Iterator[list[Cluster]]:
    """A unit that is wider than a line, cut between clusters, never before a closing mark or after an opening one."""
    while unit:
        used = taken = 0
        while taken < len(unit) and used + unit[taken][1] <= limit:
            used += unit[taken][1]
            taken += 1
        if taken < len(unit):
            while taken > 1 and (unit[taken][0] in NO_START or unit[taken - 1][0] in NO_END):
                taken -= 1
        taken = max(1, taken)
        yield unit[:taken]
        unit = unit[taken:]


def wrap(line: Line, limit: int, *, first: Line = (), rest: Line = (), keep_end: bool = False) -> list[Line]:
    """Lines of at most `limit` cells, `first` before the first and `rest` before each later one.

    Spaces at a break go; with `keep_end` those at the very end stay.
    """
    parts = [part for text, style in line for part in clusters(text, style)]
    room = max(2, limit - max(line_width(first), line_width(rest)))
    lines: list[list[Cluster]] = []
    current: list[Cluster] = []
    used = 0
    for unit in _units(parts):
        solid = sum(w for _, w, _ in _strip(unit))
        if current and used + solid > room:
            lines.append(_strip(current))
            current, used = [], 0
        for piece in _pieces(unit, room) if solid > room else [unit]:
            if current and used + sum(w for _, w, _ in _strip(piece)) > room:
                lines.append(_strip(current))
                current, used = [], 0
            current.extend(piece)
            used += sum(w for _, w, _ in piece)
    lines.append(current if keep_end else _strip(current))
    return [(*(rest if i else first), *join(parts)) for i, parts in enumerate(lines)]


def hard_wrap(text: str, limit: int, style: str = "") -> list[Line]:
    """Cut between clusters only, for code and commands: nothing is dropped."""
    lines: list[Line] = []
    current: list[Cluster] = []
    used = 0
    for part in clusters(text, style):
        if used + part[1] > limit and current:
            lines.append(join(current))
            current, used = [], 0
        current.append(part)
        used += part[1]
    lines.append(join(current))
    return lines
