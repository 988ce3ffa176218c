"""`agent run` on a terminal: the list, a question, Ctrl-C as a key."""

from __future__ import annotations

import os
import pty
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte
import pytest

from tests.e2e.process import BOUND, start
from tests.e2e.test_signals import alive
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call


class OnTerminal:
    """A run whose three streams are one terminal of 80 columns."""

    def __init__(self, *args: str, server: ModelServer) -> None:
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 80))
        self.before = termios.tcgetattr(slave)
        env = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        self.process = start(*args, server=server, env=env, stdin=slave, stdout=slave, stderr=slave)
        self.slave = slave
        self.seen = b""
        self.screen = pyte.Screen(80, 24)
        self.stream = pyte.ByteStream(self.screen)

    def until(self, there: Callable[[str], bool]) -> None:
        """Reads until a row of the screen is as asked."""
        end = time.monotonic() + BOUND
        while not any(map(there, self.screen.display)):
            assert time.monotonic() < end and self.process.poll() is None, self.screen.display
            data = os.read(self.master, 65536)
            self.seen += data
            self.stream.feed(data)

    def key(self, data: bytes) -> None:
        os.write(self.master, data)

    def end(self) -> int:
        """The exit code; the terminal must be as it was."""
        os.set_blocking(self.master, False)
        end = time.monotonic() + BOUND
        while self.process.poll() is None and time.monotonic() < end:
            self._drain()
            try:
                self.process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        self._drain()
        code = self.process.wait(0)
        assert termios.tcgetattr(self.slave) == self.before
        assert self.seen.rfind(b"\x1b[?25h") > self.seen.rfind(b"\x1b[?25l")
        os.close(self.slave)
        os.close(self.master)
        return code

    def _drain(self) -> None:
        try:
            self.seen += os.read(self.master, 65536)
        except (BlockingIOError, OSError):
            pass


@pytest.mark.skipif(os.name == "nt", reason="no pty there")
def test_a_run_is_shown_as_a_list_with_the_answer_below() -> None:
    with ModelServer([[call("ls", path=".")], "The **answer** 中"]) as server:
        run = OnTerminal("agent", "run", "general", "look", server=server)
        assert run.end() == 0
    text = run.seen.decode()
    assert "✓" in text and "answer" in text and "**" not in text and "1 call" in text and "中" in text


@pytest.mark.skipif(os.name == "nt", reason="no pty there")
def test_ctrl_c_stops_the_command_and_the_run() -> None:
    mark = f"62.{os.getpid()}"
    with ModelServer([[call("shell", command=f"echo is-up; sleep {mark}")], "never"]) as server:
        run = OnTerminal("agent", "run", "general", "sleep", "--yolo", server=server)
        run.until(lambda row: row.strip() == "is-up")
        run.key(b"\x03")
        assert run.end() == 130
    assert alive(mark) == [] and "⊘" in run.seen.decode()


@pytest.mark.skipif(os.name == "nt", reason="no pty there")
def test_a_yes_lets_the_file_be_written(isolated: Path) -> None:
    with ModelServer([[call("write_file", path="新.txt", content="x\n")], "written"]) as server:
        run = OnTerminal("agent", "run", "general", "write", server=server)
        run.until(lambda row: "once" in row)
        assert not (isolated / "新.txt").exists()
        run.key(b"y")
        assert run.end() == 0
    assert (isolated / "新.txt").read_text() == "x\n"
