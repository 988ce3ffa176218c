"""What changed between two states of the live rows: rows that moved, cells that moved, runs of cells that differ. Pure."""

from __future__ import annotations

from collections.abc import Sequence

Cell = tuple[str, str] | None
"""A cluster and its style; None is the second cell of a wide cluster."""
Row = list[Cell]
Rows = tuple[int, int]
"""The first row and how many."""
BLANK: Cell = (" ", "")
GAP = 6
"""Unchanged cells between two changed runs that are cheaper to write than to jump over."""
WORTH = 12
"""So many cells to be written anew are dearer than moving what stands there."""
MOST_MOVED = 2
"""Cells by which the rest of a row is moved at most: one key."""


def doubtful(cluster: str) -> bool:
    """Terminals disagree about the width of clusters made of several code points and of emoji."""
    return len(cluster) > 1 or cluster >= "\U0001f000"


def runs(old: Sequence[Cell], new: Sequence[Cell]) -> list[tuple[int, int]]:
    """Column ranges of `new` that differ from `old`, near ones merged, whole clusters only."""
    found: list[tuple[int, int]] = []
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
        if found and start - found[-1][1] <= GAP:
            found[-1] = (found[-1][0], i)
        else:
            found.append((start, i))
    return found


def bare(row: Sequence[Cell]) -> int:
    """Cells of the row up to its last one that is no plain blank: what stands behind needs neither ink nor erasing."""
    end = len(row)
    while end and row[end - 1] == BLANK:
        end -= 1
    return end


def moved_cells(old: Row, new: Row) -> tuple[int, int] | None:
    """(column, cells): the rest of the row moved right by so many cells, or left when negative. None: not worth it."""
    at = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    if _ink(runs(old, new)) + max(0, bare(old) - len(new)) <= WORTH or any(c and doubtful(c[0]) for c in old[at:]):
        return None
    if at >= len(old) or old[at] is None:
        return None
    best, found = _ink(runs(old, new)) - WORTH, None
    for cells in (1, -1, 2, -2)[: 2 * MOST_MOVED]:
        if cells < 0 and (at - cells >= len(old) or old[at - cells] is None):
            continue
        cost = _ink(runs(after_move(old, at, cells), new))
        if cost < best:
            best, found = cost, (at, cells)
    return found


def after_move(old: Row, at: int, cells: int) -> Row:
    """The row as it stands after its rest from column `at` moved."""
    return [*old[:at], *[BLANK] * cells, *old[at:]] if cells > 0 else [*old[:at], *old[at - cells :]]


def _ink(found: Sequence[tuple[int, int]]) -> int:
    return sum(end - start for start, end in found)


def moved_rows(old: Sequence[Row], new: Sequence[Row]) -> tuple[list[Rows], list[Rows]]:
    """(rows of `old` to take out, rows of `new` to put in blank) so that what both have stands where `new` wants it.

    Both empty when too little would be saved.
    """
    kept = _common(old, new)
    saved = sum(len(new[j]) for i, j in kept if i != j)
    if saved <= WORTH:
        return [], []
    out: list[Rows] = []
    into: list[Rows] = []
    i = j = 0
    for row_old, row_new in [*kept, (len(old), len(new))]:
        paired = min(row_old - i, row_new - j)
        if row_old - i > paired:
            out.append((i + paired, row_old - i - paired))
        if row_new - j > paired:
            into.append((j + paired, row_new - j - paired))
        i, j = row_old + 1, row_new + 1
    return (out, into) if saved > WORTH * (len(out) + len(into)) else ([], [])


def _common(old: Sequence[Row], new: Sequence[Row]) -> list[tuple[int, int]]:
    """The longest rows in order that both have, as pairs of their places; blank rows do not count."""
    length = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            if old[i] and old[i] == new[j]:
                length[i][j] = length[i + 1][j + 1] + 1
            else:
                length[i][j] = max(length[i + 1][j], length[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if old[i] and old[i] == new[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif length[i + 1][j] >= length[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
