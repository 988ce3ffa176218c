"""Unified diffs of one file, bounded in time for large ones."""

from __future__ import annotations

import difflib

from aicli.late import dataclass
from aicli.workspace.text import decode, looks_binary, split_lines

CONTEXT = 3
_MOST = 3_000
"""Above this many differing lines on both sides together the middle is shown as removed and added whole."""


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff with its counts of lines."""

    text: str
    added: int
    removed: int


def diff_bytes(path: str, before: bytes | None, after: bytes | None) -> Diff:
    """From one content to another; None where there is no file. Binary content is only named."""
    if any(data and looks_binary(data) for data in (before, after)):
        sizes = " -> ".join("none" if d is None else f"{len(d):,} bytes" for d in (before, after))
        return Diff(f"Binary file {path}: {sizes}\n" if before != after else "", 0, 0)
    old = "" if before is None else decode(before).text
    new = "" if after is None else decode(after).text
    return diff_text(path, old, new, created=before is None, deleted=after is None)


def diff_text(path: str, old: str, new: str, *, created: bool = False, deleted: bool = False) -> Diff:
    """From one text to another, by lines; a change of line ends alone is said in words."""
    start, tail = _same_ends(old, new)
    by_cr = "\n" not in old + new
    a, b = _marked(old[start : len(old) - tail], by_cr), _marked(new[start : len(new) - tail], by_cr)
    head = f"--- {'/dev/null' if created else 'a/' + path}\n+++ {'/dev/null' if deleted else 'b/' + path}\n"
    if a == b:
        return Diff(head + _ends(old, new) if old != new or created or deleted else "", 0, 0)
    body, added, removed = _hunks(a, b, old.count("\n", 0, start))
    return Diff(head + body, added, removed)


def _same_ends(old: str, new: str) -> tuple[int, int]:
    """Characters at the start and at the end that need not be looked at: whole lines, but for the context of a diff."""
    start = old.rfind("\n", 0, _common(old, new)) + 1
    most = min(len(old), len(new)) - start
    at = len(old) - min(most, _common(old[start:], new[start:], back=True))
    for _ in range(CONTEXT + 1):
        start = old.rfind("\n", 0, max(0, start - 1)) + 1
        at = old.find("\n", at) + 1 or len(old)
    return start, len(old) - at


def _common(a: str, b: str, *, back: bool = False) -> int:
    """The length of the common beginning, or of the common end."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        x = a[len(a) - middle : len(a) - low] if back else a[low:middle]
        y = b[len(b) - middle : len(b) - low] if back else b[low:middle]
        if x == y:
            low = middle
        else:
            high = middle - 1
    return low


def _marked(text: str, by_cr: bool) -> list[str]:
    """The lines, the last one with a mark if it has no line end: so it differs from one that has."""
    lines = split_lines(text) if by_cr or "\n" in text else [text.removesuffix("\r")] if text else []
    if text and not text.endswith(("\n", "\r")):
        lines[-1] += "\n\\ No newline at end of file"
    return lines


def _ends(old: str, new: str) -> str:
    if not old and not new:
        return ""
    return "\\ Only line ends differ\n"


def _hunks(a: list[str], b: list[str], above: int) -> tuple[str, int, int]:
    top = 0
    while top < min(len(a), len(b)) and a[top] == b[top]:
        top += 1
    tail = 0
    while tail < min(len(a), len(b)) - top and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    begin = max(0, top - CONTEXT)
    a_stop, b_stop = len(a) - max(0, tail - CONTEXT), len(b) - max(0, tail - CONTEXT)
    x, y = a[begin:a_stop], b[begin:b_stop]
    if len(x) + len(y) > _MOST:
        keep = min(CONTEXT, tail)
        groups = [[("equal", 0, top - begin, 0, top - begin)]]
        groups[0].append(("replace", top - begin, len(x) - keep, top - begin, len(y) - keep))
        groups[0].append(("equal", len(x) - keep, len(x), len(y) - keep, len(y)))
    else:
        groups = [list(g) for g in difflib.SequenceMatcher(None, x, y, autojunk=False).get_grouped_opcodes(CONTEXT)]
    out, added, removed = [], 0, 0
    for group in groups:
        out.append(_head(group, above + begin))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                out += [" " + line for line in x[i1:i2]]
                continue
            out += ["-" + line for line in x[i1:i2]] + ["+" + line for line in y[j1:j2]]
            removed, added = removed + i2 - i1, added + j2 - j1
    return "".join(line + "\n" for line in out), added, removed


def _head(group: list[tuple[str, int, int, int, int]], begin: int) -> str:
    def span(start: int, stop: int) -> str:
        length = stop - start
        first = begin + start + (1 if length else 0)
        return str(first) if length == 1 else f"{first},{length}"

    return f"@@ -{span(group[0][1], group[-1][2])} +{span(group[0][3], group[-1][4])} @@"
