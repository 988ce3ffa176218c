"""Finds the text that a model meant, in layers from exact to near; pure, and bounded in time."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import field

from aicli.late import dataclass
from aicli.workspace.text import newline_of, with_newlines

_QUOTES = str.maketrans("‘’‚‛′“”„‟″‐‑‒–—―−", "'''''\"\"\"\"\"-------")


@dataclass(frozen=True, slots=True)
class Hit:
    """A stretch of the file's text (start and stop as indices) and what to put there."""

    start: int
    stop: int
    new: str


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of the first layer that had any, in order, not overlapping. `places` counts overlapping ones too.

    `how` is "" for an exact match, else what was looked past.
    """

    hits: tuple[Hit, ...]
    places: tuple[int, ...]
    how: str


class Lines:
    """A text with bare \\n, and the way back to indices of the raw text."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.text = raw
        self._pairs: list[int] = []
        if "\n" not in raw and "\r" in raw:
            self.text = raw.replace("\r", "\n")
        elif "\r\n" in raw:
            self.text = raw.replace("\r\n", "\n")
            self._pairs = [m.start() - n for n, m in enumerate(re.finditer("\r\n", raw))]
        self.starts = [0, *(m.end() for m in re.finditer("\n", self.text))]

    def back(self, index: int) -> int:
        """The raw index of an index into `text`."""
        return index + bisect_left(self._pairs, index)

    def number(self, index: int) -> int:
        """The 1-based line of an index into `text`."""
        return bisect_right(self.starts, index)


@dataclass
class _Layer:
    how: str
    spans: Callable[[], list[tuple[int, int]]]
    rewrite: Callable[[str, int, int], str] = field(default=lambda new, start, stop: new)


def find(raw: str, old: str, new: str) -> Found | None:
    """Where `old` stands in `raw`; None if no layer finds it. `new` comes out with the file's line ends and indentation.

    Layers: exact; line ends and byte order mark; trailing white space; indentation by one run of one character;
    Unicode quotes and dashes.
    """
    exact = _all(raw, old)
    if exact:
        return _found(raw, [(i, i + len(old)) for i in exact], [new] * len(exact), "")
    lines = Lines(raw)
    old, new = _bare(old), _bare(new)
    for layer in _layers(lines, old, new):
        spans = layer.spans()
        if spans:
            news = [layer.rewrite(new, start, stop) for start, stop in spans]
            return _found(raw, [(lines.back(a), lines.back(b)) for a, b in spans], news, layer.how)
    return None


