"""ScriptedModel: says what it was told to say. Public double for tests, demos and users; keeps every request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from aicli.content.request import FinishReason, ModelRequest, Usage
from aicli.content.stream import CallDelta, Finished, StreamEvent, TextDelta, ThinkingDelta
from aicli.errors import ModelError
from aicli.models.base import ModelInfo

Step = StreamEvent | Exception | float | str
Reply = list[Step] | Callable[[ModelRequest], "list[Step]"]


def text(words: str) -> Step:
    return TextDelta(words)


def think(words: str) -> Step:
    return ThinkingDelta(words)


def call(name: str, /, **args: Any) -> Step:
    """A call; its index is set when the reply is played."""
    return CallDelta(-1, name=name, args=args)


class ScriptedModel:
    """Each item of `replies` answers one request: a list of steps (events, text, an exception to raise, seconds to wait),

    or a function of the request that returns such a list. A reply without Finished ends with stop or tool_calls.
    Raises ModelError when the script is used up.
    """

    def __init__(self, replies: Iterable[Reply | str], *, info: ModelInfo | None = None) -> None:
        self._replies = iter(replies)
        self.info = info or ModelInfo(provider="scripted", name="script", window=100_000)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        self.requests.append(request)
        reply = next(self._replies, None)
        if reply is None:
            raise ModelError(f"the script has no reply for request {len(self.requests)}")
        steps: list[Step] = [reply] if isinstance(reply, str) else reply(request) if callable(reply) else reply
        calls = 0
        finished = False
        for step in steps:
            match step:
                case Exception():
                    raise step
                case float() | int():
                    await asyncio.sleep(step)
                case str():
                    yield TextDelta(step)
                case CallDelta(index=-1):
                    number = len(self.requests)
                    yield CallDelta(calls, id=f"c{number}_{calls}", name=step.name, args=step.args, raw=step.raw)
                    calls += 1
                case _:
                    finished = finished or isinstance(step, Finished)
                    calls += isinstance(step, CallDelta)
                    yield step
        if not finished:
            reason = FinishReason.TOOL_CALLS if calls else FinishReason.STOP
            yield Finished(reason, reason.value, Usage(input_tokens=10, output_tokens=5))
