"""A Markdown table as lines of one width; as name: value records where a word would be cut."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aicli.ui.cells import Line, clusters, line_width, plain, wrap
from aicli.ui.inline import DIM, STRONG, inline

_RULE_CELL = re.compile(r"\s*:?-+:?\s*$")
_SPLIT = re.compile(r"(?<!\\)\|")


def split_row(line: str) -> list[str]:
    """The cells of one row. A bar in code or behind a backslash does not split."""
    text = line.strip()
    hidden = re.sub(r"(`+)(.+?)\1", lambda m: m[0].replace("|", "\0"), text)
    cells = [c.replace("\0", "|").replace("\\|", "|").strip() for c in _SPLIT.split(hidden)]
    if text.startswith("|"):
        cells = cells[1:]
    if text.endswith("|") and not text.endswith("\\|") and cells:
        cells = cells[:-1]
    return cells


def is_rule(line: str) -> bool:
    """Is it the line under the header?"""
    cells = split_row(line)
    return "-" in line and bool(cells) and all(_RULE_CELL.match(c) for c in cells)


def _longest_word(line: Line) -> int:
    """The widest piece that wrapping would not break."""
    widest = run = 0
    for cluster, cells, _ in (part for text, style in line for part in clusters(text, style)):
        run = 0 if cluster == " " else (cells if cells == 2 else run + cells)
        widest = max(widest, run)
    return widest


class Table:
    """Header, alignments and the rows so far."""

    def __init__(self, header: Sequence[str], rule: str) -> None:
        self.header = list(header)
        self.align = [_alignment(c) for c in split_row(rule)]
        self.rows: list[list[str]] = []
        self._widths: list[int] | None = None
        self._records = False
        self._begun = False

    def lines(self, columns: int, base: str = "", part: bool = False) -> list[Line]:
        """All lines for `columns` cells. With `part`, what is shown is dropped and the next call goes on below it."""
        header = [inline(c, STRONG)[0] for c in self.header]
        body = [[inline(c, base)[0] for c in self._fit(row)] for row in self.rows]
        if self._widths is None:
            widths = self._layout([header, *body], columns - 3)
        else:
            widths = self._widths
        records = self._records or widths is None
        lines: list[Line]
        if records or widths is None:
            lines = [line for row in body for line in self._record(row, columns)]
            if not body and not self._begun:
                lines = wrap(
                    inline(" · ".join(self.header), STRONG)[0], columns, first=(("  ", ""),), rest=(("  ", ""),)
                )
        else:
            lines = [] if self._begun else [*self._grid(header, widths), self._rule(widths)]
            lines += [line for row in body for line in self._grid(row, widths)]
        if part:
            self._widths, self._records, self._begun, self.rows = widths, records, True, []
        return lines

    def _fit(self, row: Sequence[str]) -> list[str]:
        return [row[i] if i < len(row) else "" for i in range(len(self.header))]

    def _layout(self, rows: Sequence[Sequence[Line]], room: int) -> list[int] | None:
        """Column widths within `room` cells, None when a word would be cut."""
        count = len(self.header)
        room -= 3 * count
        natural = [max(1, *(line_width(row[i]) for row in rows)) for i in range(count)]
        least = [max(1, *(_longest_word(row[i]) for row in rows)) for i in range(count)]
        least = [max(low, min(wide, 6)) for low, wide in zip(least, natural, strict=True)]
        if sum(least) > room:
            return None
        widths = list(natural)
        while sum(widths) > room:
            widest = max((i for i in range(count) if widths[i] > least[i]), key=lambda i: widths[i])
            widths[widest] -= 1
        return widths

    def _grid(self, row: Sequence[Line], widths: Sequence[int]) -> list[Line]:
        cells = [wrap(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        if any(line_width(line) > wide for lines, wide in zip(cells, widths, strict=True) for line in lines):
            return self._record(row, sum(widths) + 3 * len(widths) + 3)
        height = max(len(c) for c in cells)
        result: list[Line] = []
        for n in range(height):
            spans: list[tuple[str, str]] = [("  ", "")]
            for i, (cell, wide) in enumerate(zip(cells, widths, strict=True)):
                text = cell[n] if n < len(cell) else ()
                free = wide - line_width(text)
                side = self.align[i] if i < len(self.align) else "left"
                before = {"right": free, "center": free // 2}.get(side, 0)
                spans += [("│ ", DIM), (" " * before, ""), *text, (" " * (free - before + 1), "")]
            result.append((*spans, ("│", DIM)))
        return result

    def _rule(self, widths: Sequence[int]) -> Line:
        return (("  ├" + "┼".join("─" * (w + 2) for w in widths) + "┤", DIM),)

    def _record(self, row: Sequence[Line], columns: int) -> list[Line]:
        """One row as `name: value`, a blank line between rows."""
        lines: list[Line] = []
        for name, cell in zip(self.header, row, strict=True):
            if plain(cell).strip():
                label = (*inline(name, STRONG)[0], (": ", ""))
                lines += wrap((*label, *cell), columns, first=(("  ", ""),), rest=(("    ", ""),))
        return [*lines, ()]


def _alignment(cell: str) -> str:
    text = cell.strip()
    if text.endswith(":"):
        return "center" if text.startswith(":") else "right"
    return "left"
