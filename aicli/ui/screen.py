"""Screen: the one owner of the terminal's cells. A frame is one write of settled lines and what changed in the live ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aicli.late import dataclass
from aicli.ui.cells import Line, clusters

SYNC_ON, SYNC_OFF = "\x1b[?2026h", "\x1b[?2026l"
ERASE = " \x1b[J\r"
"""Erases to the end of the screen. Never from its first cell: some terminals keep the old screen in the scrollback then."""
GAP = 6  # unchanged cells between two changed runs that are cheaper to write than to jump over
Cell = tuple[str, str] | None
"""A cluster and its style; None is the second cell of a wide cluster."""


def to_cells(line: Line) -> list[Cell]:
    cells: list[Cell] = []
    for text, style in line:
        for cluster, cells_wide, own in clusters(text, style):
            if cells_wide == 0:
                if cells and cells[-1] is not None:
                    cells[-1] = (cells[-1][0] + cluster, cells[-1][1])
                continue
            cells.append((cluster, own))
            if cells_wide == 2:
                cells.append(None)
    return cells


def _doubtful(cluster: str) -> bool:
    """Terminals disagree about the width of clusters made of several code points and of emoji."""
    return len(cluster) > 1 or cluster >= "\U0001f000"


@dataclass
class _Pen:
    """Collects one frame: text, the style in force, and where the cursor is in the region."""

    colour: bool
    row: int
    column: int

    def __post_init__(self) -> None:
        self.out: list[str] = []
        self.style = ""

    def to_style(self, style: str) -> None:
        if not self.colour or style == self.style:
            return
        if self.style:
            self.out.append(f"\x1b[;{style}m" if style else "\x1b[m")
        else:
            self.out.append(f"\x1b[{style}m")
        self.style = style

    def to_column(self, column: int) -> None:
        if column != self.column:
            self.out.append("\r" if column == 0 else f"\x1b[{column + 1}G")
            self.column = column

    def to_row(self, row: int, last: int) -> None:
        """Down goes by line feeds: they make rows that do not exist, or that a resize under way has taken away."""
        if row < self.row:
            self.out.append(f"\x1b[{self.row - row}A")
        elif row > self.row:
            if row > last:
                self.to_style("")
            self.out.append("\r" + "\n" * (row - self.row))
            self.column = 0
        self.row = row

    def cells(self, cells: Sequence[Cell], start: int) -> None:
        """Writes `cells`, the first of which stands at column `start`."""
        self.to_column(start)
        for offset, cell in enumerate(cells):
            if cell is None:
                continue
            if self.column != start + offset:
                self.to_column(start + offset)
            cluster, style = cell
            self.to_style(style)
            self.out.append(cluster)
            wide = offset + 1 < len(cells) and cells[offset + 1] is None
            self.column = -1 if _doubtful(cluster) else start + offset + (2 if wide else 1)


def _runs(old: Sequence[Cell], new: Sequence[Cell]) -> list[tuple[int, int]]:
    """Column ranges of `new` that differ from `old`, near ones merged, whole clusters only."""
    runs: list[tuple[int, int]] = []
    i = 0
    while i < len(new):
        if i < len(old) and old[i] == new[i]:
            i += 1
            continue
        start = i
        while i < len(new) and not (i < len(old) and old[i] == new[i]):
            i += 1
        while start and (new[start] is None or (start < len(old) and old[start] is None)):
            start -= 1
        while start and new[start] is None:
            start -= 1
        while i < len(new) and new[i] is None:
            i += 1
        if runs and start - runs[-1][1] <= GAP:
            runs[-1] = (runs[-1][0], i)
        else:
            runs.append((start, i))
    return runs


class Screen:
    """Shows lines through `write`, at most one call a frame. Never blocks by itself; `write` may.

    `reflows`: does the terminal wrap what is shown anew when its width changes? Most do.
    """

    def __init__(
        self, write: Callable[[str], None], columns: int, rows: int, *, colour: bool = True, reflows: bool = True
    ) -> None:
        self._write = write
        self.columns, self.rows = columns, rows
        self.colour = colour
        self.reflows = reflows
        self._live: list[list[Cell]] = [[]]
        self._row = self._column = 0
        self._shown_cursor = True

    @property
    def width(self) -> int:
        """Cells a line may take: the last column stays free."""
        return max(4, self.columns - 1)

    @property
    def live_limit(self) -> int:
        return max(1, min(10, self.rows - 4))

    def frame(
        self,
        settled: Sequence[Line] = (),
        live: Sequence[Line] = (),
        caret: tuple[int, int] | None = None,
        tail: str = "",
    ) -> None:
        """Prints `settled` above the live region for good, then makes the region `live`.

        `caret` is (row in `live`, column); without it the cursor is hidden at the end. `tail` is raw: a bell or a title.
        """
        limit = self.width
        lines = [*settled, *(live or [()])]
        base = len(settled)
        pen = _Pen(self.colour, self._row, self._column)
        if caret is None and live and self._shown_cursor:
            pen.out.append("\x1b[?25l")
            self._shown_cursor = False
        if settled:
            self._erase(pen)
        last = len(self._live) - 1
        fresh: list[list[Cell]] = []
        for i, line in enumerate(lines):
            cells = to_cells(line)
            if len(cells) > limit:
                cells = _clip(cells, limit)
            old = self._live[i] if i < len(self._live) else []
            if i > last:
                pen.to_row(i, last)
                last = i
            if cells != old:
                for start, end in _runs(old, cells):
                    pen.to_row(i, last)
                    pen.cells(cells[start:end], start)
                if len(old) > len(cells):
                    pen.to_row(i, last)
                    pen.to_style("")
                    pen.to_column(len(cells))
                    pen.out.append("\x1b[K")
            if i >= base:
                fresh.append(cells)
        if len(self._live) > len(lines):
            pen.to_style("")
            pen.to_row(len(lines), last)
            pen.to_column(0)
            pen.out.append("\x1b[J")
        row, column = (base + caret[0], caret[1]) if caret else (len(lines) - 1, 0)
        pen.to_style("")
        pen.to_row(min(row, len(lines) - 1), last)
        pen.to_column(min(column, limit))
        if (caret or not live) and not self._shown_cursor:
            pen.out.append("\x1b[?25h")
            self._shown_cursor = True
        self._live, self._row, self._column = fresh, pen.row - base, pen.column
        text = "".join(pen.out) + tail
        if text:
            self._write(f"{SYNC_ON}{text}{SYNC_OFF}")

    def _erase(self, pen: _Pen) -> None:
        """What settles is never a change of what stands there: a resize under way may have moved it."""
        pen.to_row(0, 0)
        pen.to_column(0)
        if self._live != [[]]:
            pen.out.append(ERASE)
        self._live = [[]]

    def resized(self, columns: int, rows: int) -> None:
        """The terminal has another size: forget the live region, wherever its rows now are. The next frame draws it."""
        above = 0
        if self.reflows and columns < self.columns:
            above = sum(max(1, -(-len(cells) // columns)) for cells in self._live[: self._row])
            above += max(0, self._column) // columns
        else:
            above = self._row
        self.columns, self.rows = columns, rows
        up = f"\x1b[{above}A" if above else ""
        self._write(f"{SYNC_ON}\x1b[m\r{up}{ERASE}{SYNC_OFF}")
        self._live, self._row, self._column = [[]], 0, 0

    def restart(self, columns: int, rows: int) -> None:
        """The cursor stands on a fresh line and nothing is live: after a suspension or another program."""
        self.columns, self.rows = columns, rows
        self._live, self._row, self._column = [[]], 0, -1
        self._shown_cursor = True

    def close(self) -> None:
        """Takes the live region away; the cursor is visible at column 0 below what has settled."""
        self.frame()
        if not self._shown_cursor:
            self._write("\x1b[?25h")
            self._shown_cursor = True


def _clip(cells: list[Cell], limit: int) -> list[Cell]:
    kept = cells[:limit]
    if limit < len(cells) and cells[limit] is None and kept:
        kept[-1] = (" ", "")
    return kept