def _bare(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _layers(lines: Lines, old: str, new: str) -> list[_Layer]:
    plain, plain_old = lines.text.translate(_QUOTES), old.translate(_QUOTES)

    def keep(own: str, start: int, stop: int) -> str:
        return _keep_signs(lines.text[start:stop], old, own)

    quotes = "Unicode quotes and dashes"
    return [
        _Layer("", lambda: _spans(lines.text, old)),
        _Layer("white space at line ends", lambda: _loose(lines.text, old)),
        *_indented(lines, lines.text, old, new, "indentation"),
        _Layer(quotes, lambda: _spans(plain, plain_old), keep),
        _Layer(quotes + " and white space at line ends", lambda: _loose(plain, plain_old)),
        *_indented(lines, plain, plain_old, new, quotes + " and indentation"),
    ]


def _found(raw: str, spans: list[tuple[int, int]], news: list[str], how: str) -> Found:
    hits: list[Hit] = []
    plain = "\r" not in raw
    for (start, stop), new in zip(spans, news, strict=True):
        if not hits or start >= hits[-1].stop:
            end = "\n" if plain else _newline_at(raw, start, stop)
            hits.append(Hit(start, stop, with_newlines(new, end)))
    return Found(tuple(hits), tuple(start for start, _ in spans), how)


def _newline_at(raw: str, start: int, stop: int) -> str:
    """The line end to write there: that of the replaced text, else of the line around it, else the file's."""
    if "\n" in raw[start:stop]:
        return newline_of(raw[start:stop])
    end = raw.find("\n", stop)
    if end >= 0:
        return "\r\n" if end > 0 and raw[end - 1] == "\r" else "\n"
    return newline_of(raw)


def _all(text: str, part: str) -> list[int]:
    """Every start, overlapping ones too."""
    found: list[int] = []
    start = text.find(part) if part else -1
    while start >= 0:
        found.append(start)
        start = text.find(part, start + 1)
    return found


def _spans(text: str, part: str) -> list[tuple[int, int]]:
    return [(i, i + len(part)) for i in _all(text, part)]


def _loose(text: str, old: str) -> list[tuple[int, int]]:
    """Where `old` stands if blanks and tabs at line ends don't count, on either side."""
    parts = old.split("\n")
    if not old.strip():
        return []
    last = parts.pop()
    inner = [re.escape(p.rstrip(" \t")) for p in parts]
    end = re.escape(last.rstrip(" \t")) + ("(?=[ \t]*(?:\n|\\Z))" if last != last.rstrip(" \t") else "")
    pattern = re.compile("[ \t]*\n".join([*inner, end]))
    spans = []
    match = pattern.search(text)
    while match:
        spans.append(match.span())
        match = pattern.search(text, match.start() + 1)
    return spans


def _indented(lines: Lines, text: str, old: str, new: str, how: str) -> list[_Layer]:
    """Where all lines of `old` stand with the same run of one character added or removed at their start."""
    wanted = old.split("\n")
    ends_with_newline = len(wanted) > 1 and wanted[-1] == ""
    if ends_with_newline:
        wanted.pop()
    wanted = [w.rstrip(" \t") for w in wanted]
    if not any(wanted):
        return []
    shifts: dict[int, tuple[str, str]] = {}

    def spans() -> list[tuple[int, int]]:
        have = [line.rstrip(" \t") for line in text.split("\n")]
        anchor = next(i for i, w in enumerate(wanted) if w)
        core = wanted[anchor].strip(" \t")
        out = []
        for at, line in enumerate(have):
            first = at - anchor
            if line.endswith(core) and line.strip(" \t") == core and first >= 0:
                shift = _shift(have[first : first + len(wanted)], wanted)
                at_end = ends_with_newline and first + len(wanted) == len(have) and not have[-1]  # no line, but the end
                if shift is not None and not at_end:
                    start = lines.starts[first]
                    stop = _line_stop(lines, first + len(wanted) - 1, ends_with_newline)
                    shifts[start] = shift
                    out.append((start, stop))
        return out

    def rewrite(own: str, start: int, stop: int) -> str:
        add, cut = shifts[start]
        return "\n".join(_moved(line, add, cut) for line in own.split("\n"))

    return [_Layer(how, spans, rewrite)]


def _line_stop(lines: Lines, line: int, with_end: bool) -> int:
    last = line + 1 >= len(lines.starts)
    if last:
        return len(lines.text)
    return lines.starts[line + 1] - (0 if with_end else 1)


def _shift(have: list[str], wanted: list[str]) -> tuple[str, str] | None:
    """(added, removed): the run that the file's lines have more, or less, than the wanted ones; None if they differ."""
    if len(have) != len(wanted):
        return None
    shift: tuple[str, str] | None = None
    for line, want in zip(have, wanted, strict=True):
        if not line and not want:
            continue
        if want and line.endswith(want):
            now = (line[: len(line) - len(want)], "")
        elif line and want.endswith(line):
            now = ("", want[: len(want) - len(line)])
        else:
            return None
        if shift is not None and now != shift:
            return None
        shift = now
    run = shift[0] + shift[1] if shift else ""
    return shift if run in (" " * len(run), "\t" * len(run)) else None


def _moved(line: str, add: str, cut: str) -> str:
    if not line.strip(" \t"):
        return line
    if cut:
        return line.removeprefix(cut) if line.startswith(cut) else line.lstrip(cut[0])
    return add + line


def _keep_signs(own: str, old: str, new: str) -> str:
    """`new`, with the file's own quotes and dashes where it begins and ends as `old` does."""
    flat_old, flat_new = old.translate(_QUOTES), new.translate(_QUOTES)
    most = min(len(flat_old), len(flat_new))
    head = 0
    while head < most and flat_old[head] == flat_new[head]:
        head += 1
    tail = 0
    while tail < most - head and flat_old[-1 - tail] == flat_new[-1 - tail]:
        tail += 1
    middle = new[head : len(new) - tail]
    return own[:head] + middle + own[len(own) - tail :]
