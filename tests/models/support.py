"""Requests and runs that the tests of models share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from aicli.content.events import RetryScheduled
from aicli.content.messages import Message
from aicli.content.parts import FunctionResponsePart, TextPart
from aicli.content.request import ModelRequest, ToolSpec
from aicli.content.stream import Assembler
from aicli.models.base import Model
from aicli.models.orchestrator import Defaults, ModelDefaults, MultiModelOrchestrator
from tests.support.model_server import ModelServer

T = TypeVar("T")
PROVIDERS = ("ollama", "openai", "responses", "anthropic", "gemini")
LS = ToolSpec(
    name="ls",
    description="Lists a folder.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
READ = ToolSpec(
    name="read_file",
    description="Reads a file.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["path"],
    },
)


def ask(*messages: Message | str, tools: Sequence[ToolSpec] = (LS,), **more: Any) -> ModelRequest:
    said = tuple(Message.user(m) if isinstance(m, str) else m for m in messages or ("hi",))
    return ModelRequest(system="You help.", messages=said, tools=tuple(tools), **more)


def orchestrator(url: str = "", provider: str = "", **more: Any) -> MultiModelOrchestrator:
    models = {k: more.pop(k) for k in list(more) if k in ModelDefaults.__dataclass_fields__}
    chosen = {k: more.pop(k) for k in list(more) if k in Defaults.__dataclass_fields__}
    settings = Defaults(provider=provider, base_url=url, models=ModelDefaults(**models), **chosen)
    return MultiModelOrchestrator(settings, more.pop("key", lambda name, at: "sk-test-secret"), **more)


def with_model(
    url: str, provider: str, use: Callable[[Model], Awaitable[T]], name: str = "test-model", **more: Any
) -> tuple[T, list[RetryScheduled]]:
    """Runs `use` on the provider's model at the URL; the retries that it reported stand beside."""
    retries: list[RetryScheduled] = []

    async def run() -> T:
        found = orchestrator(url, provider, on_retry=retries.append, **more)
        try:
            return await use(await found.resolve(f"{provider}:{name}"))
        finally:
            await found.close()

    return asyncio.run(run()), retries


async def whole(model: Model, request: ModelRequest) -> Assembler:
    assembler = Assembler(model.info.provider)
    async with aclosing(model.stream(request)) as stream:  # type: ignore[type-var]
        async for event in stream:
            assembler.feed(event)
    return assembler


def reply(server: ModelServer, provider: str, request: ModelRequest, **more: Any) -> Assembler:
    return with_model(server.url, provider, lambda m: whole(m, request), **more)[0]


def answers(message: Message, text: str = "x", *, is_error: bool = False) -> Message:
    """A tool message that answers every call of the message."""
    parts = (TextPart(text=text),)
    return Message(
        role="tool",
        parts=tuple(
            FunctionResponsePart(id=c.id, name=c.name, content=parts, is_error=is_error) for c in message.calls
        ),
    )
