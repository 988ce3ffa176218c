"""OpenAI Responses over server-sent events, without state on the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, InlineDataPart, JsonObject, TextPart, ThinkingPart
from aicli.content.request import FinishReason, ModelRequest, ToolSpec, Usage
from aicli.content.stream import CallDelta, Finished, StreamEvent, TextDelta, ThinkingDelta, read_arguments
from aicli.errors import MalformedReply, ModelError, StreamCut
from aicli.models.base import Model, ModelInfo
from aicli.models.faults import Asked, from_event
from aicli.models.http import HttpCall
from aicli.models.known import known
from aicli.models.mining import Miner
from aicli.models.provider import Link, Provider, versioned
from aicli.models.texts import answer_text, arguments, images, strict_ready, to_json
from aicli.models.wire import WireModel, listed

NAME = "responses"


def encode(request: ModelRequest, info: ModelInfo, quirks: frozenset[str]) -> JsonObject:
    """The body of POST /v1/responses; reasoning comes back encrypted, because the server keeps nothing."""
    body: JsonObject = {"model": info.name, "input": _items(request), "stream": True, "store": False}
    if request.system:
        body["instructions"] = request.system
    if "no_include" not in quirks:
        body["include"] = ["reasoning.encrypted_content"]
    if request.tools:
        body["tools"] = [_tool(t) for t in request.tools]
        choice = request.tool_choice
        if choice != "auto":
            body["tool_choice"] = choice if choice in ("none", "required") else {"type": "function", "name": choice}
    if request.temperature is not None and "no_temperature" not in quirks:
        body["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        body["max_output_tokens"] = request.max_output_tokens
    if info.thinking and "no_reasoning" not in quirks:
        effort = {"effort": "minimal" if request.thinking == "off" else request.thinking} if request.thinking else {}
        body["reasoning"] = {**effort, "summary": "auto"}
    if request.output_schema is not None:
        strict = strict_ready(request.output_schema)
        form = {"type": "json_schema", "name": "answer", "schema": request.output_schema, "strict": strict}
        body["text"] = {"format": form}
    return body


def _tool(tool: ToolSpec) -> JsonObject:
    strict = tool.strict and strict_ready(tool.parameters)
    head: JsonObject = {"type": "function", "name": tool.name, "description": tool.description}
    return {**head, "parameters": tool.parameters, "strict": strict}


def _items(request: ModelRequest) -> list[JsonObject]:
    out: list[JsonObject] = []
    for message in request.messages:
        if message.role == "tool":
            for r in message.responses:
                shown = [_image(i) for i in images(r)]
                text = answer_text(r)
                output = [{"type": "input_text", "text": text}, *shown] if shown else text
                out.append({"type": "function_call_output", "call_id": r.id, "output": output})
        elif message.role == "user":
            parts = [{"type": "input_text", "text": message.text}] if message.text else []
            out.append({"type": "message", "role": "user", "content": parts + [_image(i) for i in images(message)]})
        else:
            out.extend(_said(message))
    return out


def _said(message: Message) -> list[JsonObject]:
    """A model's own items, in order; reasoning of this provider exactly as it came, another's dropped."""
    out: list[JsonObject] = []
    for part in message.parts:
        if isinstance(part, ThinkingPart):
            item = part.meta.get(NAME, {}).get("item") if message.provider == NAME else None
            if item:
                out.append(item)
        elif isinstance(part, TextPart) and part.text:
            content = [{"type": "output_text", "text": part.text, "annotations": []}]
            out.append({"type": "message", "role": "assistant", "content": content})
        elif isinstance(part, FunctionCallPart):
            args = to_json(arguments(part))
            out.append({"type": "function_call", "call_id": part.id, "name": part.name, "arguments": args})
    while out and out[-1]["type"] == "reasoning":
        out.pop()  # the item it belonged to never came
    return out


def _image(part: InlineDataPart) -> JsonObject:
    return {"type": "input_image", "image_url": f"data:{part.mime};base64,{part.data}"}


class Decode:
    """Events of one response. Calls are told apart by output_index, for ids may change between events."""

    def __init__(self, request: ModelRequest, asked: Asked) -> None:
        self._miner = Miner(request, asked)
        self._asked = asked
        self._calls: set[int] = set()
        self._refused = False
        self._end: JsonObject | None = None
        self._summary = 0

    def feed(self, value: Any) -> Sequence[StreamEvent]:
        if value == "[DONE]":
            return ()
        if not isinstance(value, dict):
            raise MalformedReply("the server sent an event that is no object", raw=str(value)[:500])
        kind = value.get("type") or ""
        match kind:
            case "response.output_text.delta":
                return self._miner.text(value["delta"])
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._thought(value)
            case "response.refusal.delta":
                self._refused = True
                return (TextDelta(value["delta"]),)
            case "response.function_call_arguments.delta":
                return (CallDelta(self._index(value), args_json=value["delta"]),)
            case "response.output_item.added":
                return self._added(self._index(value), value["item"])
            case "response.output_item.done":
                return self._whole(self._index(value), value["item"])
            case "response.completed" | "response.incomplete":
                self._end = value["response"]
            case "response.failed":
                raise from_event(self._asked, (value.get("response") or {}).get("error") or "it failed")
            case "error":
                raise from_event(self._asked, value.get("error") or value)
        if value.get("error") and not kind:
            raise from_event(self._asked, value["error"])
        if value.get("object") == "response":
            return self._unstreamed(value)
        return ()

    def waiting(self) -> str:
        return self._miner.waiting()

    def plain(self, value: Any) -> str:
        """The text of an event that is nothing but text, else ""."""
        is_text = value.__class__ is dict and value.get("type") == "response.output_text.delta"
        return str(value["delta"]) if is_text else ""

    def text(self, chunk: str) -> Sequence[StreamEvent]:
        return self._miner.text(chunk)

    def _index(self, value: JsonObject) -> int:
        return int(value.get("output_index") or 0)

    def _thought(self, value: JsonObject) -> Sequence[StreamEvent]:
        at = int(value.get("summary_index") or 0)
        gap = "\n\n" if at > self._summary else ""
        self._summary = at
        return self._miner.thinking(gap + value["delta"])

    def _added(self, index: int, item: JsonObject) -> Sequence[StreamEvent]:
        if item.get("type") != "function_call":
            return ()
        self._calls.add(index)
        return (*self._miner.flush(), CallDelta(index, str(item.get("call_id") or ""), str(item.get("name") or "")))

    def _whole(self, index: int, item: JsonObject) -> Sequence[StreamEvent]:
        """The finished item is what counts, whatever its deltas said."""
        if item.get("type") == "reasoning":
            self._summary = 0
            kept = {k: v for k, v in item.items() if k != "status"}
            return (ThinkingDelta("", {NAME: {"item": kept}}),) if item.get("encrypted_content") else ()
        if item.get("type") != "function_call":
            return ()
        self._calls.add(index)
        id_, name = str(item.get("call_id") or ""), str(item.get("name") or "")
        args, unreadable = read_arguments(str(item.get("arguments") or ""))
        return (CallDelta(index, id_, name, args=None if unreadable else args),)

    def _unstreamed(self, response: JsonObject) -> Sequence[StreamEvent]:
        out: list[StreamEvent] = []
        for index, item in enumerate(response.get("output") or ()):
            for part in (item.get("content") or ()) if item.get("type") == "message" else ():
                out += self._miner.text(str(part.get("text") or ""))
            for part in (item.get("summary") or ()) if item.get("type") == "reasoning" else ():
                out += self._miner.thinking(str(part.get("text") or ""))
            out += [*self._whole(index, item)]
            if item.get("type") == "function_call" and isinstance(out[-1], CallDelta) and out[-1].args is None:
                out.append(CallDelta(index, args_json=str(item.get("arguments"))))
        self._end = response
        return out

    def close(self) -> Sequence[StreamEvent]:
        if self._end is None:
            raise StreamCut("the reply broke off before its end mark", hint="Try again.")
        raw = str((self._end.get("incomplete_details") or {}).get("reason") or self._end.get("status") or "")
        reason = {
            "completed": FinishReason.STOP,
            "max_output_tokens": FinishReason.LENGTH,
            "content_filter": FinishReason.CONTENT_FILTER,
            "cancelled": FinishReason.ABORTED,
        }.get(raw, FinishReason.UNKNOWN)
        out = self._miner.close(len(self._calls), reason)
        detail = ""
        if reason is FinishReason.STOP:
            if self._refused:
                reason = FinishReason.REFUSAL
            elif self._calls or any(isinstance(e, CallDelta) for e in out):
                reason = FinishReason.TOOL_CALLS
            elif self._miner.problem:
                reason, detail = FinishReason.MALFORMED_CALL, self._miner.problem
        return [*out, Finished(reason, raw, _usage(self._end.get("usage") or {}), detail=detail)]


def _usage(usage: JsonObject) -> Usage:
    return Usage(
        input_tokens=usage.get("input_tokens") or 0,
        output_tokens=usage.get("output_tokens") or 0,
        cache_read_input_tokens=(usage.get("input_tokens_details") or {}).get("cached_tokens") or 0,
        reasoning_tokens=(usage.get("output_tokens_details") or {}).get("reasoning_tokens") or 0,
    )


class ResponsesWire:
    def __init__(self, link: Link) -> None:
        self._link = link

    def call(self, request: ModelRequest, info: ModelInfo, quirks: frozenset[str]) -> HttpCall:
        sampling = {k: v for k, v in self._link.sampling.items() if k == "top_p"}
        url = versioned(self._link.base_url, "/responses")
        return HttpCall(
            url, encode(request, info, quirks) | sampling, headers(self._link), asked=self._link.asked(info.name)
        )

    def decoder(self, request: ModelRequest, asked: Asked, quirks: frozenset[str]) -> Decode:
        return Decode(request, asked)

    def learn(self, error: ModelError, request: ModelRequest, quirks: frozenset[str]) -> str:
        if error.status not in (400, 422):
            return ""
        text = f"{error} {error.raw}".lower()
        pairs = (("no_include", "encrypted_content"), ("no_temperature", "temperature"), ("no_reasoning", "reasoning"))
        return next((quirk for quirk, word in pairs if word in text), "")


def headers(link: Link) -> dict[str, str]:
    if "api-version=" in link.base_url:
        return {"api-key": link.key} if link.key else {}
    return {"authorization": f"Bearer {link.key}"} if link.key else {}


async def model(name: str, link: Link) -> Model:
    info = replace(known(NAME, name), schema="tools")
    return WireModel(replace(info, window=link.num_ctx or info.window), ResponsesWire(link), link)


async def models(link: Link) -> list[ModelInfo]:
    return await listed(link, NAME, headers(link))


PROVIDER = Provider(
    NAME,
    "https://api.openai.com/v1",
    model,
    models,
    key_names=("OPENAI_API_KEY",),
    needs_key=True,
    url_names=("OPENAI_BASE_URL",),
    roles={"fast": "gpt-5-mini", "thinking": "gpt-5"},
)
