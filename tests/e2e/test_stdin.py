"""stdin in every state: a terminal, nothing, closed, an open pipe that says nothing, data."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

from tests.e2e.process import Ran, aicli, finish, start
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import text, usage


def asked(server: ModelServer) -> str:
    """What the person said in the last request."""
    content = server.bodies[-1]["messages"][-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


def run(*args: str, **options: object) -> tuple[Ran, str]:
    with ModelServer([[text("ok"), usage(9_000)]]) as server:
        ran = aicli("prompt", *args, server=server, **options)  # type: ignore[arg-type]
        return ran, asked(server) if server.requests else ""


def test_data_alone_is_the_prompt_and_beside_words_it_is_added() -> None:
    ran, said = run(data="看 this\n".encode())
    assert (ran.code, ran.text) == (0, "ok\n") and said.endswith("看 this")
    ran, said = run("review", "this", data=b"diff --git\n\n")
    assert ran.code == 0 and said.endswith("review this\n\n<stdin>\ndiff --git\n</stdin>")


def test_a_dash_waits_for_a_slow_pipe() -> None:
    with ModelServer(["ok"]) as server:
        process = start("prompt", "-", server=server, stdin=subprocess.PIPE)
        assert asked_after(process, b"late") == 0
        assert asked(server).endswith("late")


def asked_after(process: subprocess.Popen[bytes], data: bytes) -> int:
    ran = finish(process, data)
    return ran.code


def test_an_open_pipe_that_says_nothing_is_not_waited_for() -> None:
    read, write = os.pipe()
    try:
        ran, said = run("hi", stdin=read)
    finally:
        os.close(read)
        os.close(write)
    assert (ran.code, ran.text) == (0, "ok\n") and said.endswith("hi")
    assert "nothing came" in ran.err


def test_closed_null_and_file(isolated: Path) -> None:
    ran, said = run("hi", stdin=None, preexec_fn=lambda: os.close(0))
    assert ran.code == 0 and said.endswith("hi"), ran
    ran, _ = run("hi", stdin=subprocess.DEVNULL)
    assert ran.code == 0 and ran.err == ""
    (isolated / "in.txt").write_bytes(b"\xef\xbb\xbffrom a file")
    with (isolated / "in.txt").open("rb") as file:
        ran, said = run(stdin=file)
    assert ran.code == 0 and said.endswith("from a file") and "\ufeff" not in said


def test_a_terminal_is_not_read() -> None:
    master, slave = pty.openpty()
    try:
        ran, said = run("hi", stdin=slave)
    finally:
        os.close(slave)
        os.close(master)
    assert (ran.code, ran.text) == (0, "ok\n") and said.endswith("hi")


def test_what_is_no_task() -> None:
    for options in ({"stdin": subprocess.DEVNULL}, {"data": b" \n"}):
        ran, said = run(**options)
        assert ran.code == 2 and "no task" in ran.err and not said
    ran, said = run("look", data=b"\0\1binary")
    assert ran.code == 42 and "binary" in ran.err and not said
