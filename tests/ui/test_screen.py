"""Screen: what the differ writes makes a terminal show exactly the lines, in one write a frame, inside one sync pair."""

from __future__ import annotations

import random

import pyte
import pytest

from aicli.ui.buffer import items_of
from aicli.ui.cells import Line, plain
from aicli.ui.keys import Key
from aicli.ui.line_editor import LineEditor
from aicli.ui.screen import SYNC_OFF, SYNC_ON, Screen
from tests.support.counts import count, some
from tests.support.screen import Emulator


class Shown:
    def __init__(self, columns: int = 40, rows: int = 12) -> None:
        self.writes: list[str] = []
        self.pyte = Emulator(columns, rows)
        self.stream = pyte.Stream(self.pyte)
        self.screen = Screen(self.write, columns, rows, reflows=False)

    def write(self, text: str) -> None:
        self.writes.append(text)
        self.stream.feed(text)

    @property
    def lines(self) -> list[str]:
        top = ["".join(row[x].data for x in range(self.pyte.columns)).rstrip() for row in self.pyte.history.top]
        return [*top, *(line.rstrip() for line in self.pyte.display)]


def line(text: str, style: str = "") -> Line:
    return ((text, style),) if text else ()


def test_random_frames_show_exactly_their_lines() -> None:
    words = ["", "a", "hello world", "你好世界", "x" * 39, "ab你cd", "é café", "⠋ shell  pytest", "⠙ shell  pytest"]
    for seed in range(count(30, 600)):
        pick = random.Random(seed)
        shown = Shown()
        settled: list[str] = []
        live: list[str] = []
        for _ in range(25):
            fresh = [pick.choice(words) for _ in range(pick.choice([0, 0, 0, 1, 2, 9]))]
            live = [pick.choice(words) for _ in range(pick.randint(0, 8))]
            settled += fresh
            caret = (pick.randrange(len(live)), 3) if live and pick.random() < 0.5 else None
            styles = ["", "1", "31"]
            before = len(shown.writes)
            shown.screen.frame([line(t) for t in fresh], [line(t, pick.choice(styles)) for t in live], caret)
            assert len(shown.writes) <= before + 1
            got = shown.lines
            while got and not got[-1]:
                got.pop()
            want = [*settled, *live]
            while want and not want[-1]:
                want.pop()
            assert [w.replace(" ", "") for w in got] == [w.replace(" ", "") for w in want], seed
            if caret:
                assert shown.pyte.cursor.x == 3
        shown.screen.close()
        got = shown.lines
        assert shown.pyte.cursor.x == 0 and not shown.pyte.cursor.hidden
        assert [g for g in got if g] == [s for s in settled if s]


def test_an_unchanged_frame_writes_nothing() -> None:
    shown = Shown()
    shown.screen.frame([line("a")], [line("b"), line("› ")], (1, 2))
    before = len(shown.writes)
    shown.screen.frame([], [line("b"), line("› ")], (1, 2))
    assert len(shown.writes) == before


TYPED = "why does it 为什么会这样，round wrongly？ See src/cart.py — é and ⚠️, 购物车（cart）: 10.07 != 10.08; " * 8
FOOTER: Line = ((" ask · 19% · 38 s", "2"), ("        /help", "2"))


def bare(row: str) -> str:
    """Without what terminals disagree about: pyte has another idea of a sign made of two code points."""
    return row.replace(" ", "").replace("\N{VARIATION SELECTOR-16}", "")


