"""Waits for a coroutine that may not want to end: once cancelled it has a while to come back, then it is left."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Generator
from typing import Any


class Bounded:
    """`await Bounded(work, seconds)` gives what the work gives. From a first cancellation on, it has `seconds` left.

    Work that takes the cancellation for its own (and returns, or raises something else) within that time is believed.
    Work that goes on is closed where it stands, and the cancellation goes its way.
    """

    def __init__(self, work: Coroutine[Any, Any, Any], seconds: float) -> None:
        self._work, self._seconds = work, seconds
        self._late = False

    def __await__(self) -> Generator[Any, Any, Any]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        timer: asyncio.TimerHandle | None = None
        error: BaseException | None = None
        try:
            while True:
                try:
                    waited = self._work.send(None) if error is None else self._work.throw(error)
                except StopIteration as e:
                    return e.value
                error = None
                try:
                    yield waited
                except asyncio.CancelledError as e:
                    if self._late:
                        task.uncancel()  # that one was ours
                        self._leave()
                        raise
                    timer = timer or loop.call_later(self._seconds, self._end, task)
                    error = e
                except GeneratorExit:
                    self._leave()
                    raise
                except BaseException as e:
                    error = e
        finally:
            if timer is not None:
                timer.cancel()

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._late = True
        task.cancel()

    def _leave(self) -> None:
        with contextlib.suppress(BaseException):  # it may refuse even that
            self._work.close()
