"""The embedded model: llama.cpp on this machine, led step by step, with no key and no server to set up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from aicli import paths
from aicli.content.parts import JsonObject
from aicli.content.request import FinishReason, ModelRequest, Usage
from aicli.content.stream import Finished, Restarted, StreamEvent, TextDelta
from aicli.errors import InputError, StreamCut
from aicli.models.base import ModelInfo
from aicli.models.embedded import INSTALL, cache, doubts, guidance, prompt, steps
from aicli.models.embedded.engine import Engine, library_version, shared_engine
from aicli.models.embedded.reader import StepReader
from aicli.models.http import Http
from aicli.models.provider import Link, Provider

NOTE = "embedded, 1.5B: check its answers"
MOST_TOKENS = 1_536
_REASONS = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}


class EmbeddedModel:
    """A Model over the embedded engine. `start` begins to load it; the first request waits for that."""

    def __init__(self, cache_folder: Path | None = None) -> None:
        self._cache = cache_folder or paths.cache_folder()
        self.info = info()
        self._listings: dict[tuple[int, str], str] = {}
        self._engine: Engine | None = None
        self._hash = ""

    def start(self) -> None:
        """Begins to load the model. Blocks only where the file has to be read whole once.

        Raises ConfigError, with the command to type, when the engine or the file isn't there.
        """
        if self._engine is None:
            path, self._hash = cache.checked(self._cache)
            slots = paths.private_folder(cache.models_folder(self._cache) / "prompts")
            self._engine = shared_engine(path, window=self.info.window or 0, slots=slots)
        self._engine.start()

    async def warm(self) -> bool:
        """Loads the model and its saved examples; saves them where they weren't. True when they were there."""
        engine = await self._started()
        http = prompt.direct_http()
        try:
            return await prompt.restore(http, engine, self._hash)
        finally:
            await http.close()

    async def _started(self) -> Engine:
        await asyncio.to_thread(self.start)
        assert self._engine is not None
        return self._engine

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """One reply, ending with Finished. Raises ModelError or ConfigError; closing the iterator cancels the request."""
        engine = await self._started()
        http = prompt.direct_http()
        try:
            if request.tools:
                await prompt.restore(http, engine, self._hash)
            reply = _Reply(http, engine, self._body(request), led=bool(request.tools))
            async with aclosing(reply.texts()) as texts:  # type: ignore[type-var]
                async for text in texts:
                    yield text
            call = reply.step.call() if reply.led else None
            first = guidance.instead(request, *call) if call is not None else None
            again = reply.doubted(request, call) if first is None else None
            if first is not None:
                yield Restarted()
                reply.step.replace(*first)
            elif again is not None:
                yield Restarted()
                reply = _Reply(http, engine, again, led=True, spent=reply.usage)
                async with aclosing(reply.texts()) as texts:  # type: ignore[type-var]
                    async for text in texts:
                        yield text
            for event in reply.end():
                yield event
        finally:
            await http.close()

    def _body(self, request: ModelRequest) -> JsonObject:
        body: JsonObject = {
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": request.temperature or 0,
            "max_tokens": request.max_output_tokens or MOST_TOKENS,
            "cache_prompt": True,
        }
        if request.tools:
            current = steps.task_of(request.messages)
            key = (current, steps.task_text(request.messages[current]) if request.messages else "")
            line = self._listings.setdefault(key, steps.listing(request.paths))
            body["messages"] = [*steps.prefix(), *doubts.reminded(request, steps.dialogue(request, line))]
            body["grammar"] = guidance.step_grammar(request)
        else:
            body["messages"] = steps.plain(request)
            if request.output_schema is not None:
                body["response_format"] = _format(request.output_schema)
        return body


class _Reply:
    """One answer of the engine: its texts as they come, then its end."""

    def __init__(self, http: Http, engine: Engine, body: JsonObject, *, led: bool, spent: Usage = Usage()) -> None:
        self.body = body
        self.led = led
        self.step = StepReader()
        self.usage = spent
        self._http = http
        self._engine = engine
        self._finish = ""

    def doubted(self, request: ModelRequest, call: tuple[str, JsonObject] | None) -> JsonObject | None:
        """What to ask once more instead of taking this call, or this answer; None when it stands."""
        if call is not None:
            return doubts.again(request, self.body, *call)
        if not self.led or self._finish != "stop" or request.output_schema is not None:
            return None
        return doubts.unfinished(request, self.body)

    async def texts(self) -> AsyncIterator[StreamEvent]:
        address = await self._engine.ready()
        call = prompt.call(self._engine, address, "/v1/chat/completions", self.body)
        async with aclosing(self._http.stream_json(call)) as batches:  # type: ignore[type-var]
            async for values in batches:
                for value in values:
                    piece = self._piece(value)
                    if piece and self.led:
                        for event in self.step.feed(piece):
                            yield event
                    elif piece:
                        yield TextDelta(piece)

    def _piece(self, value: Any) -> str:
        if not isinstance(value, dict):
            return ""
        used = value.get("usage")
        if used:
            cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
            self.usage += Usage(
                input_tokens=used["prompt_tokens"],
                output_tokens=used["completion_tokens"],
                cache_read_input_tokens=cached,
            )
        piece = ""
        for choice in value.get("choices", ()):
            piece += choice.get("delta", {}).get("content") or ""
            self._finish = choice.get("finish_reason") or self._finish
        return piece

    def end(self) -> list[StreamEvent]:
        """The call, if it is one, and Finished. Raises StreamCut when the engine stopped in the middle."""
        if not self._finish:
            raise StreamCut("the embedded model's engine stopped in the middle of its reply")
        reason = _REASONS.get(self._finish, FinishReason.UNKNOWN)
        events = self.step.close() if self.led else []
        if reason is FinishReason.STOP and self.led and self.step.call() is not None:
            reason = FinishReason.TOOL_CALLS
        return [*events, Finished(reason, raw=self._finish, usage=self.usage)]


def _format(schema: JsonObject) -> JsonObject:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def info() -> ModelInfo:
    """What is known of the model without loading it. Raises ConfigError when AICLI_EMBEDDED_MODEL names no file."""
    own = cache.own_file()
    name = own.stem if own else cache.pinned().name
    note = "embedded: check its answers" if own else NOTE
    return ModelInfo("embedded", name, window=cache.pinned().window, tools="steps", profile="steps", note=note)


def absent(cache_folder: Path | None = None) -> str:
    """Why the embedded model can't be used now, with the command that changes that; "" when it can."""
    if not library_version():
        return f"its engine is not installed: {INSTALL}"
    if cache.installed(cache_folder or paths.cache_folder()) is None:
        return f"its file is not here yet ({cache.pinned().gigabytes}): {cache.PULL}"
    return ""


async def _model(name: str, link: Link) -> EmbeddedModel:
    """The model, already loading while the run is set up. Raises ConfigError when it can't be, InputError for another."""
    model = EmbeddedModel(link.cache_dir)
    if name not in (model.info.name, cache.pinned().name):
        raise InputError(f"there is no embedded model {name!r}", hint=f"It is {model.info.id}.")
    await asyncio.to_thread(model.start)
    return model


async def _models(link: Link) -> list[ModelInfo]:
    return [] if absent(link.cache_dir) else [info()]


PROVIDER = Provider(
    name="embedded",
    base_url="",
    model=_model,
    models=_models,
    roles={"fast": cache.pinned().name, "thinking": cache.pinned().name},
)