@pytest.mark.parametrize("columns", some([40, 80, 100], 2))
def test_a_key_costs_at_most_sixty_bytes_wherever_it_falls(columns: int) -> None:
    """At the end of a row, at the last row there is room for, in the middle of a line, and taken back again."""
    shown, editor = Shown(columns, 24), LineEditor()

    def press(key: Key) -> int:
        before = len(shown.writes)
        editor.key(key)
        lines, caret = editor.view(shown.screen.width, 9)
        shown.screen.frame([], [*lines, FOOTER], caret)
        assert len(shown.writes) <= before + 1
        return sum(len(text.replace("\n", "\r\n").encode()) for text in shown.writes[before:])

    press(Key("char", " "))
    for char in items_of(TYPED):
        assert press(Key("char", str(char))) <= 60, char
    lines, caret = editor.view(shown.screen.width, 9)
    want = [bare(plain(row)) for row in [*lines, FOOTER]]
    assert [bare(row) for row in shown.lines if row] == want
    assert (shown.pyte.cursor.x, shown.pyte.cursor.hidden) == (caret[1], False)
    editor.clear()
    for char in "What is behind 你好 moves" + "x" * (columns - 40):
        press(Key("char", char))
    for key in [Key("ctrl-a"), *(Key("char", c) for c in "ab好, "), *[Key("backspace")] * 3, Key("delete")]:
        assert press(key) <= 60, key
    assert plain(editor.view(columns, 9)[0][0]).rstrip() in shown.lines


def test_spinner_and_seconds_cost_few_bytes() -> None:
    shown = Shown(80, 24)
    rest = [line("› draft"), line(" ask · model · 24k/128k 19% · turn 3, 38 s", "2")]

    def frame(spinner: str, seconds: str) -> list[Line]:
        return [((spinner + " ", "36"), ("shell  pytest -q tests/cart" + " " * 30, ""), (seconds, "2")), *rest]

    shown.screen.frame([], frame("⠋", "12 s"), (1, 7))
    shown.screen.frame([], frame("⠙", "13 s"), (1, 7))
    assert len(shown.writes[-1].encode()) <= 70, shown.writes[-1]


def test_each_write_is_one_sync_pair_and_no_screen_is_wiped() -> None:
    shown = Shown()
    for i in range(30):
        shown.screen.frame([line(f"line {i}")], [line("live"), line("⠋")])
    shown.screen.resized(30, 10)
    shown.screen.frame([], [line("live")])
    shown.screen.close()
    for text in shown.writes:
        if text.startswith(SYNC_ON):
            assert text.endswith(SYNC_OFF) and text.count(SYNC_ON) == 1
    everything = "".join(shown.writes)
    assert not any(bad in everything for bad in ("\x1b[2J", "\x1b[3J", "?1049", "?47h", "\x1b]52"))


def test_doubtful_clusters_are_followed_by_a_column() -> None:
    """Whatever a terminal thinks of ⚠️, the border behind it stands in its column."""
    shown = Shown(60, 5)
    shown.screen.frame([(("│ ⚠️ │ 👨‍👩‍👧 │ x │", ""),)])
    raw = shown.writes[0]
    assert "⚠️\x1b[5G" in raw and "👨‍👩‍👧\x1b[10G" in raw


def test_no_colour_means_no_style_at_all() -> None:
    written: list[str] = []
    screen = Screen(written.append, 40, 10, colour=False)
    screen.frame([line("x", "1;31")], [line("y", "2")])
    assert "m" not in "".join(written).replace("\x1b[?2026h", "").replace("\x1b[?2026l", "")


def test_resize_forgets_only_the_live_region() -> None:
    shown = Shown(40, 12)
    for i in range(20):
        shown.screen.frame([line(f"settled {i}")], [line("live one"), line("› "), line("footer")], (1, 2))
    for columns in (60, 30, 50, 20, 40):
        shown.pyte.resize(12, columns)
        shown.screen.resized(columns, 12)
        shown.screen.frame([], [line("live one"), line("› "), line("footer")], (1, 2))
    text = [row for row in shown.lines if row]
    assert text == [*(f"settled {i}" for i in range(20)), "live one", "›", "footer"]


def test_where_old_lines_reflow_their_rows_are_counted() -> None:
    written: list[str] = []
    screen = Screen(written.append, 80, 24, reflows=True)
    screen.frame([], [line("x" * 70), line("y" * 10), line("› ")], (2, 2))
    screen.resized(40, 24)
    assert "\x1b[3A" in written[-1]  # 70 cells are two rows now, 10 are one
    assert plain(line("x")) == "x"
