"""A model of your own: `info` and `stream`, which yields events and ends with Finished."""

from __future__ import annotations

from collections.abc import AsyncIterator

from aicli import Agent, ModelInfo
from aicli.content.request import FinishReason, ModelRequest
from aicli.content.stream import Finished, StreamEvent, TextDelta


class Echo:
    """Says what it was told, word by word."""

    info = ModelInfo(provider="example", name="echo", window=8_000)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        for word in request.messages[-1].text.split():
            yield TextDelta(word + " ")
        yield Finished(FinishReason.STOP)


if __name__ == "__main__":
    print(Agent(model=Echo()).run_sync("hello 世界").text)
