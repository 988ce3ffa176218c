"""`agent run` on a terminal: the live list, approvals, stop, the last line and the exit code agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, error, text
from tests.support.screen import Tty
from tests.support.terminal import aicli


def _run(server: ModelServer, columns: int) -> Tty:
    return aicli("agent", "run", "general", "--yolo", "写一个问候", server=server, columns=columns, rows=40)


@pytest.mark.parametrize("columns", [80, 40])
def test_a_run_with_chinese_names_is_shown_and_ends_with_its_figures(columns: int, isolated: Path) -> None:
    replies = [
        [text("先看看。"), call("write_file", path="源码/问候.py", content='print("你好")\n')],
        [call("shell", command="python3 源码/问候.py && sleep 1.2")],
        [call("read_file", path="不存在.py")],
        [text("# 完成\n\n文件 `源码/问候.py` 打印 **你好**。", pieces=6)],
    ]
    replies = replies
    with (
        ModelServer(replies) as server,
        _run(server, columns) as tty,
    ):
        tty.until("你好")
        assert tty.wait() == 0
        screen = "\n".join(tty.scrollback)
        assert "✓ write" in screen and "✓ shell" in screen and "✗ read" in screen
        assert "文件 源码/问候.py 打印 你好。" in screen
        assert "────" in screen and "✓ finished · 3 calls, 1 failed" in screen
        assert tty.stty_back and tty.modes_left == set()
        assert any(frame.encode() in tty.raw for frame in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
        assert all(len(row) <= columns for row in screen.split("\n"))
    assert (isolated / "源码" / "问候.py").read_text() == 'print("你好")\n'


def test_it_asks_and_a_no_is_told_to_the_model() -> None:
    replies = [[call("shell", command="touch made")], ["Then not."]]
    with ModelServer(replies) as server, aicli("agent", "run", "general", "do it", server=server) as tty:
        tty.until("y once")
        tty.send("n")
        tty.until("why not:")
        tty.send("不要\r")
        assert tty.wait() == 0
        assert "⊘ refused" in tty.text and "Then not." in tty.text and "1 call, 1 failed" in tty.text
        assert "不要" in str(server.requests[1].body)


def test_escape_stops_it_with_130() -> None:
    replies = [[call("shell", command="echo begun; sleep 60")]]
    with ModelServer(replies) as server, aicli("agent", "run", "general", "--yolo", "go", server=server) as tty:
        tty.until("begun")
        tty.send("\x1b")
        assert tty.wait() == 130
        assert "⊘ stopped after" in tty.text and tty.stty_back


def test_a_failure_says_why_and_has_its_code() -> None:
    replies = [[error(401, "wrong key")]]
    with ModelServer(replies) as server, aicli("agent", "run", "general", "go", server=server) as tty:
        assert tty.wait() == 41
        assert "✗ failed: " in "\n".join(tty.scrollback)
