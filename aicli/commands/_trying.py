"""What is being tried now, on stderr: a line each, or on a terminal one line that moves while it lasts."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType

from aicli.ui import amounts
from aicli.ui.console import Console
from aicli.ui.theme import SPINNER
from aicli.ui.translate import said

STEP = 0.25
"""Seconds between two pictures."""


class Trying:
    """`async with` it and call it with each thing that is tried; the moving line is gone at the end."""

    def __init__(self, console: Console, *, live: bool) -> None:
        self._console = console
        self._live = live and console.stderr is not None
        self._text = ""
        self._since = 0.0
        self._task: asyncio.Task[None] | None = None

    def __call__(self, text: str) -> None:
        self._text, self._since = said(text), time.monotonic()
        if self._live:
            self._draw(0)
        else:
            self._console.err(f"{self._text} …")

    async def __aenter__(self) -> Trying:
        if self._live:
            self._task = asyncio.create_task(self._turn())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            self._write("\r\x1b[K")

    async def _turn(self) -> None:
        picture = 0
        while True:
            await asyncio.sleep(STEP)
            picture += 1
            if self._text:
                self._draw(picture)

    def _draw(self, picture: int) -> None:
        took = time.monotonic() - self._since
        seconds = f" ({amounts.whole_seconds(took)})" if took >= 1 else ""
        self._write(f"\r{SPINNER[picture % len(SPINNER)]} {self._text} …{seconds}\x1b[K")

    def _write(self, text: str) -> None:
        if self._console.stderr is not None:
            self._console.stderr.write(text)
            self._console.stderr.flush()
