"""Interrupts: signals become a cancelled run and an exit code; a second Ctrl-C within the same cancel ends the program."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from types import TracebackType

LAST_RESORT = 3.0
"""Seconds after SIGTERM or SIGHUP within which the run must have ended by itself."""


class Interrupts:
    """Used as `with Interrupts(cancel) as seen:` inside a running loop. `cancel(exit_code)` should end the run.

    `cancel` may be replaced meanwhile. `exit_code` is 0, or 128 and the signal's number once one came.
    `restore` gives the terminal back at the last resort.
    """

    def __init__(self, cancel: Callable[[int], object], restore: Callable[[], None] = lambda: None) -> None:
        self.cancel, self._restore = cancel, restore
        self.exit_code = 0
        self.cancelling = False
        self._signals = [s for name in ("SIGINT", "SIGTERM", "SIGHUP") if (s := getattr(signal, name, None))]
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> Interrupts:
        self._loop = asyncio.get_running_loop()
        for number in self._signals:
            try:
                self._loop.add_signal_handler(number, self._came, number)
            except (NotImplementedError, RuntimeError, ValueError):
                break  # Windows, or not the main thread: KeyboardInterrupt does it
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None:
            for number in self._signals:
                try:
                    self._loop.remove_signal_handler(number)
                except (NotImplementedError, RuntimeError, ValueError):
                    break

    def done(self) -> None:
        """The cancelled run has ended and the program goes on: the next Ctrl-C is a first one again."""
        self.cancelling = False

    def press(self) -> None:
        """Ctrl-C as a key."""
        self._came(signal.SIGINT)

    def _came(self, number: int) -> None:
        if number == signal.SIGINT:
            if self.cancelling:
                self._restore()
                raise KeyboardInterrupt
            self.cancelling = True
            self.cancel(130)
            return
        self.exit_code = 128 + number
        self.cancel(self.exit_code)
        if self._loop is not None:
            self._loop.call_later(LAST_RESORT, self._give_up)

    def _give_up(self) -> None:
        self._restore()
        os._exit(self.exit_code)
