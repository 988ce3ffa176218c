"""After every kind of end the terminal is as it was: line discipline, modes, cursor, and no process of ours."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.support.counts import some
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, hang, text
from tests.support.screen import Tty
from tests.support.terminal import ROOT, aicli, children_of, prompt


def clean(tty: Tty) -> None:
    assert tty.stty_back and tty.modes_left == set()
    assert not tty.screen.cursor.hidden and tty.screen.cursor.x == 0
    assert tty.raw.count(b"\x1b[22;0t") == tty.raw.count(b"\x1b[23;0t")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("state", some(["tool", "idle"], 1))
def test_signals_end_it_with_their_code(number: signal.Signals, code: int, state: str) -> None:
    replies = [[call("shell", command="echo $((40+2)); sleep 60")]]
    with ModelServer(replies) as server, aicli("chat", "--yolo", server=server) as tty:
        prompt(tty)
        below: list[int] = []
        if state == "tool":
            tty.send("go\r")
            tty.until("      42")
            below = children_of(tty.pid)
            assert below
        os.kill(tty.pid, number)
        assert tty.wait(5) == code
        clean(tty)
        assert [pid for pid in below if Path(f"/proc/{pid}").exists() and alive(pid)] == []


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_sigint_stops_the_turn_and_a_second_in_the_same_cancel_ends_it() -> None:
    with ModelServer([[text("some "), hang()], [text("more "), hang()]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("some")
        os.kill(tty.pid, signal.SIGINT)
        tty.until("⊘ stopped after")
        prompt(tty)
        tty.send("/quit\r")
        assert tty.wait() == 0
        clean(tty)


def test_the_title_and_the_bell_only_when_somebody_looks_elsewhere() -> None:
    with ModelServer([[call("shell", command="touch made")], ["done"]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("y once")
        tty.quiet(0.5)
        assert b"\x07" not in tty.raw
        tty.send("\x1b[O")
        tty.until(lambda: b"\x07" in tty.raw, 12)
        assert b"aicli waits for you" in tty.raw
        tty.send("\x1b[I")
        tty.quiet(0.8)
        tty.send("y")
        tty.until("done")
        tty.send("\x04")
        assert tty.wait() == 0
        clean(tty)
        assert tty.raw.count(b"\x1b[22;0t") == 1


def test_ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() -> None:
    """Under a real shell with job control."""
    with ModelServer([["hi"]]) as server:
        env = {"AICLI_BASE_URL": server.url + "/v1", "AICLI_MODELS__FAST": "openai:m", "PYTHONPATH": str(ROOT)}
        with Tty(["bash", "--norc", "--noprofile", "-i"], env={**env, "PS1": "shell$ "}) as tty:
            tty.until("shell$")
            tty.send(f"{sys.executable} -m aicli chat\n")
            prompt(tty)
            tty.send("draft kept\x1a")
            tty.until("Stopped")
            tty.settle(0.2)
            assert tty.modes_left <= {"2004"}  # the shell's own line editor may set it
            tty.send("echo shell $((6*7))\n")
            tty.until("shell 42")
            tty.send("fg\n")
            tty.until("› draft kept")
            tty.send(" and sent\r")
            tty.until("  hi")
            assert "draft kept and sent" in str(server.requests[0].body)
            tty.send("\x04")
            tty.until("aicli chat -r")
            tty.settle(0.2)
            tty.send("exit\n")
            tty.wait()


def test_ctrl_z_without_a_shell_goes_on() -> None:
    with ModelServer([["hi"]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("draft\x1a")
        tty.quiet(0.3)
        tty.send(" sent\r")
        tty.until("  hi")
        assert "draft sent" in str(server.requests[0].body)


def test_a_terminal_that_goes_away_ends_it() -> None:
    with ModelServer([[text("some "), hang()]]) as server:
        tty = aicli("chat", server=server)
        prompt(tty)
        tty.send("go\r")
        tty.until("some")
        os.close(tty.child)
        os.close(tty.fd)
        end = time.monotonic() + 10
        while tty._alive() and time.monotonic() < end:
            time.sleep(0.05)
        tty.kill()
        assert tty.exit_code in (129, -signal.SIGHUP)


def test_an_error_before_the_session_stands_is_one_line() -> None:
    with aicli("chat", "-m", "nonsense:model", env={"AICLI_PROVIDER": "openai"}) as tty:
        assert tty.wait() not in (0, 1)
        clean(tty)
        assert sum(row.startswith("aicli: ") for row in tty.scrollback) == 1
