"""WireModel: a model behind HTTP. Retries before the first event, steps down from what a server does not know."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from aicli.content.events import RetryScheduled
from aicli.content.request import ModelRequest
from aicli.content.stream import StreamEvent, TextDelta
from aicli.errors import ConnectFailed, EmptyReply, MalformedReply, ModelError, NetworkFailed
from aicli.models.base import ModelInfo
from aicli.models.faults import Asked
from aicli.models.http import HttpCall
from aicli.models.known import known
from aicli.models.provider import Link, versioned

LONGEST_WAIT = 120.0
"""Seconds; a server that asks for a longer wait ends the request instead."""


SMALL_WINDOW = 16_384


class Decoder(Protocol):
    """One reply's values to events. Raises ModelError for an error inside a success."""

    def feed(self, value: Any) -> Iterable[StreamEvent]: ...

    def plain(self, value: Any) -> str:
        """The text of a value that is nothing but a piece of text, else ""."""
        ...

    def text(self, chunk: str) -> Iterable[StreamEvent]:
        """The same as to feed the values that `chunk` is made of."""
        ...

    def waiting(self) -> str:
        """Text that is held back until more of the reply is here."""
        ...

    def close(self) -> Iterable[StreamEvent]:
        """The rest, ending with Finished. Raises StreamCut where the end mark is missing."""
        ...


class Wire(Protocol):
    """How one provider speaks: pure functions of values. `quirks` are the things that this server was found to lack."""

    def call(self, request: ModelRequest, info: ModelInfo, quirks: frozenset[str]) -> HttpCall: ...

    def decoder(self, request: ModelRequest, asked: Asked, quirks: frozenset[str]) -> Decoder: ...

    def learn(self, error: ModelError, request: ModelRequest, quirks: frozenset[str]) -> str:
        """The quirk that this refusal shows, so that the request is sent again without; "" when none."""
        ...


class WireModel:
    """A Model over HTTP. `quirks` are kept, so a server is asked for what it lacks only once.

    `window` asks the server how large its context is: after the first reply, so that nothing delays the first request.
    """

    def __init__(
        self,
        info: ModelInfo,
        wire: Wire,
        link: Link,
        quirks: frozenset[str] = frozenset(),
        window: Callable[[], Awaitable[int | None]] | None = None,
    ) -> None:
        self.info = _sized(info)
        self.quirks = quirks
        self._wire = wire
        self._link = link
        self._ask_window = window
        self._asked_window = False
        self._replies = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """One reply, ending with Finished. Raises ModelError; closing the iterator cancels the request."""
        attempt, again = 0, 1
        decoder: Decoder | None = None
        await self._learn_window()
        while True:
            started = False
            try:
                call = self._wire.call(request, self.info, self.quirks)
                decoder = self._wire.decoder(request, call.asked, self.quirks)
                async with aclosing(self._link.http.stream_json(call)) as batches:  # type: ignore[type-var]
                    async for values in batches:
                        for event in _fitting(partial(_decoded, decoder, values)):
                            started = True
                            yield event
                for event in _fitting(decoder.close):
                    yield event
                self._replies += 1
                return
            except asyncio.CancelledError:
                if decoder is not None and (rest := decoder.waiting()):
                    yield TextDelta(rest)  # whoever stops a reply keeps every word of it
                raise
            except (MalformedReply, EmptyReply):
                if started or again == 0:
                    raise
                again -= 1
                self._tell(RetryScheduled(wait=0, why="the reply could not be read; asked once more"))
            except ModelError as error:
                if started:
                    raise
                quirk = self._wire.learn(error, request, self.quirks)
                if quirk and quirk not in self.quirks:
                    self.quirks |= {quirk}
                    continue
                attempt += 1
                await self._wait(error, attempt)

    async def _learn_window(self) -> None:
        if self.info.window is None and self._replies > 0 and not self._asked_window:
            self._asked_window = True
            self.info = _sized(replace(self.info, window=await self.real_window()))

    async def real_window(self) -> int | None:
        """The context in tokens as the server tells it now, None where it tells nothing."""
        if self._ask_window is None:
            return None
        try:
            return await self._ask_window()
        except (ModelError, AttributeError, TypeError, ValueError):
            return None  # a server that tells nothing, or something else under that address

    async def _wait(self, error: ModelError, attempt: int) -> None:
        """Sleeps before the next attempt, or raises `error` when there is none."""
        if not error.retryable or attempt > retries_for(error, self._link.retries):
            raise error
        wait = backoff(attempt, error.retry_after)
        if wait > LONGEST_WAIT:
            raise error
        self._tell(RetryScheduled(wait=round(wait, 2), why=str(error), attempt=attempt, status=error.status))
        await asyncio.sleep(wait)

    def _tell(self, event: RetryScheduled) -> None:
        if self._link.on_retry is not None:
            self._link.on_retry(event)


def _sized(info: ModelInfo) -> ModelInfo:
    """Short prompts and tool texts where the window is small."""
    small = info.window is not None and info.window <= SMALL_WINDOW and info.profile == "full"
    return replace(info, profile="compact") if small else info


def _fitting(events: Callable[[], Iterable[StreamEvent]]) -> Iterator[StreamEvent]:
    """The events. Raises MalformedReply where the reply is JSON of a shape that its wire does not have."""
    try:
        yield from events()
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise MalformedReply(f"the server sent an event of no known shape ({error})"[:300]) from error


def _decoded(decoder: Decoder, values: list[Any]) -> Iterator[StreamEvent]:
    """Pieces of text that came together are read together: it is a fraction of the work."""
    if len(values) == 1:
        yield from decoder.feed(values[0])
        return
    run: list[str] = []
    for value in values:
        piece = decoder.plain(value)
        if piece:
            run.append(piece)
            continue
        if run:
            yield from decoder.text("".join(run))
            run.clear()
        yield from decoder.feed(value)
    if run:
        yield from decoder.text("".join(run))


def retries_for(error: ModelError, retries: int) -> int:
    """A server that refuses the connection is asked only once more: it is not there."""
    return min(retries, 1) if isinstance(error, ConnectFailed) else retries


def backoff(attempt: int, retry_after: float | None) -> float:
    """Seconds: what the server asked for and a little more, or doubling from half a second to 16, jittered."""
    if retry_after is not None:
        return retry_after + random.uniform(0, 0.25)
    return min(0.5 * 2.0 ** (attempt - 1), 16.0) * random.uniform(0.75, 1.25)


async def ask_again(link: Link, call: HttpCall) -> Any:
    """A plain JSON request with the same retries as a model call."""
    attempt = 0
    while True:
        try:
            return await link.http.fetch(call)
        except NetworkFailed as error:
            attempt += 1
            wait = backoff(attempt, error.retry_after)
            if attempt > retries_for(error, link.retries) or wait > LONGEST_WAIT:
                raise
            await asyncio.sleep(wait)


async def listed(link: Link, provider: str, headers: dict[str, str]) -> list[ModelInfo]:
    """What GET /v1/models lists. Raises ModelError."""
    call = HttpCall(versioned(link.base_url, "/models"), None, headers, "GET", asked=link.asked())
    found = await link.http.listing(call)
    return [known(provider, str(m["id"])) for m in found.get("data") or ()]
