"""Rows of cells as lines: columns where they fit, else the last cell wrapped in its column or below its row."""

from __future__ import annotations

from collections.abc import Sequence

from aicli.ui.cells import Line, pad_right, width, wrap
from aicli.ui.theme import BOLD, DIM

GAP = 2
LEAST = 20
"""Cells that a wrapped last column must have; with fewer it goes below its row."""


def listed(rows: Sequence[Sequence[str]], columns: int, *, indent: int = 2) -> list[Line]:
    """Lines of at most `columns` cells, the first cell of each row bold, the others dim."""
    if not rows:
        return []
    *heads, last = range(len(rows[0]))
    wide = [max(width(row[i]) for row in rows) for i in heads]
    start = indent + sum(wide) + GAP * len(wide)
    room = columns - start
    if room >= min(LEAST, max(width(row[last]) for row in rows)):
        lines: list[Line] = []
        for row in rows:
            cells = [pad_right(row[i], wide[i]) + " " * GAP for i in heads]
            lines += _row(indent, cells, row[last], columns, start)
        return lines
    return [line for row in rows for line in _stacked(row, columns, indent)]


def _row(indent: int, cells: list[str], last: str, columns: int, start: int) -> list[Line]:
    head: Line = ((" " * indent, ""), *((cell, DIM if i else BOLD) for i, cell in enumerate(cells)))
    if not last or not cells:
        return [_stripped(head)] if cells else wrap(((last, BOLD),), columns, first=head, rest=((" " * start, ""),))
    return wrap(((last, DIM),), columns, first=head, rest=((" " * start, ""),))


def _stripped(line: Line) -> Line:
    while line and not line[-1][0].strip():
        line = line[:-1]
    return (*line[:-1], (line[-1][0].rstrip(), line[-1][1])) if line else ()


def _stacked(row: Sequence[str], columns: int, indent: int) -> list[Line]:
    """The first cell, and below it the others."""
    blank: Line = ((" " * (indent + 2), ""),)
    head = wrap(((row[0], BOLD),), columns, first=((" " * indent, ""),), rest=blank)
    rest = "  ".join(cell for cell in row[1:] if cell)
    return [*head, *(wrap(((rest, DIM),), columns, first=blank, rest=blank) if rest else [])]
