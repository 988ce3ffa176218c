"""A signal at any moment of the start: the exit code and the last line tell the truth, and no traceback is seen."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.e2e.process import BOUND, Ran, environment, finish, start
from tests.support.counts import count, soaking
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import Step, hang

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
SENT = list(CODES) if soaking() else [signal.SIGTERM, signal.SIGHUP]
"""The interpreter does odd things of its own with an early SIGINT; that one is sent at certain moments, below."""
OWN_FRAME = re.compile(r'File "[^"]*/aicli/(?!__init__)')


def check(ran: Ran, number: signal.Signals, form: str) -> None:
    """Ended while the interpreter itself was starting, or by the book."""
    if (
        number == signal.SIGINT
        and ran.code == 1
        and not ran.out
        and not OWN_FRAME.search(ran.err)
        and "aicli: " not in ran.err
    ):
        return  # the interpreter's own end while it loads itself: nothing of ours has run
    if ran.code == 0:
        assert form == "text" or ran.result(form)["subtype"] == "success", ran
        return
    assert ran.code in (CODES[number], -number), (number, ran)
    assert not OWN_FRAME.search(ran.err), ran.err
    if ran.code < 0:  # only the system or the interpreter itself ends so
        assert ran.out == b"", ran
        return
    assert "Traceback" not in ran.err, ran.err
    if form == "text":
        assert ran.out == b"", ran
    else:
        assert ran.result(form)["subtype"] == "cancelled", ran


@pytest.mark.parametrize("form", ["json", "stream-json", "text"] if soaking() else ["stream-json"])
def test_a_signal_at_a_random_moment_of_the_start(form: str) -> None:
    chance = random.Random(form)

    def reply(body: dict) -> list[Step]:
        return [hang()]

    rounds = count(3, 80)
    with ModelServer([reply] * rounds) as server:
        for n in range(rounds):
            number = SENT[n % len(SENT)]
            command = ("prompt", "hi") if n % 2 else ("agent", "run", "general", "hi")
            process = start(*command, "--output-format", form, server=server)
            time.sleep(chance.uniform(0, 0.4))
            process.send_signal(number)
            try:
                process.wait(BOUND / 3)
            except subprocess.TimeoutExpired:
                assert (
                    number == signal.SIGINT
                )  # which the interpreter itself may swallow while it loads its own modules
                process.send_signal(number)
                assert finish(process).code == CODES[number]
                continue
            check(finish(process), number, form)


AT = """
import os, sys
sys.argv = ["aicli", *{words!r}]
from aicli import __main__
class At:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, At())
__main__.main()
"""


@pytest.mark.parametrize(
    ("number", "form", "module"),
    [
        (signal.SIGINT, "stream-json", "aicli.cli"),
        (signal.SIGTERM, "json", "aicli.cli"),
        (signal.SIGHUP, "stream-json", "typer"),
        (signal.SIGINT, "json", "aicli.commands._options"),
        (signal.SIGTERM, "stream-json", "aicli.commands._run"),
        (signal.SIGINT, "text", "asyncio"),
        (signal.SIGTERM, "stream-json", "aicli.runtime"),
    ],
)
def test_a_signal_at_a_certain_import(number: signal.Signals, form: str, module: str) -> None:
    with ModelServer([]) as server:
        code = AT.format(words=["prompt", "hi", "--output-format", form], module=module, number=int(number))
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        ran = finish(subprocess.Popen([sys.executable, "-c", code], env=environment(server), **streams))  # type: ignore[call-overload]
        assert ran.code == CODES[number], ran
        check(ran, number, form)
        assert server.requests == []


@pytest.mark.parametrize("words", [["config", "show"], ["sessions", "list"], ["--help"]])
def test_ctrl_c_while_another_command_is_loaded(words: list[str]) -> None:
    code = AT.format(words=words, module="aicli.cli", number=int(signal.SIGINT))
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    ran = finish(subprocess.Popen([sys.executable, "-c", code], env=environment(), **streams))  # type: ignore[call-overload]
    assert (ran.code, ran.out, ran.err) == (130, b"", "")


def test_a_reader_who_does_not_read_holds_no_run_that_was_told_to_end(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its result can't be said: it ends all the same, by the signal's code."""
    words = "word " * 40_000
    read, write = os.pipe()
    try:
        with ModelServer([words]) as server:
            process = start("prompt", "hi", "--output-format", "json", server=server, stdout=write)
            os.close(write)
            until = time.monotonic() + BOUND
            while time.monotonic() < until and not _blocked(process.pid):
                time.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            assert process.wait(BOUND) in (0, 143)
    finally:
        os.close(read)


def _blocked(pid: int) -> bool:
    """Does it wait for a reader of its pipe?"""
    try:
        with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
            return "pipe_w" in file.read()
    except OSError:
        return True
