"""Rows of cells: columns, a wrapped last column, or one below the other; never wider than the screen."""

from __future__ import annotations

import pytest

from aicli.ui.cells import line_width, plain
from aicli.ui.listing import listed

ROWS = [("a", "read", "一个很长的说明，放不下就换行"), ("longer", "by call", "short"), ("c", "", "")]


def test_columns_where_they_fit() -> None:
    assert [plain(line) for line in listed(ROWS, 60)] == [
        "  a       read     一个很长的说明，放不下就换行",
        "  longer  by call  short",
        "  c",
    ]


def test_the_last_column_is_wrapped_in_its_place() -> None:
    lines = [plain(line) for line in listed(ROWS, 43)]
    assert lines[:2] == ["  a       read     一个很长的说明，放不下就", "                   换行"]


def test_below_its_row_where_that_is_too_narrow() -> None:
    assert [plain(line) for line in listed(ROWS[:2], 24)] == [
        "  a", "    read  一个很长的说", "    明，放不下就换行", "  longer", "    by call  short",
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [12, 20, 40, 80])
def test_no_line_is_too_wide(columns: int) -> None:
    assert all(line_width(line) <= columns for line in listed(ROWS, columns))
    assert listed([], columns) == []


def test_one_column_alone() -> None:
    assert [plain(line) for line in listed([("x",), ("y",)], 20)] == ["  x", "  y"]
