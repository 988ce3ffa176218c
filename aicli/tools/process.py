"""Runs a command: output streamed, the whole tree ended with it, always returns."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from aicli.late import dataclass
from aicli.safety.confined import Confined
from aicli.safety.masks import Untidy
from aicli.tools.capture import Capture, newest, readable
from aicli.tools.launch import Command, Upstream, kill_group
from aicli.tools.reapers import REAPERS, Reaped

MARK = "X_AICLI_CALL"
"""Environment name by which a child is still known should its reaper have been killed."""
_GRACE = 0.5
_DRAIN = 0.5
_KILL = 2.0
LAST_WAIT = 20.0
"""Seconds for the end and the clean-up of a command that is over time; then its result is given without them."""


@dataclass(frozen=True)
class ProcessResult:
    """How it ended. `exit_code` None: a signal or the limit ended it, `signal` names it. `output` is readable text."""

    exit_code: int | None
    signal: str
    output: str
    truncated: bool
    timed_out: bool
    seconds: float
    capture: Capture

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


class Running:
    """A started command with a thread that reads it. Raises OSError (not found, not executable, too long) on start.

    `end()` may be called from any thread, more than once; `ended` is set when the whole tree is gone and read.
    """

    def __init__(self, command: Command, capture: Capture) -> None:
        self.capture = capture
        self.exit_code: int | None = None
        self.signal = ""
        self.started = time.monotonic()
        self.seconds = 0.0
        self.ended = threading.Event()
        self._listeners: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._stop_at: float | None = None
        self._control = -1
        self._token = uuid.uuid4().hex
        self._release: Callable[[], None] = lambda: None
        self._upstream: Upstream | None = None
        self._popen = self._start(command)
        self._thread = threading.Thread(target=self._read, name="command", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # no thread to be had
            self._settle()
            raise

    @property
    def pid(self) -> int:
        return self._popen.pid

    def _start(self, command: Command) -> subprocess.Popen[bytes] | Reaped:
        self._out, errors = os.pipe()
        source = -1
        try:
            self._upstream = Upstream(command, errors)
            source = self._upstream.output
            confined = command.confined(command.argv)
            self._release = confined.close
            in_namespace = command.sandbox is not None and command.sandbox.status == "full"
            return self._spawn(command.cwd, confined, (source, errors), in_namespace or bool(command.feeds))
        except BaseException:
            with contextlib.ExitStack() as undo:  # each is done, whatever another raises
                for step in (self._release, self._end_upstream, self._close_pipes, self._close_out):
                    undo.callback(step)
            raise
        finally:
            os.close(errors)
            if source >= 0:
                os.close(source)

    def _spawn(
        self, cwd: Path, confined: Confined, streams: tuple[int, int], plain: bool
    ) -> subprocess.Popen[bytes] | Reaped:
        """Under the reaper (Linux), unless `plain`: a namespace of its own, or programs that start no others."""
        if sys.platform == "linux" and not plain and sys.executable:
            env = {**confined.env, MARK: self._token}
            started, self._control = REAPERS.start(confined.argv, cwd, env, [*streams, *confined.pass_fds], _GRACE)
            return started
        return subprocess.Popen(
            confined.argv,
            cwd=cwd,
            env=confined.env,
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[1],
            start_new_session=True,
            pass_fds=confined.pass_fds,
        )

    def _end_upstream(self) -> None:
        if self._upstream is not None:
            self._upstream.close()

    def end(self) -> None:
        """Asks the tree to end, kills it half a second later; returns at once."""
        with self._lock:
            if self._stop_at is not None or self.ended.is_set():
                return
            self._stop_at = time.monotonic()
            if self._control >= 0:
                os.close(self._control)
                self._control = -1
                return
        if isinstance(self._popen, subprocess.Popen):
            kill_group(self._popen)

    def when_ended(self, listener: Callable[[], None]) -> None:
        """Calls it from the reading thread, or at once when it has ended already."""
        with self._lock:
            if not self.ended.is_set():
                self._listeners.append(listener)
                return
        listener()

    def _read(self) -> None:
        """Whatever goes wrong in a step, the others are done and the end is told."""
        with _Step(self):
            self._pump(self._out)
        self._settle()

    def _pump(self, out: int) -> None:
        poll = select.poll()
        poll.register(out, select.POLLIN | select.POLLHUP)
        pidfd = -1
        news = -1
        if isinstance(self._popen, Reaped):
            news = self._popen.fileno()
            poll.register(news, select.POLLIN | select.POLLHUP)
        elif hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                pidfd = os.pidfd_open(self._popen.pid)
                poll.register(pidfd, select.POLLIN)
        wait = 500 if max(pidfd, news) >= 0 else 50
        is_open = True
        try:
            while True:
                ready = {fd for fd, _ in poll.poll(wait)}
                if out in ready and not self._take(out):
                    poll.unregister(out)
                    is_open = False
                if self._popen.poll() is not None:
                    break
                if self._stop_at is not None and time.monotonic() - self._stop_at > _KILL:
                    self._popen.kill()  # whoever should have ended the tree does not act
        finally:
            if pidfd >= 0:
                os.close(pidfd)
        self._drain(poll, out, is_open)

    def _drain(self, poll: select.poll, out: int, is_open: bool) -> None:
        """What is in the pipe after the end; a process that escaped may hold it open, so not for long."""
        until = time.monotonic() + _DRAIN
        while is_open and time.monotonic() < until:
            if not any(fd == out for fd, _ in poll.poll(0)):
                return
            is_open = self._take(out)

    def _take(self, out: int) -> bool:
        data = os.read(out, 1 << 18)
        if data:
            self.capture.feed(data)
        return bool(data)

    def _settle(self) -> None:
        steps = (self._see_it_gone, self._close_out, self._end_upstream, self._judge, self._close_pipes, self._release)
        for step in steps:
            with _Step(self):
                step()
        if self.exit_code is None and not self.signal:
            self.exit_code = 1  # how it ended could not be made out
        self.seconds = time.monotonic() - self.started
        with self._lock:
            self.ended.set()
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            with _Step(self):
                listener()

    def say(self, words: str) -> None:
        """A line of our own at the end of the output: the model and the person must see it."""
        self.capture.note(words)

    def _see_it_gone(self) -> None:
        """At once, but where reading failed: then the tree is ended first."""
        if self._popen.poll() is None:
            self.end()
            until = time.monotonic() + _KILL
            while self._popen.poll() is None and time.monotonic() < until:
                time.sleep(0.01)
            if self._popen.poll() is None:
                self._popen.kill()
        self._popen.wait()

    def _close_out(self) -> None:
        os.close(self._out)

    def _judge(self) -> None:
        code = self._popen.returncode or 0
        if isinstance(self._popen, Reaped):
            self._popen.close()
            word, _, number = self._popen.said.decode().partition("\n")[0].partition(" ")
            if word == "exit":
                code = int(number)
            elif word == "signal":
                code = -int(number)
            elif word == "error":
                self.capture.feed(f"{os.strerror(int(number))}\n".encode())
                code = 127
            else:
                sweep(self._token)
                code = -signal.SIGKILL
        else:
            kill_group(self._popen)
        if code < 0:
            self.signal = signal_name(-code)
        else:
            self.exit_code = code

    def _close_pipes(self) -> None:
        with self._lock:
            control, self._control = self._control, -1
        if control >= 0:
            os.close(control)


class _Step:
    """One step of a command's end: what it raises is said in the output and keeps no other step from being done."""

    def __init__(self, running: Running) -> None:
        self._running = running

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        if kind is not None:
            with contextlib.suppress(Exception):  # saying it may itself raise
                self._running.say(str(error) if kind is Untidy else f"a fault at its end: {kind.__name__}: {error}")
        return True


