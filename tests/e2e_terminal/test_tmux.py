"""In a real terminal program: scrollback before and after, resizes that wrap old lines anew, the choices in sight."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aicli.ui.cells import plain
from aicli.ui.keys import Key
from aicli.ui.line_editor import LineEditor
from tests.support.counts import some
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, text, usage, wait
from tests.support.terminal import ROOT

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
BEFORE = [f"before {n} 之前" for n in range(60)]
TABLE = "\n| 文件 | lines |\n|---|---:|\n| 购物车.py | 42 |\n"


class Tmux:
    """One window of a server of its own."""

    def __init__(self, columns: int, rows: int) -> None:
        self.name = f"aicli-test-{os.getpid()}-{columns}"
        shell = "env PS1='$ ' bash --norc --noprofile -i"
        self.run("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), shell)
        self.run("set-option", "-g", "window-size", "manual")

    def run(self, *argv: str) -> str:
        done = subprocess.run(["tmux", "-L", self.name, *argv], capture_output=True, text=True, timeout=20, check=True)
        return done.stdout

    def keys(self, *keys: str) -> None:
        self.run("send-keys", *keys)

    @property
    def screen(self) -> str:
        return self.run("capture-pane", "-p")

    @property
    def scrollback(self) -> list[str]:
        return [row.rstrip() for row in self.run("capture-pane", "-p", "-J", "-S", "-").split("\n")]

    def until(self, test: Callable[[], bool], seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not test():
            assert time.monotonic() < end, self.screen
            time.sleep(0.05)

    def shows(self, what: str) -> None:
        self.until(lambda: what in self.screen)

    def resize(self, columns: int, rows: int) -> None:
        self.run("resize-window", "-x", str(columns), "-y", str(rows))


@pytest.fixture(params=some([(100, 30), (40, 12), (80, 24)], 2), ids=lambda size: f"{size[0]}x{size[1]}")
def tmux(request: pytest.FixtureRequest) -> Iterator[Tmux]:
    terminal = Tmux(*request.param)
    yield terminal
    terminal.run("kill-server")


def start(tmux: Tmux, server: ModelServer) -> None:
    env = {
        "AICLI_BASE_URL": server.url + "/v1", "AICLI_MODELS__FAST": "openai:m", "AICLI_MODELS__THINKING": "openai:m",
        "PYTHONPATH": str(ROOT), "AICLI_SANDBOX__MODE": "off", "LC_ALL": "C.UTF-8",
    }  # fmt: skip
    sets = " ".join(f"{k}={shlex.quote(v)}" for k, v in env.items())
    script = Path("before.sh")
    script.write_text("for n in " + " ".join(str(n) for n in range(60)) + "; do echo before $n 之前; done\n")
    tmux.keys("bash before.sh", "Enter")
    tmux.shows("before 59 之前")
    tmux.keys(f"clear -x 2>/dev/null; {sets} {sys.executable} -m aicli chat", "Enter")
    tmux.until(lambda: "/help" in tmux.screen and " · " in tmux.screen)


def test_what_was_there_stays_and_what_settles_stands_once(tmux: Tmux) -> None:
    reply = [step for n in range(40) for step in (text(f"## Heading {n}\n\nText of {n}.\n"), wait(0.04))]
    replies = [[*reply, text(TABLE), usage(900, 20)], [call("shell", command="mkdir d"), usage(900, 20)], ["fine"]]
    with ModelServer(replies) as server:
        start(tmux, server)
        columns, rows = (int(n) for n in tmux.run("display-message", "-p", "#{pane_width} #{pane_height}").split())
        tmux.keys("go", "Enter")
        for n in range(10):
            tmux.shows(f"Text of {3 * n}") if n < 2 else time.sleep(0.1)
            tmux.resize(columns - 8 + 2 * n, rows + n % 3)
        tmux.resize(columns, rows)
        tmux.shows("购物车.py")
        tmux.until(lambda: "/help" in tmux.screen)
        tmux.keys("now the other", "Enter")
        tmux.shows("a always…") if "a always…" in tmux.screen else tmux.shows("y once")
        assert all(choice in tmux.screen for choice in ("y once", "n no, and say why", "e change it"))
        tmux.until(lambda: "y once" in tmux.screen)
        time.sleep(0.8)
        tmux.keys("y")
        tmux.shows("fine")
        tmux.until(lambda: "/help" in tmux.screen)
        tmux.keys("C-d")
        tmux.shows("aicli chat -r")
        lines = tmux.scrollback
        assert [row for row in lines if row.startswith("before ")][-60:] == BEFORE
        headings = [row.strip() for row in lines if row.strip().startswith("Heading ")]
        assert headings == [f"Heading {n}" for n in range(40)]
        assert sum("购物车.py" in row for row in lines) == 1
        assert [row for row in lines if "/help" in row or "Esc to stop" in row or "y once" in row] == []
        tmux.keys("stty -a | grep -c ' icanon'; printf 'col%s\\n' umn", "Enter")
        tmux.shows("column")
        assert "\n1\n" in tmux.screen


DRAFT = "why does it 为什么会这样，round wrongly？ See src/cart.py, 购物车（cart）: 10.07 != 10.08; é — " * 3


def test_a_long_draft_stands_as_it_was_typed(tmux: Tmux) -> None:
    """Rows and cells that move are moved by the terminal itself: it must have the same idea of them."""
    with ModelServer([]) as server:
        start(tmux, server)
        columns, rows = (int(n) for n in tmux.run("display-message", "-p", "#{pane_width} #{pane_height}").split())
        editor = LineEditor()

        def stands() -> bool:
            lines, (row, column) = editor.view(columns - 1, min(10, rows - 4) - 1)
            shown = [text.rstrip() for text in tmux.screen.rstrip("\n").split("\n")]
            while not shown[-1]:
                shown.pop()
            x, y = (int(n) for n in tmux.run("display-message", "-p", "#{cursor_x} #{cursor_y}").split())
            want = [plain(line).rstrip() for line in lines]
            return shown[-1 - len(want) : -1] == want and (y, x) == (len(shown) - 1 - len(want) + row, column)

        for at in range(0, len(DRAFT), 9):
            tmux.run("send-keys", "-l", DRAFT[at : at + 9])
            editor.key(Key("char", DRAFT[at : at + 9]))
            if at % 27 == 0:
                tmux.until(stands)
        edits = [("C-a", "ctrl-a"), ("x", ""), ("中", ""), ("DC", "delete"), ("Right", "right"), ("，", "")]
        edits += [("C-e", "ctrl-e"), *[("BSpace", "backspace")] * 12, ("C-w", "ctrl-w"), ("C-u", "ctrl-u")]
        for name, own in edits:
            tmux.keys(name)
            editor.key(Key(own) if own else Key("char", name))
            tmux.until(stands)
        tmux.keys("C-d")
        tmux.until(lambda: "/help" not in tmux.screen)
        assert [row for row in tmux.scrollback if row.startswith("before ")][-60:] == BEFORE
