"""Frames: when to draw. At most 15 a second, four a second while only something spins, none when nothing lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LEAST, SPIN = 1 / 15, 0.25


class Frames:
    """`draw` shows the present state and says whether anything moves by itself. Runs in the running loop."""

    def __init__(self, draw: Callable[[], bool]) -> None:
        self._draw = draw
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._stopped = False

    def changed(self, *, at_once: bool = False) -> None:
        """Something is to be seen: drawn soon, or in this turn of the loop when a person waits for it."""
        now = asyncio.get_running_loop().time()
        self._schedule(now if at_once else max(now, self._last + LEAST))

    def after(self, seconds: float) -> None:
        """A frame in so many seconds, for what changes by time alone."""
        self._schedule(asyncio.get_running_loop().time() + seconds)

    def _schedule(self, when: float) -> None:
        if self._stopped or (self._timer is not None and self._due <= when):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = when
        self._timer = asyncio.get_running_loop().call_at(when, self._run)

    def _run(self) -> None:
        self._timer = None
        self.now()

    def now(self) -> None:
        """Draws at once."""
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        if self._draw() and not self._stopped:
            self._schedule(self._last + SPIN)

    def stop(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
