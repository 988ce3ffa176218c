"""Chat completions over server-sent events: OpenAI and the many servers that speak its form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from aicli.content.parts import JsonObject
from aicli.content.request import FinishReason, ModelRequest, ToolSpec, Usage
from aicli.content.stream import CallDelta, Finished, StreamEvent, TextDelta, ThinkingDelta
from aicli.errors import MalformedReply, ModelError, ModelNotFound, Overloaded, ServerFailed, StreamCut
from aicli.models.base import Embedder, Model, ModelInfo
from aicli.models.calls import CallTracks, join_details
from aicli.models.chat_messages import Kept, history
from aicli.models.faults import Asked, from_event
from aicli.models.http import HttpCall
from aicli.models.known import known
from aicli.models.mining import Miner
from aicli.models.profiles import PROFILES, Profile, thinking_fields
from aicli.models.provider import Link, Provider, join, versioned
from aicli.models.texts import (
    cut_note,
    least_tokens,
    strict_ready,
    tools_as_text,
)
from aicli.models.wire import WireModel, ask_again

_REASONS = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "sensitive": FinishReason.CONTENT_FILTER,
    "refusal": FinishReason.REFUSAL,
    "abort": FinishReason.ABORTED,
    "aborted": FinishReason.ABORTED,
    "insufficient_system_resource": FinishReason.OVERLOADED,
}


def encode(
    request: ModelRequest, info: ModelInfo, quirks: frozenset[str], profile: Profile, kept: Kept | None = None
) -> JsonObject:
    """The body of POST /chat/completions."""
    if "no_tools" in quirks:
        request = tools_as_text(request)
    body: JsonObject = {
        "model": info.name,
        "messages": history(request, profile, info, {} if kept is None else kept),
        "stream": True,
    }
    if "no_stream_options" not in quirks:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(t, profile) for t in request.tools]
        choice = request.tool_choice
        if choice in ("none", "required"):
            body["tool_choice"] = choice
        elif choice != "auto":
            body["tool_choice"] = {"type": "function", "function": {"name": choice}}
    if request.temperature is not None and "no_temperature" not in quirks:
        body["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        names = ["max_tokens", "max_completion_tokens"]
        body[names[(profile.max_tokens == names[1]) != ("other_max" in quirks)]] = request.max_output_tokens
    if request.thinking is not None and "no_effort" not in quirks:
        body.update(thinking_fields(profile, request.thinking))
    if request.output_schema is not None and "no_schema" not in quirks:
        form: JsonObject = {
            "name": "answer",
            "schema": request.output_schema,
            "strict": strict_ready(request.output_schema),
        }
        body["response_format"] = (
            {"type": "json_schema", "json_schema": form} if profile.schema else {"type": "json_object"}
        )
    return body


def _tool(tool: ToolSpec, profile: Profile) -> JsonObject:
    function: JsonObject = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    if profile.strict and tool.strict and strict_ready(tool.parameters):
        function["strict"] = True
    return {"type": "function", "function": function}


class Decode:
    """Chunks of one reply to events; a whole answer of a server that does not stream is read alike."""

    def __init__(self, request: ModelRequest, asked: Asked, sent: int = 0) -> None:
        self._sent = sent
        self._miner = Miner(request, asked)
        self._turn = len(request.messages)
        self._asked = asked
        self._calls = CallTracks(asked.provider)
        self._usage: JsonObject = {}
        self._finish = ""
        self._done = self._refused = self._spoke = False
        self._details: list[JsonObject] = []

    def feed(self, value: Any) -> Sequence[StreamEvent]:
        if not isinstance(value, dict):
            if value == "[DONE]":
                self._done = True
                return ()
            raise MalformedReply("the server sent an event that is no object", raw=str(value)[:500])
        if value.get("error"):
            raise from_event(self._asked, value["error"])
        usage = value.get("usage")
        if usage:
            self._usage = usage
        choices = value.get("choices")
        choice = next((c for c in choices if c and not c.get("index")), None) if choices else None
        if choice is None:
            return ()
        if choice.get("finish_reason"):
            self._finish = str(choice["finish_reason"])
        delta = choice.get("delta") or choice.get("message")
        if not delta:
            return ()
        content = delta.get("content")
        if content.__class__ is str and content and (len(delta) == 1 or _OTHERS.isdisjoint(delta)):
            return self.text(content)
        events = self._slow(delta, content)
        self._spoke = self._spoke or bool(events)
        return events

    def waiting(self) -> str:
        return self._miner.waiting()

    def plain(self, value: Any) -> str:
        """The text of a chunk that is nothing but text, else ""."""
        if value.__class__ is not dict or len(value) > 8 or "error" in value or value.get("usage"):
            return ""
        choices = value.get("choices")
        if not choices or len(choices) != 1:
            return ""
        choice = choices[0]
        delta = choice.get("delta")
        if not delta or choice.get("finish_reason") or choice.get("index"):
            return ""
        content = delta.get("content")
        if content.__class__ is not str or (len(delta) > 1 and not _OTHERS.isdisjoint(delta)):
            return ""
        return str(content)

    def text(self, chunk: str) -> Sequence[StreamEvent]:
        self._spoke = True
        return self._miner.text(chunk)

    def _slow(self, delta: JsonObject, content: Any) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        thought = delta.get("reasoning_content") or delta.get("reasoning") or delta.get("thinking")
        if isinstance(thought, str):
            out += self._miner.thinking(thought)
        if delta.get("reasoning_details"):
            join_details(self._details, delta["reasoning_details"])
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "thinking":
                pieces = part.get("thinking")
                texts = pieces if isinstance(pieces, list) else [{"text": pieces}]
                out += self._miner.thinking("".join(str(t.get("text") or "") for t in texts))
            elif part.get("text"):
                out += self._miner.text(part["text"])
        if isinstance(content, str) and content:
            out += self._miner.text(content)
        if delta.get("refusal"):
            self._refused = True
            out.append(TextDelta(str(delta["refusal"])))
        if delta.get("tool_calls") and not len(self._calls):
            out += self._miner.flush()
        for call in delta.get("tool_calls") or ():
            out.extend(self._calls.feed(call))
        if delta.get("function_call"):
            out.extend(self._calls.feed({"index": 0, "function": delta["function_call"]}))
        return out

    def close(self) -> Sequence[StreamEvent]:
        if not self._finish and not self._done:
            raise StreamCut("the reply broke off before its end mark", hint="Try again.")
        if self._finish == "error":
            raise ServerFailed(f"{self._asked.provider} ended the reply with an error")
        reason = _REASONS.get(self._finish, FinishReason.UNKNOWN if self._finish else FinishReason.MISSING)
        if reason is FinishReason.OVERLOADED and not self._spoke:
            raise Overloaded(f"{self._asked.provider} has no capacity now ({self._finish})", hint="Try again later.")
        out = [*self._miner.close(len(self._calls), reason), *self._calls.minted(self._turn)]
        if self._details:
            out.append(ThinkingDelta("", {self._asked.provider: {"details": self._details}}))
        if self._refused:
            reason = FinishReason.REFUSAL
        elif reason is FinishReason.STOP and (len(self._calls) or any(isinstance(e, CallDelta) for e in out)):
            reason = FinishReason.TOOL_CALLS
        detail = self._miner.problem if reason is FinishReason.STOP else ""
        if detail:
            reason = FinishReason.MALFORMED_CALL
        usage = usage_of(self._usage)
        detail = cut_note(usage.input_tokens, self._sent) or detail
        return [*out, Finished(reason, self._finish, usage, detail=detail)]


_OTHERS = frozenset(
    {"tool_calls", "reasoning_content", "reasoning", "thinking", "refusal", "function_call", "reasoning_details"}
)


def usage_of(usage: JsonObject) -> Usage:
    """Usage in the common terms; prompt_tokens counts cached ones already."""
    read, written = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=usage.get("prompt_tokens") or 0,
        output_tokens=usage.get("completion_tokens") or 0,
        cache_read_input_tokens=read.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0,
        reasoning_tokens=written.get("reasoning_tokens") or 0,
    )


class ChatWire:
    def __init__(self, link: Link, profile: Profile) -> None:
        self._link = link
        self._profile = profile
        self._kept: Kept = {}

    def call(self, request: ModelRequest, info: ModelInfo, quirks: frozenset[str]) -> HttpCall:
        body = encode(request, info, quirks, self._profile, self._kept) | dict(self._link.sampling)
        url = versioned(self._link.base_url, "/chat/completions")
        return HttpCall(url, body, headers(self._link, self._profile), asked=self._link.asked(info.name))

    def decoder(self, request: ModelRequest, asked: Asked, quirks: frozenset[str]) -> Decode:
        return Decode(request, asked, least_tokens(request))

    def learn(self, error: ModelError, request: ModelRequest, quirks: frozenset[str]) -> str:
        if error.status not in (400, 404, 422, 501):
            return ""
        text = f"{error} {error.raw}".lower()
        if isinstance(error, ModelNotFound) and "tool" not in text:
            return ""
        return next((quirk for quirk, words in _LACKS if any(w in text for w in words)), "")


_LACKS = (
    ("no_stream_options", ("stream_options", "include_usage")),
    ("other_max", ("max_completion_tokens", "max_tokens' is not supported")),
    (
        "no_effort",
        ("reasoning_effort", "'thinking'", "chat_template_kwargs", "reasoning.effort", "does not support thinking"),
    ),
    ("no_temperature", ("'temperature'",)),
    ("no_schema", ("response_format", "json_schema")),
    (
        "no_tools",
        ("support tool", "tool use", "tool choice requires", "tools are not supported", "tool calling", "--jinja"),
    ),
)


def headers(link: Link, profile: Profile) -> dict[str, str]:
    if not link.key:
        return {}
    if profile.key_header == "api-key" or "api-version=" in urlsplit(link.base_url).query:
        return {"api-key": link.key}
    return {"authorization": f"Bearer {link.key}"}


async def model(name: str, link: Link, profile: Profile) -> Model:
    info = known(profile.name, name)
    info = replace(info, window=link.num_ctx or info.window, schema=profile.schema)
    return WireModel(info, ChatWire(link, profile), link, window=partial(window, link, profile, name))


async def models(link: Link, profile: Profile) -> list[ModelInfo]:
    """What GET /models lists. Raises ModelError."""
    return [replace(known(profile.name, str(m["id"])), window=size) for m, size in await _list(link, profile)]


async def _list(link: Link, profile: Profile) -> list[tuple[JsonObject, int | None]]:
    call = HttpCall(versioned(link.base_url, "/models"), None, headers(link, profile), "GET", asked=link.asked())
    found = await link.http.listing(call)
    entries = found.get("data") or found.get("models") or () if isinstance(found, dict) else found
    return [(m, _window(m)) for m in entries if isinstance(m, dict) and m.get("id")]


def _window(entry: JsonObject) -> int | None:
    names = ("loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length")
    return next((int(entry[k]) for k in names if isinstance(entry.get(k), int) and entry[k] > 0), None)


async def window(link: Link, profile: Profile, name: str) -> int | None:
    """The context window as the server tells it, None where it does not."""
    root = urlsplit(link.base_url)._replace(path="", query="").geturl()
    if profile.window == "props":
        call = HttpCall(join(root, "/props"), None, headers(link, profile), "GET", asked=link.asked())
        shown = await link.http.fetch(call, timeout=2)
        return int((shown.get("default_generation_settings") or {}).get("n_ctx") or 0) or None
    if profile.window == "lmstudio":
        call = HttpCall(join(root, "/api/v0/models"), None, headers(link, profile), "GET", asked=link.asked())
        shown = await link.http.fetch(call, timeout=2)
        return next((_window(m) for m in shown.get("data") or () if m.get("id") == name), None)
    return next((size for m, size in await _list(link, profile) if m["id"] == name), None)


class ChatEmbedder:
    def __init__(self, info: ModelInfo, link: Link, profile: Profile) -> None:
        self.info = info
        self._link = link
        self._profile = profile

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        url = versioned(self._link.base_url, "/embeddings")
        body = {"model": self.info.name, "input": list(texts), "encoding_format": "float"}
        call = HttpCall(url, body, headers(self._link, self._profile), asked=self._link.asked(self.info.name))
        reply = await ask_again(self._link, call)
        rows = sorted(reply.get("data") or (), key=lambda row: row.get("index", 0)) if isinstance(reply, dict) else ()
        if len(rows) != len(texts):
            raise MalformedReply(f"{self.info.id} gave no vector for each text", raw=str(reply)[:500])
        return [row["embedding"] for row in rows]


async def embedder(name: str, link: Link, profile: Profile) -> Embedder:
    return ChatEmbedder(known(profile.name, name), link, profile)


PROVIDERS = tuple(
    Provider(
        p.name,
        p.base_url,
        partial(model, profile=p),
        partial(models, profile=p),
        partial(embedder, profile=p),
        key_names=p.key_names,
        needs_key=p.needs_key,
        url_names=p.url_names,
        roles={k: v for k, v in (("fast", p.fast), ("thinking", p.thinking), ("embedding", p.embedding)) if v},
    )
    for p in PROFILES
)
