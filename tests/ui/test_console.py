from __future__ import annotations

import io
import os
import pty

import pytest

from aicli.clean import Redactor
from aicli.errors import InputError
from aicli.ui.console import Console, ReaderGone, colour, is_terminal


def stream(encoding: str = "utf-8") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")


def written(to: io.TextIOWrapper) -> bytes:
    buffer = to.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


def test_text_is_cleaned_and_ends_with_one_newline() -> None:
    out = stream()
    Console(stdout=out).out_text("[bold]\x1b[31m中文\r\nb\n\n")
    assert written(out) == "[bold]中文\nb\n".encode()


def test_an_encoding_that_lacks_a_character_never_crashes() -> None:
    out, err = stream("ascii"), stream("ascii")
    console = Console(stdout=out, stderr=err)
    console.out_text("naïve 中")
    console.complain("naïve 中")
    assert written(out) == b"na?ve ?\n"
    assert written(err) == b"na\\xefve \\u4e2d\n"


def test_formats_are_utf8_in_every_locale() -> None:
    out = stream("ascii")
    Console(stdout=out).out_exact('{"a":"中\u2028"}\n')
    assert written(out) == '{"a":"中\u2028"}\n'.encode()


def test_secrets_do_not_pass() -> None:
    out, err = stream(), stream()
    console = Console(Redactor(["hunter2hunter2"]), stdout=out, stderr=err)
    console.out_text("key hunter2hunter2")
    console.error("401: bad key hunter2hunter2\n at line 2")
    assert b"hunter2" not in written(out) + written(err)
    assert written(err).count(b"\n") == 1


def test_quiet_still_complains() -> None:
    err = stream()
    console = Console(quiet=True, stderr=err)
    console.err("progress")
    console.complain("error")
    assert written(err) == b"error\n"


def test_a_closed_pipe_is_told_as_such_and_a_full_disk_as_an_error() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone, pytest.raises(ReaderGone):
        try:
            Console(stdout=gone).out_text("x")
        finally:
            os.dup2(os.open(os.devnull, os.O_WRONLY), gone.fileno())
    with open("/dev/full", "w") as full, pytest.raises(InputError, match="No space"):
        try:
            Console(stdout=full).out_text("x")
        finally:
            os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


def test_no_streams_at_all_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    Console().out_text("x")
    Console().complain("x")
    assert not is_terminal(None)


def test_colour_only_on_a_terminal_that_wants_it() -> None:
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, "w") as terminal:
            assert colour(terminal, {"TERM": "xterm"})
            assert not colour(terminal, {"TERM": "dumb"})
            assert not colour(terminal, {"NO_COLOR": "1", "TERM": "xterm"})
            assert colour(terminal, {"NO_COLOR": "", "TERM": "xterm"})
    finally:
        os.close(master)
    assert not colour(stream(), {"TERM": "xterm"})
