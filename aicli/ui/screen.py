"""Screen: the one owner of the terminal's cells. A frame is one write of settled lines and what changed in the live ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aicli.late import dataclass
from aicli.ui.cells import Line, clusters
from aicli.ui.differ import BLANK, Cell, Row, after_move, bare, doubtful, moved_cells, moved_rows, runs

SYNC_ON, SYNC_OFF = "\x1b[?2026h", "\x1b[?2026l"
ERASE = " \x1b[J\r"
"""Erases to the end of the screen. Never from its first cell: some terminals keep the old screen in the scrollback then."""


def to_cells(line: Line) -> Row:
    cells: Row = []
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


def _number(count: int) -> str:
    """As a parameter: one is what a terminal takes when there is none."""
    return str(count) if count != 1 else ""


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
            back = self.column - column if self.column >= 0 else 0
            self.out.append("\r" if column == 0 else "\b" * back if 0 < back < 4 else f"\x1b[{column + 1}G")
            self.column = column

    def over(self, cells: Sequence[Cell], column: int) -> None:
        """To the column, over cells that already stand in this row: a few plain ones are shorter written than jumped."""
        between = cells[self.column : column] if 0 <= self.column < column <= self.column + 3 else []
        if between and len(between) == column - self.column and all(c and not c[1] and c[0].isascii() for c in between):
            self.to_style("")
            self.out.append("".join(c[0] for c in between if c))
            self.column = column
        self.to_column(column)

    def to_row(self, row: int, last: int) -> None:
        """Down goes by line feeds: they make rows that do not exist, or that a resize under way has taken away."""
        if row < self.row:
            self.out.append(f"\x1b[{_number(self.row - row)}A")
        elif row > self.row:
            if row > last:
                self.to_style("")
            self.out.append(("\r" if self.column else "") + "\n" * (row - self.row))
            self.column = 0
        self.row = row

    def move_rows(self, row: int, last: int, count: int, end: str) -> None:
        """Puts in blank rows at `row` ("L") or takes rows out ("M"); what is below moves."""
        self.to_style("")
        self.to_row(row, last)
        self.to_column(0)
        self.out.append(f"\x1b[{_number(count)}{end}")

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
            self.column = -1 if doubtful(cluster) else start + offset + (2 if wide else 1)


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
        self._live: list[Row] = [[]]
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
        lines = [*settled, *(live or [()])]
        base = len(settled)
        pen = _Pen(self.colour, self._row, self._column)
        if caret is None and live and self._shown_cursor:
            pen.out.append("\x1b[?25l")
            self._shown_cursor = False
        if settled:
            self._erase(pen)
        rows = [_clip(to_cells(line), self.width) for line in lines]
        old = self._move_rows(pen, rows)
        last = len(old) - 1
        for i, cells in enumerate(rows):
            if i > last:
                pen.to_row(i, last)
                last = i
            self._row_changes(pen, (i, last), old[i] if i < len(old) else [], cells)
        if any(old[len(rows) :]):
            pen.to_style("")
            pen.to_row(len(rows), last)
            pen.to_column(0)
            pen.out.append("\x1b[J")
        row, column = (min(base + caret[0], len(rows) - 1), caret[1]) if caret else (len(rows) - 1, 0)
        pen.to_style("")
        pen.to_row(row, last)
        pen.over(rows[row], min(column, self.width))
        if (caret or not live) and not self._shown_cursor:
            pen.out.append("\x1b[?25h")
            self._shown_cursor = True
        self._live, self._row, self._column = rows[base:], pen.row - base, pen.column
        text = "".join(pen.out) + tail
        if text:
            self._write(f"{SYNC_ON}{text}{SYNC_OFF}")

    def _move_rows(self, pen: _Pen, new: Sequence[Row]) -> list[Row]:
        """Takes out and puts in whole rows, so that what only moved is not written again. The rows as they stand then."""
        rows = list(self._live)
        out, into = moved_rows(rows, new)
        if not out and not into:
            return rows
        last = len(rows) - 1
        for row, count in reversed(out):
            pen.move_rows(row, last, count, "M")
            del rows[row : row + count]
            rows += [[] for _ in range(count)]
        more = sum(count for _, count in into) - sum(count for _, count in out)
        if more > 0:
            pen.to_row(last + more, last)
            rows += [[] for _ in range(more)]
            last += more
        for row, count in into:
            if any(rows[row:]):
                pen.move_rows(row, last, count, "L")
                del rows[len(rows) - count :]
                rows[row:row] = [[] for _ in range(count)]
        return rows

    def _row_changes(self, pen: _Pen, place: tuple[int, int], old: Row, new: Row) -> None:
        """Writes what differs in one row; `place` is (row, last row there is)."""
        if old == new:
            return
        moved = moved_cells(old, new)
        if moved:
            at, cells = moved
            pen.to_row(*place)
            pen.to_style("")
            pen.to_column(at)
            pen.out.append(f"\x1b[{_number(abs(cells))}{'@' if cells > 0 else 'P'}")
            old = after_move(old, at, cells)
        for start, end in runs([*old, *[BLANK] * (len(new) - len(old))], new):
            pen.to_row(*place)
            pen.cells(new[start:end], start)
        if bare(old) > len(new):
            pen.to_row(*place)
            pen.to_style("")
            pen.to_column(len(new))
            pen.out.append("\x1b[K")

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


def _clip(cells: Row, limit: int) -> Row:
    if len(cells) <= limit:
        return cells
    kept = cells[:limit]
    if cells[limit] is None:
        kept[-1] = BLANK
    return kept