async def run(
    *commands: tuple[str, Command] | Command,
    timeout: float,
    on_output: Callable[[str], None] | None = None,
    limit: int = 30_000,
    file: Path | None = None,
) -> ProcessResult:
    """Runs it to its end, or to `timeout` seconds; then the tree is ended and what was written so far returned.

    Several commands run one after the other, each with the joiner that says when ("&&", "||", ";"; the first's counts
    for nothing), and share output and time. `on_output` gets readable pieces in the event loop, a few times a second.
    Cancelling ends the tree before the CancelledError goes on. Raises OSError when one can't be started.
    """
    loop = asyncio.get_running_loop()
    feed = _Feed(loop, on_output) if on_output else None
    capture = Capture(file, on_piece=feed.put if feed else None)
    start, last, timed_out = time.monotonic(), None, False
    try:
        for joiner, command in (c if isinstance(c, tuple) else (";", c) for c in commands):
            if last is not None and joiner in ("&&", "||") and (last.exit_code == 0) != (joiner == "&&"):
                continue
            last = Running(command, capture)
            timed_out = not await _wait(last, timeout - (time.monotonic() - start))
            if timed_out:
                break
    finally:
        capture.close()
    assert last is not None
    if feed:
        feed.flush()
    output, truncated = capture.text(limit)
    code = last.exit_code if not timed_out else None
    return ProcessResult(code, last.signal, output, truncated, timed_out, time.monotonic() - start, capture)


async def _wait(running: Running, timeout: float) -> bool:
    """Waits for the end and says whether it came by itself; ends the tree on time-out and cancellation."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    running.when_ended(lambda: _wake(loop, done))
    try:
        await asyncio.wait_for(done.wait(), max(timeout, 0.01))
    except TimeoutError:
        running.end()
        await _told(running, done)
        return False
    except asyncio.CancelledError:
        running.end()
        await asyncio.shield(_told(running, done))
        raise
    return True


async def _told(running: Running, done: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(done.wait(), LAST_WAIT)
    except TimeoutError:
        running.say("the command, or the clean-up after it, has not ended; it is not waited for any longer")


class _Feed:
    """Brings pieces from the reading thread into the loop, at most ten a second, the newest of each interval."""

    def __init__(self, loop: asyncio.AbstractEventLoop, listener: Callable[[str], None]) -> None:
        self._loop = loop
        self._listener = listener
        self._pending = b""
        self._waiting = False
        self._lock = threading.Lock()

    def put(self, data: bytes) -> None:
        with self._lock:
            self._pending = newest(self._pending + data)
            if self._waiting:
                return
            self._waiting = True
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.call_later, 0.1, self.flush)

    def flush(self) -> None:
        with self._lock:
            data, self._pending, self._waiting = self._pending, b"", False
        if data:
            self._listener(readable(data))


def _wake(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(event.set)


def sweep(token: str) -> None:
    """Kills every process that carries this call's mark in its environment (Linux)."""
    needle = f"{MARK}={token}".encode()
    for _ in range(20):
        marked = [pid for pid in _processes() if needle in _environment(pid)]
        if not marked:
            return
        for pid in marked:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    except OSError:
        return []


def _environment(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def signal_name(number: int) -> str:
    """SIGKILL for 9, "signal N" for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
