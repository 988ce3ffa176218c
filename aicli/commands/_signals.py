"""What SIGINT, SIGTERM and SIGHUP do to a command, from before its event loop runs until its result is said."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from aicli.commands._options import SIGNALS

LAST_WORDS = 2.0
"""Seconds that a run which is over may take to say its result once a signal came."""
LAST_RESORT = 15.0
"""Seconds after SIGTERM or SIGHUP within which a run must have ended by itself."""


class Stopped(BaseException):
    """A signal came while no event loop could take it. Raised once at most."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


class Signals:
    """The first signal ends the run in good order, a second Ctrl-C at once. Set `over` once nothing may raise any more.

    `cancel(exit_code)` ends the agent's run and says whether there was one. `say(exit_code)` says the result of a run
    whose end takes too long, unless it was said, and returns the exit code that goes with it.
    """

    def __init__(self, say: Callable[[int], int]) -> None:
        self.cancel: Callable[[int], bool] = lambda code: False
        self.over = False
        self.abrupt = False
        self.code = 0
        self._say = say
        self._raised = False
        self._main: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Signals will come here, held until `listen`. Ignored ones (nohup) stay ignored. In the main thread only."""
        masked = hasattr(signal, "pthread_sigmask")
        before = {number: signal.getsignal(number) for number in SIGNALS}
        held = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS) if masked else set()
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self._came)
        try:
            yield
        finally:
            if masked:
                signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            if hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)
            if masked:
                signal.pthread_sigmask(signal.SIG_SETMASK, held)

    def listen(self) -> None:
        """From now on the running loop takes them, those held until now too, and the current task is what they end."""
        self._main, self._loop = asyncio.current_task(), asyncio.get_running_loop()
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def __call__(self, number: int) -> None:
        if self.over:
            return
        if self.code and number == signal.SIGINT:
            self.abrupt = True
            raise KeyboardInterrupt
        self.code = self.code or 128 + number
        self.stop()

    def stop(self) -> None:
        if not self.cancel(self.code or 130) and self._main is not None:
            self._main.cancel()

    def _came(self, number: int, frame: FrameType | None) -> None:
        if self.over or self._raised:
            self._bound(128 + number, LAST_WORDS)
            return
        if self._loop is not None and not self._loop.is_closed():
            if number != signal.SIGINT:  # a person can press Ctrl-C again
                self._bound(128 + number, LAST_RESORT)
            self._loop.call_soon_threadsafe(self, number)
            return
        self._raised = True
        raise Stopped(number)

    def _bound(self, code: int, seconds: float) -> None:
        """What is left to do may take so long; then the result is said and the process ended."""
        if hasattr(signal, "setitimer") and signal.getitimer(signal.ITIMER_REAL)[0] == 0:
            signal.signal(signal.SIGALRM, lambda number, frame: self._cut_off(code))
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def _cut_off(self, code: int) -> None:
        signal.signal(signal.SIGALRM, lambda number, frame: os._exit(code))
        signal.setitimer(signal.ITIMER_REAL, LAST_WORDS)
        try:
            code = self._say(code)
        finally:
            os._exit(code)
