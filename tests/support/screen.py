"""A real program in a real pty, its bytes kept, its screen through pyte."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyte


class Emulator(pyte.HistoryScreen):
    """pyte, but rows taken out leave nothing behind: where nothing was ever written below, it forgot to move that up."""

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__(columns, rows, history=100_000, ratio=0.001)

    def delete_lines(self, count: int | None = None) -> None:
        for y in range(self.lines):
            self.buffer[y]  # a row exists once it is looked at
        super().delete_lines(count)


class Tty:
    """Runs `argv` in a pty. `raw` holds every byte written; `writes` the chunks as they were read."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        columns: int = 80,
        rows: int = 24,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        typed: str = "",
    ) -> None:
        self.columns, self.rows = columns, rows
        self.screen = Emulator(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.exit_code: int | None = None
        self._text: tuple[object, str] = ((), "")
        self.seen: list[tuple[float, bytes]] = []
        self.fd, child = pty.openpty()
        self._size(columns, rows)
        self.before = termios.tcgetattr(child)
        self.child = child
        if typed:
            os.write(self.fd, typed.encode())
        environ = {**os.environ, "TERM": "linux-256color", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **(env or {})}
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.fd)
            os.login_tty(child)
            if cwd:
                os.chdir(cwd)
            os.execvpe(argv[0], list(argv), environ)
        os.set_blocking(self.fd, False)

    def _size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns: int, rows: int) -> None:
        """As a terminal does it: between two frames, never within one."""
        while self._within_frame and self.pump(0.5):
            pass
        self.columns, self.rows = columns, rows
        self._lose_rows(rows)
        self.screen.resize(rows, columns)
        self._size(columns, rows)

    def _lose_rows(self, rows: int) -> None:
        """As terminals do it: rows below the cursor go first, then the top ones scroll off. pyte would cut the top."""
        screen, cursor = self.screen, self.screen.cursor
        excess = max(0, cursor.y + 1 - rows)
        if excess:
            y, cursor.y = cursor.y, screen.lines - 1
            for _ in range(excess):
                screen.index()
            cursor.y = y - excess
        if rows < screen.lines:
            for y in range(rows, screen.lines):
                screen.buffer.pop(y, None)
            screen.lines = rows
            screen.set_margins()

    @property
    def _within_frame(self) -> bool:
        return self.raw.rfind(b"\x1b[?2026h") > self.raw.rfind(b"\x1b[?2026l")

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def pump(self, seconds: float) -> bool:
        """Reads what comes within the time; False once the program has closed its end."""
        ready, _, _ = select.select([self.fd], [], [], max(0.0, seconds))
        if not ready:
            return self._alive()
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if data:
            self.raw += data
            self.seen.append((time.monotonic(), data))
            self.stream.feed(data)
        return bool(data)

    def _alive(self) -> bool:
        if self.exit_code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code is None

    def until(self, what: str | Callable[[], bool], seconds: float = 20.0) -> None:
        """Reads until the text is on the screen, or has passed over it since (or the condition holds).

        Half a frame is not on the screen yet.
        """
        passed = len(self.screen.history.top)
        test = (lambda: what in self.text or what in self._passed(passed)) if isinstance(what, str) else what
        end = time.monotonic() + seconds
        while self._within_frame or not test():
            is_open = self.pump(0.05)
            if not is_open and test():
                return
            if time.monotonic() > end or not is_open:
                raise AssertionError(f"never came: {what!r}\n{self.text}\nraw end: {self.raw[-600:]!r}")

    def gather(self, what: bytes, seconds: float = 60.0) -> None:
        """Reads until these bytes have come, and shows them only then: drawing here delays nothing that is timed."""
        start, end, came = len(self.raw), time.monotonic() + seconds, [self.raw]
        while what not in b"".join(came[-3:])[-20_000:]:
            if time.monotonic() > end or not select.select([self.fd], [], [], 1.0)[0]:
                raise AssertionError(f"never came: {what!r}\nraw end: {b''.join(came)[-600:]!r}")
            came.append(os.read(self.fd, 65536))
            self.seen.append((time.monotonic(), came[-1]))
        self.raw = b"".join(came)
        self.stream.feed(self.raw[start:])

    def settle(self, seconds: float = 0.3) -> None:
        """Reads until nothing has come for so long."""
        while select.select([self.fd], [], [], seconds)[0]:
            if not self.pump(0):
                return

    def quiet(self, seconds: float) -> int:
        """Bytes that come within the time."""
        start = len(self.raw)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not self.pump(min(left, 0.1)):
                break
        return len(self.raw) - start

    def wait(self, seconds: float = 10.0) -> int:
        """Waits for the end; the exit code as waitstatus has it (negative: a signal)."""
        end = time.monotonic() + seconds
        while self.exit_code is None:
            if time.monotonic() > end:
                self.kill()
                raise AssertionError(f"does not end\n{self.text}")
            self.pump(0.05)
            self._alive()
        while self.pump(0.02) and select.select([self.fd], [], [], 0.05)[0]:
            pass
        return self.exit_code

    def kill(self) -> None:
        if self.exit_code is None:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
            self.exit_code = os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        self.kill()
        os.close(self.fd)
        os.close(self.child)

    def __enter__(self) -> Tty:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def lines(self) -> list[str]:
        """What is on the screen, without blanks at the ends."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        state = (len(self.raw), self.columns, self.rows)
        if self._text[0] != state:
            self._text = (state, "\n".join(self.lines).rstrip())
        return self._text[1]

    def _passed(self, start: int) -> str:
        """The lines that scrolled off after the first `start` ones."""
        top = self.screen.history.top
        rows = [top[i] for i in range(start, len(top))]
        return "\n".join("".join(row[x].data for x in range(self.screen.columns)).rstrip() for row in rows)

    @property
    def scrollback(self) -> list[str]:
        """Everything that ever scrolled off, then the screen."""
        return [*self._passed(0).split("\n"), *self.text.split("\n")]

    @property
    def stty_back(self) -> bool:
        """Is the line discipline as before?"""
        return termios.tcgetattr(self.child) == self.before

    @property
    def modes_left(self) -> set[str]:
        """Private modes that were switched and are not back."""
        state: dict[str, str] = {}
        for number, end in re.findall(rb"\x1b\[\?(\d+)([hl])", self.raw):
            state[number.decode()] = end.decode()
        return {n for n, end in state.items() if end == ("l" if n == "25" else "h")}

    @property
    def modes_used(self) -> set[str]:
        return {n.decode() for n in re.findall(rb"\x1b\[\?(\d+)[hl]", self.raw)}
