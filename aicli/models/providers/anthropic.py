"""Anthropic Messages over server-sent events."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aicli.content.messages import Message
from aicli.content.parts import (
    FileDataPart,
    FunctionCallPart,
    FunctionResponsePart,
    InlineDataPart,
    JsonObject,
    TextPart,
    ThinkingPart,
)
from aicli.content.request import FinishReason, ModelRequest, ToolSpec, Usage
from aicli.content.stream import CallDelta, Finished, Restarted, StreamEvent, ThinkingDelta
from aicli.errors import BadRequest, MalformedReply, ModelError, StreamCut
from aicli.models.base import Model, ModelInfo
from aicli.models.faults import Asked, from_event
from aicli.models.http import HttpCall
from aicli.models.known import known
from aicli.models.mining import Miner
from aicli.models.provider import Link, Provider, versioned
from aicli.models.texts import arguments, renamed_ids, strict_ready
from aicli.models.wire import WireModel, listed

NAME = "anthropic"
MOST_OUTPUT = 16_384
_CACHE = {"type": "ephemeral"}
_BUDGETS = {"low": 2_048, "medium": 6_144, "high": 12_288}
_REASONS = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "pause_turn": FinishReason.PAUSE,
    "refusal": FinishReason.REFUSAL,
    "model_context_window_exceeded": FinishReason.CONTEXT,
}


def encode(request: ModelRequest, info: ModelInfo, quirks: frozenset[str]) -> JsonObject:
    """The body of POST /v1/messages. The prompt is cached up to the tools, the system text and the last message."""
    most = 4_096 if "small_output" in quirks else MOST_OUTPUT
    body: JsonObject = {"model": info.name, "max_tokens": request.max_output_tokens or most, "stream": True}
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHE}]
    if request.tools:
        body["tools"] = [_tool(t) for t in request.tools]
        body["tools"][-1]["cache_control"] = _CACHE
    body["messages"] = _history(request)
    output: JsonObject = {}
    thinking = _thinking(request, info, quirks, body["max_tokens"])
    if thinking:
        body["thinking"] = thinking
        if thinking["type"] == "adaptive" and "no_effort" not in quirks:
            output["effort"] = request.thinking
    forced = request.tool_choice != "auto" and not (thinking and thinking["type"] == "enabled")
    if request.tools and (forced or request.tool_choice == "none"):
        words = {"none": {"type": "none"}, "required": {"type": "any"}}
        body["tool_choice"] = words.get(request.tool_choice, {"type": "tool", "name": request.tool_choice})
    if request.temperature is not None and (not thinking or thinking["type"] == "disabled"):
        body["temperature"] = request.temperature
    if request.output_schema is not None and "no_schema" not in quirks:
        output["format"] = {"type": "json_schema", "schema": request.output_schema}
    if output:
        body["output_config"] = output
    return body


def _tool(tool: ToolSpec) -> JsonObject:
    out: JsonObject = {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
    if tool.strict and strict_ready(tool.parameters):
        out["strict"] = True
    if tool.examples:
        out["input_examples"] = list(tool.examples)
    return out


def _thinking(request: ModelRequest, info: ModelInfo, quirks: frozenset[str], most: int) -> JsonObject | None:
    level = request.thinking
    if level is None or not info.thinking or "no_thinking" in quirks:
        return None
    if level == "off":
        return {"type": "disabled"}
    adaptive = re.search(r"4-[6-9]|claude-\w+-[5-9]|mythos", info.name) is not None
    if adaptive != ("other_thinking" in quirks):
        return {"type": "adaptive"}
    if _began_unthinking(request):
        return None
    budget = min(_BUDGETS[level], most - 1_024)
    return {"type": "enabled", "budget_tokens": budget} if budget >= 1_024 else None


def _began_unthinking(request: ModelRequest) -> bool:
    """The tool loop that is going on began with a message without signed thinking: the server refuses thinking in it."""
    begun: Message | None = None
    for message in reversed(request.messages):
        if message.role == "user":
            break
        begun = message if message.role == "model" else begun
    if begun is None or not begun.calls:
        return False
    own = begun.provider == NAME
    return not (own and any(isinstance(p, ThinkingPart) and p.meta.get(NAME) for p in begun.parts))


def _history(request: ModelRequest) -> list[JsonObject]:
    """Results of a turn first in one user message, what the person said after them; never two of one role in a row."""
    ids = renamed_ids(request.messages, r"[a-zA-Z0-9_-]+", "toolu_{hash}")
    out: list[JsonObject] = []
    for message in request.messages:
        blocks = [b for p in message.parts if (b := _block(p, ids, message.provider == NAME)) is not None]
        role = "assistant" if message.role == "model" else "user"
        if not blocks:
            continue
        if out and out[-1]["role"] == role:
            out[-1]["content"].extend(blocks)
        else:
            out.append({"role": role, "content": blocks})
    if out and out[0]["role"] == "assistant":
        out.insert(0, {"role": "user", "content": [{"type": "text", "text": "(continued)"}]})
    if out and out[-1]["role"] == "user":
        out[-1]["content"][-1] = {**out[-1]["content"][-1], "cache_control": _CACHE}
    return out


def _block(part: Any, ids: dict[str, str], own: bool) -> JsonObject | None:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text} if part.text.strip() else None
        case ThinkingPart():
            kept = part.meta.get(NAME, {}) if own else {}
            if "redacted" in kept:
                return {"type": "redacted_thinking", "data": kept["redacted"]}
            if "signature" in kept:
                return {"type": "thinking", "thinking": part.text, "signature": kept["signature"]}
            return None
        case FunctionCallPart():
            return {"type": "tool_use", "id": ids.get(part.id, part.id), "name": part.name, "input": arguments(part)}
        case FunctionResponsePart():
            result: JsonObject = {"type": "tool_result", "tool_use_id": ids.get(part.id, part.id)}
            content = [b for p in part.content if (b := _block(p, ids, own)) is not None]
            if content:
                result["content"] = content
            return {**result, "is_error": True} if part.is_error else result
        case InlineDataPart():
            kind = "image" if part.mime.startswith("image/") else "document"
            return {"type": kind, "source": {"type": "base64", "media_type": part.mime, "data": part.data}}
        case FileDataPart():
            kind = "image" if part.mime.startswith("image/") else "document"
            return {"type": kind, "source": {"type": "url", "url": part.uri}}
        case _:
            return None


class Decode:
    """Events of one message to StreamEvents; unknown events, blocks and deltas are passed over."""

    def __init__(self, request: ModelRequest, asked: Asked) -> None:
        self._asked = asked
        self._request = request
        self._began = False
        self._reset()

    def _reset(self) -> None:
        self._blocks: dict[int, JsonObject] = {}
        self._usage: dict[str, int] = {}
        self._stop = ""
        self._detail = ""
        self._done = False
        self._miner = Miner(self._request, self._asked)

    def feed(self, value: Any) -> Sequence[StreamEvent]:
        if not isinstance(value, dict):
            raise MalformedReply("the server sent an event that is no object", raw=str(value)[:500])
        kind = value.get("type")
        if kind == "content_block_delta":
            return self._delta(value.get("index", 0), value["delta"])
        if value.get("error"):
            raise from_event(self._asked, value["error"])
        match kind:
            case "message_start":
                again, self._began = self._began, True
                self._reset()
                self._count(value["message"].get("usage"))
                return (Restarted(),) if again else ()
            case "content_block_start":
                return self._start(value.get("index", 0), value["content_block"])
            case "content_block_stop":
                return self._end(value.get("index", 0))
            case "message_delta":
                delta = value.get("delta") or {}
                self._stop = delta.get("stop_reason") or self._stop
                details = delta.get("stop_details") or {}
                self._detail = str(details.get("explanation") or details.get("category") or self._detail)
                self._count(value.get("usage"))
            case "message_stop":
                self._done = True
            case "message":
                return self._whole(value)
        return ()

    def waiting(self) -> str:
        return self._miner.waiting()

    def plain(self, value: Any) -> str:
        """The text of an event that is nothing but text, else ""."""
        if value.__class__ is not dict or value.get("type") != "content_block_delta":
            return ""
        delta = value["delta"]
        return str(delta["text"]) if delta.get("type") == "text_delta" else ""

    def text(self, chunk: str) -> Sequence[StreamEvent]:
        return self._miner.text(chunk)

    def _count(self, usage: JsonObject | None) -> None:
        self._usage.update({k: v for k, v in (usage or {}).items() if isinstance(v, int)})

    def _start(self, index: int, block: JsonObject) -> Sequence[StreamEvent]:
        self._blocks[index] = {**block, "json": False, "sign": block.get("signature") or ""}
        match block.get("type"):
            case "text" if block.get("text"):
                return self._miner.text(block["text"])
            case "thinking" if block.get("thinking"):
                return self._miner.thinking(block["thinking"])
            case "redacted_thinking":
                return (*self._miner.flush(), ThinkingDelta("", {NAME: {"redacted": block.get("data", "")}}))
            case "tool_use":
                return (
                    *self._miner.flush(),
                    CallDelta(index, str(block.get("id") or ""), str(block.get("name") or "")),
                )
        return ()

    def _delta(self, index: int, delta: JsonObject) -> Sequence[StreamEvent]:
        match delta.get("type"):
            case "text_delta":
                return self._miner.text(delta["text"])
            case "thinking_delta":
                return self._miner.thinking(delta["thinking"]) if delta["thinking"] else ()
            case "input_json_delta" if delta["partial_json"] and self._blocks.get(index, {}).get("type") == "tool_use":
                self._blocks[index]["json"] = True
                return (CallDelta(index, args_json=delta["partial_json"]),)
            case "signature_delta" if index in self._blocks:
                self._blocks[index]["sign"] += delta["signature"]
        return ()

    def _end(self, index: int) -> Sequence[StreamEvent]:
        block = self._blocks.get(index) or {}
        if block.get("type") == "thinking" and block["sign"]:
            return (ThinkingDelta("", {NAME: {"signature": block["sign"]}}),)
        if block.get("type") == "tool_use" and not block["json"]:
            return (CallDelta(index, args=block.get("input") or {}),)
        return ()

    def _whole(self, message: JsonObject) -> Sequence[StreamEvent]:
        """An answer of a server that does not stream."""
        out: list[StreamEvent] = []
        for index, block in enumerate(message.get("content") or ()):
            out += [*self._start(index, block), *self._end(index)]
        self._count(message.get("usage"))
        self._stop, self._done = str(message.get("stop_reason") or ""), True
        return out

    def close(self) -> Sequence[StreamEvent]:
        if not self._done and not self._stop:
            raise StreamCut("the reply broke off before its end mark", hint="Try again.")
        reason = _REASONS.get(self._stop, FinishReason.UNKNOWN if self._stop else FinishReason.MISSING)
        native = sum(b.get("type") == "tool_use" for b in self._blocks.values())
        out = self._miner.close(native, reason)
        if reason is FinishReason.STOP and (native or any(isinstance(e, CallDelta) for e in out)):
            reason = FinishReason.TOOL_CALLS
        elif reason is FinishReason.STOP and self._miner.problem:
            reason, self._detail = FinishReason.MALFORMED_CALL, self._miner.problem
        cached, created = (self._usage.get(f"cache_{k}_input_tokens", 0) for k in ("read", "creation"))
        usage = Usage(
            input_tokens=self._usage.get("input_tokens", 0) + cached + created,
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_input_tokens=cached,
            cache_creation_input_tokens=created,
        )
        return [*out, Finished(reason, self._stop, usage, detail=self._detail)]


class MessagesWire:
    def __init__(self, link: Link) -> None:
        self._link = link

    def call(self, request: ModelRequest, info: ModelInfo, quirks: frozenset[str]) -> HttpCall:
        body = encode(request, info, quirks) | dict(self._link.sampling)
        head = headers(self._link)
        if any(t.examples for t in request.tools):
            head["anthropic-beta"] = "advanced-tool-use-2025-11-20"
        return HttpCall(versioned(self._link.base_url, "/messages"), body, head, asked=self._link.asked(info.name))

    def decoder(self, request: ModelRequest, asked: Asked, quirks: frozenset[str]) -> Decode:
        return Decode(request, asked)

    def learn(self, error: ModelError, request: ModelRequest, quirks: frozenset[str]) -> str:
        if not isinstance(error, BadRequest):
            return ""
        text = f"{error} {error.raw}".lower()
        if "max_tokens" in text and ("maximum" in text or ">" in text) and request.max_output_tokens is None:
            return "small_output"
        if "output_config.format" in text or "json_schema" in text:
            return "no_schema"
        if "effort" in text:
            return "no_effort"
        if "thinking" in text and "signature" not in text and request.thinking is not None:
            return "no_thinking" if "other_thinking" in quirks or request.thinking == "off" else "other_thinking"
        return ""


def headers(link: Link) -> dict[str, str]:
    head = {"anthropic-version": "2023-06-01"}
    return {**head, "x-api-key": link.key} if link.key else head


async def model(name: str, link: Link) -> Model:
    info = replace(known(NAME, name), schema="tools")
    return WireModel(replace(info, window=link.num_ctx or info.window), MessagesWire(link), link)


async def models(link: Link) -> list[ModelInfo]:
    return await listed(link, NAME, headers(link))


PROVIDER = Provider(
    NAME,
    "https://api.anthropic.com",
    model,
    models,
    key_names=("ANTHROPIC_API_KEY",),
    needs_key=True,
    url_names=("ANTHROPIC_BASE_URL",),
    roles={"fast": "claude-haiku-4-5", "thinking": "claude-sonnet-4-5"},
    other_names=("claude",),
)
