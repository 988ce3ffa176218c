"""The one place for output streams: what goes to stdout and stderr, in which encoding, and whether in colour."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from aicli.clean import sanitise
from aicli.errors import InputError
from aicli.ui.translate import lines


class ReaderGone(Exception):
    """Whoever read stdout has closed it: nothing is left to be said there."""


def is_terminal(stream: TextIO | None) -> bool:
    """Is the stream a terminal? A closed or missing stream is none."""
    try:
        return stream is not None and stream.isatty()
    except (ValueError, OSError):
        return False


def colour(stream: TextIO | None, environ: Mapping[str, str] | None = None) -> bool:
    """May the stream get colours and cursor movement?"""
    environ = os.environ if environ is None else environ
    return is_terminal(stream) and not environ.get("NO_COLOR") and environ.get("TERM", "") != "dumb"


class Console:
    """Writes to stdout and stderr. `redact` runs over every text; what could drive a terminal is taken out.

    `out_*` raise ReaderGone when stdout was closed and InputError when it takes no more; `err` never raises.
    """

    def __init__(
        self,
        redact: Callable[[str], str] = lambda text: text,
        *,
        quiet: bool = False,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self.redact = redact
        self.quiet = quiet
        self._stdout = stdout
        self._stderr = stderr

    @property
    def stdout(self) -> TextIO | None:
        return self._stdout or sys.stdout

    @property
    def stderr(self) -> TextIO | None:
        return self._stderr or sys.stderr

    def out_text(self, text: str) -> None:
        """Text and a newline, for people and pipes, in the stream's own encoding; what it lacks becomes a question mark."""
        self._out(sanitise(self.redact(text)).rstrip("\n") + "\n", "")

    def out_exact(self, text: str) -> None:
        """Bytes of a format, always UTF-8, as they are: the caller has redacted them."""
        self._out(text, "utf-8")

    def _out(self, text: str, encoding: str) -> None:
        stream = self.stdout
        if stream is None:
            return
        try:
            wait_for_reader(stream)
            binary: Any = getattr(stream, "buffer", None)
            if binary is None:
                stream.write(text)
            else:
                stream.flush()
                lossy = "backslashreplace" if encoding else "replace"
                binary.write(text.encode(encoding or stream.encoding or "utf-8", lossy))
            stream.flush()
        except (BrokenPipeError, ValueError) as e:
            self.abandon()
            raise ReaderGone from e
        except OSError as e:
            self.abandon()
            raise InputError(f"stdout can't be written: {e.strerror or e}") from e

    def err(self, text: str) -> None:
        """A line of progress or a warning; silent with `quiet`."""
        if not self.quiet:
            self.complain(text)

    def complain(self, text: str) -> None:
        """A line on stderr whatever `quiet` says. One line stays one line; nobody listening is no fault."""
        stream = self.stderr
        if stream is None:
            return
        clean = sanitise(self.redact(text)).rstrip("\n") + "\n"
        encoding = getattr(stream, "encoding", None) or "utf-8"
        try:
            wait_for_reader(stream)
            stream.write(clean.encode(encoding, "backslashreplace").decode(encoding))
            stream.flush()
        except (OSError, ValueError) as e:
            if self._stderr is None and isinstance(e, OSError):
                point_nowhere(sys.stderr)

    def tell(self, text: str) -> None:
        """Lines of our own for a person, on stdout and in their language."""
        self.out_text(lines(text))

    def remark(self, text: str) -> None:
        """The same on stderr."""
        self.complain(lines(text))

    def error(self, line: str) -> None:
        """The one line of an error."""
        self.complain("aicli: " + " ".join(line.split()))

    def abandon(self) -> None:
        """Points stdout at nothing, so that the interpreter's last flush has nothing to complain about."""
        if self._stdout in (None, sys.__stdout__):
            point_nowhere(self.stdout)


def wait_for_reader(stream: TextIO) -> None:
    """A pipe that another program has set to fail when full is set to wait: nothing of an answer may be lost."""
    if hasattr(os, "get_blocking"):
        with contextlib.suppress(OSError, ValueError):
            fd = stream.fileno()
            if not os.get_blocking(fd):
                os.set_blocking(fd, True)


def point_nowhere(stream: TextIO | None) -> None:
    """What is still in a stream that takes no more goes to /dev/null: the last flush would change the exit code."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, stream.fileno())
            os.close(sink)
