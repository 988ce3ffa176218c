"""Starts commands by way of the reaper program, which is started once and then forks for each: a new one costs 20 ms."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

_PROGRAM = str(Path(__file__).with_name("reaper.py"))


class Reaped:
    """A command under its own reaper; speaks as a Popen does. `said` is the reaper's word on how the command ended."""

    def __init__(self, pid: int, status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.said = b""
        self._status = status

    def fileno(self) -> int:
        """Readable when there is news: then `poll`."""
        return self._status

    def poll(self) -> int | None:
        """0 when the reaper and all below it are gone."""
        while self.returncode is None:
            try:
                data = os.read(self._status, 64)
            except BlockingIOError:
                break
            self.said += data
            if not data:
                self.returncode = 0
        return self.returncode

    def wait(self) -> int:
        """Blocks until then."""
        os.set_blocking(self._status, True)
        self.poll()
        return 0

    def kill(self) -> None:
        """Kills the reaper alone: `said` will be empty."""
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        os.close(self._status)


class Reapers:
    """The reaper program, started when first needed; it ends when this process does. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._pid = 0
        self._owner = 0

    def start(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], fds: Sequence[int], grace: float
    ) -> tuple[Reaped, int]:
        """Starts a command; `fds` are its stdin, its output, and those it is passed on. Raises OSError.

        With it comes the control descriptor: closing it ends the tree, asked first, killed after `grace` seconds.
        """
        if not os.path.isdir(cwd):
            os.scandir(cwd).close()  # raises what is wrong with it
        control_read, control = os.pipe()
        status, status_write = os.pipe()
        os.set_blocking(status, False)
        fields = [os.fsencode(cwd), b"%g" % grace, b",".join(b"%d" % fd for fd in fds[2:]), b"%d" % len(argv)]
        fields += [os.fsencode(word) for word in argv]
        fields += [os.fsencode(f"{name}={value}") for name, value in env.items()]
        data = b"".join(field + b"\0" for field in fields)
        try:
            pid = self._ask(data, [*fds[:2], control_read, status_write, *fds[2:]])
        except BaseException:
            os.close(control)
            os.close(status)
            raise
        finally:
            os.close(control_read)
            os.close(status_write)
        return Reaped(pid, status), control

    def _ask(self, data: bytes, fds: list[int]) -> int:
        with self._lock:
            try:
                answer = self._send(data, fds).recv(8)
            except OSError:  # somebody killed it before it had read the whole request: a new one
                self._end()
                answer = self._send(data, fds).recv(8)
            if len(answer) < 8:
                self._end()
                raise ConnectionError("the program that starts commands was killed")
            return int.from_bytes(answer, "big")

    def _send(self, data: bytes, fds: list[int]) -> socket.socket:
        asked = self._socket if self._socket and self._owner == os.getpid() else self._begin()
        socket.send_fds(asked, [len(data).to_bytes(8, "big")], fds)
        asked.sendall(data)
        return asked

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            actions = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0)]
            actions += [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]  # type: ignore[misc]
            argv = [sys.executable, "-I", "-S", _PROGRAM]
            try:
                self._pid = os.posix_spawn(sys.executable, argv, {}, file_actions=actions)
            except BaseException:
                ours.close()
                raise
        self._socket, self._owner = ours, os.getpid()
        atexit.register(self._end)
        return ours

    def _end(self) -> None:
        if self._socket is None or self._owner != os.getpid():
            return
        atexit.unregister(self._end)
        self._socket.close()
        self._socket = None
        with contextlib.suppress(OSError):
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


REAPERS = Reapers()
"""This process's own."""
