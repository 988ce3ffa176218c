"""Model and Embedder: all that a provider is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Literal, Protocol

from aicli.content.request import ModelRequest, Usage
from aicli.content.stream import StreamEvent
from aicli.late import dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_read: float | None = None

    def of(self, usage: Usage) -> float:
        cached = usage.cache_read_input_tokens
        read = self.cache_read if self.cache_read is not None else self.input
        return ((usage.input_tokens - cached) * self.input + cached * read + usage.output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model. `window` in tokens, None when unknown; `profile` picks the length of prompt and tool texts.

    `schema`: a request's output_schema is enforced by the server, with tools too or only alone; "" where it is not.
    `tools`: native (structured calls), text (calls are written as text), or steps (the model is led by a schema).
    """

    provider: str
    name: str
    window: int | None = None
    thinking: bool = False
    images: bool = False
    tools: Literal["native", "text", "steps"] = "native"
    price: Price | None = None
    profile: Literal["full", "compact", "steps"] = "full"
    note: str = ""
    schema: Literal["", "alone", "tools"] = ""

    @property
    def id(self) -> str:
        return f"{self.provider}:{self.name}"


class Model(Protocol):
    """All that a provider is. Implement these two; nothing needs to be inherited."""

    @property
    def info(self) -> ModelInfo: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """One reply, ending with Finished. Raises ModelError; closing the iterator cancels the request."""
        ...


class Embedder(Protocol):
    @property
    def info(self) -> ModelInfo: ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, in order. Raises ModelError."""
        ...
