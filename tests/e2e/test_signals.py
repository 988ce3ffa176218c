"""Signals and readers that go: the run ends in order, the history is answered, nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from aicli import paths
from aicli.content.messages import open_calls
from aicli.sessions.store import SessionStore
from tests.e2e.process import BOUND, Ran, aicli, environment, finish, start
from tests.support.counts import soaking
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import Step, call, hang, text, usage

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
FORMS = ("stream-json", "json", "text")
CASES = [
    pytest.param(number, form, id=f"{number.name}-{form}")
    for n, number in enumerate(CODES)
    for m, form in enumerate(FORMS)
    if soaking() or m == n % 3
]


def store() -> SessionStore:
    return SessionStore(paths.state_folder() / "sessions")


def alive(words: str) -> list[str]:
    """Command lines of processes that hold these words."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if words in line:
                found.append(line)
    return found


def check_cancelled(ran: Ran, code: int, form: str) -> None:
    assert ran.code == code, ran
    assert "Traceback" not in ran.err
    if form == "text":
        assert ran.out == b""
        assert "cancelled" in ran.err.splitlines()[-1], ran
    else:
        result = ran.result(form)
        assert result["subtype"] == "cancelled" and result["is_error"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(("number", "form"), CASES)
def test_a_signal_while_the_model_is_silent(number: signal.Signals, form: str) -> None:
    asked = threading.Event()

    def reply(body: dict) -> list[Step]:
        asked.set()
        return [text("Hello wor"), hang()]

    with ModelServer([reply]) as server:
        process = start("prompt", "hi", "--output-format", form, server=server)
        assert asked.wait(BOUND), (process.poll(), process.poll() is not None and process.communicate())
        process.send_signal(number)
        check_cancelled(finish(process), CODES[number], form)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("number", list(CODES) if soaking() else [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_a_command_ends_its_whole_tree_and_answers_the_call(
    number: signal.Signals, isolated: Path
) -> None:
    os.mkfifo(isolated / "started")
    mark = f"61.{os.getpid()}{number}"
    command = f"(sleep {mark} & setsid sleep {mark} & echo up > started; sleep {mark})"
    with ModelServer([[call("shell", command=command)], "never"]) as server:
        args = ("agent", "run", "general", "sleep", "--yolo", "--output-format", "stream-json", "--session-id", "one")
        process = start(*args, server=server)
        with open(isolated / "started") as pipe:
            assert pipe.read() == "up\n"
        process.send_signal(number)
        check_cancelled(finish(process), CODES[number], "stream-json")
    assert alive(mark) == []
    history = store().load("one").history
    assert open_calls(history) == ()
    assert history[-1].responses[0].is_error


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_cancelled_session_is_resumed_and_the_strict_server_takes_it() -> None:
    asked = threading.Event()

    def reply(body: dict) -> list[Step]:
        asked.set()
        return [hang()]

    with ModelServer([[call("ls", path=".")], reply, "resumed"]) as server:
        process = start("agent", "run", "general", "look", "--session-id", "one", server=server)
        assert asked.wait(BOUND), (process.poll(), process.poll() is not None and process.communicate())
        process.send_signal(signal.SIGINT)
        assert finish(process).code == 130
        ran = aicli("agent", "run", "general", "go on", "-r", "on", server=server)
        assert (ran.code, ran.text) == (0, "resumed\n"), ran
        assert server.violations == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_an_ignored_signal_stays_ignored() -> None:
    """As under nohup, or in the background of a script."""
    asked, go = threading.Event(), threading.Event()

    def reply(body: dict) -> list[Step]:
        asked.set()
        go.wait(BOUND)
        return [text("still here")]

    with ModelServer([reply]) as server:
        process = start("prompt", "hi", server=server, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        assert asked.wait(BOUND), (process.poll(), process.poll() is not None and process.communicate())
        process.send_signal(signal.SIGHUP)
        go.set()
        ran = finish(process)
        assert (ran.code, ran.text) == (0, "still here\n")


def test_the_reader_takes_one_line_and_goes() -> None:
    many = "\n".join(f"line {n} " + "x" * 40 for n in range(20_000))
    with ModelServer([[text(many), usage(9_000)]]) as server:
        process = start("prompt", "hi", server=server)
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"line 0")
        process.stdout.close()
        process.stdout = None
        ran = finish(process)
    assert (ran.code, ran.err) == (0, "")


def test_the_reader_of_a_stream_goes_and_the_run_ends_quietly(isolated: Path) -> None:
    gone = threading.Event()

    def reply(body: dict) -> list[Step]:
        gone.wait(BOUND)
        return [text("one"), text("two"), call("ls", path="."), usage(9_000)]

    with ModelServer([reply, [hang()]]) as server:
        process = start("agent", "run", "general", "x", "--output-format", "stream-json", server=server)
        assert process.stdout is not None
        assert b'"init"' in process.stdout.readline()
        process.stdout.close()
        process.stdout = None
        gone.set()
        ran = finish(process)
    assert (ran.code, ran.err) == (0, "")


def test_no_stdout_at_all() -> None:
    with ModelServer(["quiet"]) as server:
        process = start("prompt", "hi", server=server, stdout=None, preexec_fn=lambda: os.close(1))
        ran = finish(process)
    assert ran.code == 0 and "Traceback" not in ran.err, ran


def test_a_full_device_as_stdout_is_an_error() -> None:
    with ModelServer(["words"]) as server, open("/dev/full", "wb") as full:
        ran = finish(start("prompt", "hi", server=server, stdout=full))
    assert ran.code == 42 and "No space" in ran.err, ran


def test_a_child_that_holds_the_pipe_does_not_keep_the_run() -> None:
    """A daemon that a command leaves behind must not be waited for."""
    with ModelServer([[call("shell", command="setsid sleep 77.125 & echo left")], "done"]) as server:
        ran = aicli("agent", "run", "general", "x", "--yolo", "--json", server=server)
    assert ran.result("json")["result"] == "done"
    assert alive("77.125") == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_signal_that_came_while_the_program_was_loaded_has_its_result_too() -> None:
    """In a process of its own: other threads of this one would take the signal."""
    code = (
        "import os, signal, sys\n"
        "from aicli.commands._options import signals_held\n"
        "from aicli.cli import run\n"
        "with signals_held():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    sys.exit(run(['prompt', 'hi', '--output-format', 'stream-json']))\n"
    )
    with ModelServer([]) as server:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, "-c", code], env=environment(server), **streams)  # type: ignore[call-overload]
        check_cancelled(finish(process), 143, "stream-json")
        assert server.requests == []
