"""The terminal's ends: the echo of what was typed before the start goes, and nothing else."""

from __future__ import annotations

import pyte
import pytest

from aicli.ui.terminal import unecho


@pytest.mark.parametrize("before", ["", "$ "])
@pytest.mark.parametrize("typed", ["", "early", "你好 early", "a\x01b", "x" * 36])
def test_one_row_of_echo_goes_by_itself(typed: str, before: str) -> None:
    screen = pyte.Screen(40, 6)
    stream = pyte.Stream(screen)
    stream.feed("above\r\n" + before + typed.replace("\x01", "^A"))
    stream.feed(unecho(typed.encode(), 40))
    assert [row.rstrip() for row in screen.display[:3]] == ["above", before.rstrip(), ""]
    assert (screen.cursor.y, screen.cursor.x) == (1, len(before))


@pytest.mark.parametrize("typed", ["x" * 100, "你好" * 15, "one\n\n" + "y" * 45, "first\rsecond", "first\r"])
def test_of_several_lines_only_the_last_goes(typed: str) -> None:
    screen = pyte.Screen(40, 8)
    stream = pyte.Stream(screen)
    *kept, _ = typed.replace("\r", "\n").split("\n")
    stream.feed("above\r\n" + typed.replace("\r", "\n").replace("\n", "\r\n"))
    stream.feed(unecho(typed.encode(), 40))
    assert [row.rstrip() for row in screen.display] == ["above", *kept, *[""] * (7 - len(kept))]
    assert (screen.cursor.y, screen.cursor.x) == (1 + len(kept), 0)
