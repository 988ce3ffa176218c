"""Google Gemini: generateContent over server-sent events."""

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
from aicli.content.stream import CallDelta, Finished, PartAdded, StreamEvent, TextDelta, ThinkingDelta
from aicli.errors import BadRequest, EmptyReply, MalformedReply, ModelError, StreamCut
from aicli.models.base import Embedder, Model, ModelInfo
from aicli.models.faults import Asked, from_event
from aicli.models.http import HttpCall
from aicli.models.known import known
from aicli.models.mining import Miner
from aicli.models.narrow import narrow
from aicli.models.provider import Link, Provider, versioned
from aicli.models.texts import arguments
from aicli.models.wire import WireModel, ask_again

NAME = "gemini"
_NO_SIGNATURE = "skip_thought_signature_validator"
"""The documented stand-in for calls that another model made."""
_BUDGETS = {"low": 1_024, "medium": 8_192, "high": 24_576}
_OLD_NAMES = (
    (r"gemini-(1\.\d-)?pro(-latest|-\d+)?", "gemini-2.5-pro"),
    (r"gemini-((1\.5|2\.0)-)?flash(-8b|-exp|-latest|-\d+)?", "gemini-2.5-flash"),
)
_FILTERED = ("SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII", "IMAGE_SAFETY")
_MALFORMED = ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")
_REASONS = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    **dict.fromkeys(_FILTERED, FinishReason.CONTENT_FILTER),
    **dict.fromkeys(_MALFORMED, FinishReason.MALFORMED_CALL),
}


def encode(request: ModelRequest, info: ModelInfo, quirks: frozenset[str], sampling: JsonObject) -> JsonObject:
    """The body of POST …:streamGenerateContent."""
    named = {c.id for m in request.messages for c in m.calls if m.provider == NAME and c.meta.get(NAME, {}).get("id")}
    contents = [_content(m, quirks, named) for m in request.messages]
    body: JsonObject = {"contents": [c for c in contents if c["parts"]]}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_tool(t, quirks) for t in request.tools]}]
        if request.tool_choice != "auto":
            config: JsonObject = {"mode": "NONE" if request.tool_choice == "none" else "ANY"}
            if request.tool_choice not in ("none", "required"):
                config["allowedFunctionNames"] = [request.tool_choice]
            body["toolConfig"] = {"functionCallingConfig": config}
    config = {new: sampling[old] for old, new in (("top_p", "topP"), ("top_k", "topK")) if old in sampling}
    if request.temperature is not None:
        config["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        config["maxOutputTokens"] = request.max_output_tokens
    if info.thinking and "no_thinking" not in quirks:
        config["thinkingConfig"] = _thinking(request.thinking, info.name)
    if request.output_schema is not None and "no_schema" not in quirks and not request.tools:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = request.output_schema
    if config:
        body["generationConfig"] = config
    return body


def _thinking(level: str | None, model: str) -> JsonObject:
    if level is None:
        return {"includeThoughts": True}
    if re.match(r"gemini-([3-9]|\d\d)", model):
        return {"thinkingLevel": "minimal" if level == "off" else level, "includeThoughts": level != "off"}
    least = 128 if "pro" in model else 0
    return {"thinkingBudget": _BUDGETS.get(level, least), "includeThoughts": level != "off"}


def _tool(tool: ToolSpec, quirks: frozenset[str]) -> JsonObject:
    out: JsonObject = {"name": tool.name, "description": tool.description}
    if not tool.parameters.get("properties"):
        return out
    if "narrow_schema" in quirks:
        return {**out, "parameters": narrow(tool.parameters)}
    return {**out, "parametersJsonSchema": tool.parameters}


def _content(message: Message, quirks: frozenset[str], named: set[str]) -> JsonObject:
    """`named` are the ids that the server itself gave, which it wants back; other calls are matched by their order."""
    own = message.provider == NAME
    parts: list[JsonObject] = []
    for part in message.parts:
        parts.extend(_parts(part, own and "no_signatures" not in quirks, named))
    first = next((p for p in parts if "functionCall" in p), None)
    if first is not None and "thoughtSignature" not in first and (not own or "no_signatures" in quirks):
        first["thoughtSignature"] = _NO_SIGNATURE
    return {"role": "model" if message.role == "model" else "user", "parts": parts}


def _parts(part: Any, own: bool, named: set[str]) -> list[JsonObject]:
    kept = part.meta.get(NAME, {}) if own and hasattr(part, "meta") else {}
    sign = {"thoughtSignature": kept["signature"]} if "signature" in kept else {}
    match part:
        case TextPart():
            return [{"text": part.text, **sign}] if part.text or sign else []
        case ThinkingPart():
            return [{"text": part.text, "thought": True, **sign}] if sign else []
        case FunctionCallPart():
            id_ = {"id": part.id} if part.id in named else {}
            return [{"functionCall": {**id_, "name": part.name, "args": arguments(part)}, **sign}]
        case FunctionResponsePart():
            id_ = {"id": part.id} if part.id in named else {}
            response = {"error" if part.is_error else "output": part.text}
            shown = [p for p in part.content if isinstance(p, InlineDataPart)]
            answer: JsonObject = {"functionResponse": {**id_, "name": part.name, "response": response}}
            return [answer, *(b for p in shown for b in _parts(p, own, named))]
        case InlineDataPart():
            return [{"inlineData": {"mimeType": part.mime, "data": part.data}}]
        case FileDataPart():
            return [{"fileData": {"mimeType": part.mime, "fileUri": part.uri}}]
        case _:
            return []


class Decode:
    """Responses of one stream to events. Calls come whole."""

    def __init__(self, request: ModelRequest, asked: Asked) -> None:
        self._asked = asked
        self._turn = len(request.messages)
        self._miner = Miner(request, asked)
        self._calls = 0
        self._spoke = False
        self._finish = ""
        self._blocked = ""
        self._detail = ""
        self._usage: JsonObject = {}

    def feed(self, value: Any) -> Sequence[StreamEvent]:
        if not isinstance(value, dict):
            raise MalformedReply("the server sent an event that is no object", raw=str(value)[:500])
        if value.get("error"):
            raise from_event(self._asked, value["error"])
        self._usage = value.get("usageMetadata") or self._usage
        feedback = value.get("promptFeedback") or {}
        self._blocked = str(feedback.get("blockReason") or self._blocked)
        candidates = value.get("candidates")
        if not candidates:
            return ()
        candidate = candidates[0]
        self._finish = str(candidate.get("finishReason") or self._finish)
        self._detail = str(candidate.get("finishMessage") or self._detail)
        out: list[StreamEvent] = []
        for part in (candidate.get("content") or {}).get("parts") or ():
            out.extend(self._part(part))
        return out

    def waiting(self) -> str:
        return self._miner.waiting()

    def plain(self, value: Any) -> str:
        """Nothing here is text alone: each response may end the reply, and its pieces are large anyway."""
        return ""

    def text(self, chunk: str) -> Sequence[StreamEvent]:
        return self._miner.text(chunk)

    def _part(self, part: JsonObject) -> Sequence[StreamEvent]:
        signature = part.get("thoughtSignature")
        kept: JsonObject = {"signature": signature} if signature else {}
        if "functionCall" in part:
            self._spoke = True
            return (*self._miner.flush(), self._call(part["functionCall"], kept))
        text = part.get("text")
        if text is None:
            return (PartAdded(_inline(part["inlineData"])),) if "inlineData" in part else ()
        self._spoke = self._spoke or bool(text)
        meta = {NAME: kept} if kept else None
        if part.get("thought"):
            return (ThinkingDelta(text, meta),) if text or meta else ()
        if not meta:
            return self._miner.text(text) if text else ()
        signed = TextDelta(text, meta) if text else PartAdded(TextPart(text="", meta=meta))
        return (*self._miner.flush(), signed)

    def _call(self, call: JsonObject, kept: JsonObject) -> CallDelta:
        index, self._calls = self._calls, self._calls + 1
        if call.get("id"):
            kept = {**kept, "id": True}
        args = call.get("args") if isinstance(call.get("args"), dict) else {}
        for piece in call.get("partialArgs") or ():
            args = {**(args or {}), str(piece.get("jsonPath", "")).removeprefix("$."): _partial(piece)}
        id_ = str(call.get("id") or f"{NAME}/{self._turn}/{index}")
        return CallDelta(index, id_, str(call.get("name") or ""), args=args, meta={NAME: kept} if kept else None)

    def close(self) -> Sequence[StreamEvent]:
        if self._blocked and not self._finish:
            return [
                Finished(FinishReason.CONTENT_FILTER, self._blocked, self._counted(), detail="the prompt was blocked")
            ]
        if not self._finish:
            raise StreamCut("the reply broke off before its end mark", hint="Try again.")
        if not self._spoke and self._finish in ("STOP", "MALFORMED_RESPONSE"):
            raise EmptyReply(f"{self._asked.provider} sent an empty reply ({self._finish})", hint="Try again.")
        reason = _REASONS.get(self._finish, FinishReason.UNKNOWN)
        out = self._miner.close(self._calls, reason)
        if reason is FinishReason.STOP and (self._calls or any(isinstance(e, CallDelta) for e in out)):
            reason = FinishReason.TOOL_CALLS
        elif reason is FinishReason.STOP and self._miner.problem:
            reason, self._detail = FinishReason.MALFORMED_CALL, self._miner.problem
        return [*out, Finished(reason, self._finish, self._counted(), detail=self._detail)]

    def _counted(self) -> Usage:
        thoughts = self._usage.get("thoughtsTokenCount") or 0
        return Usage(
            input_tokens=(self._usage.get("promptTokenCount") or 0) + (self._usage.get("toolUsePromptTokenCount") or 0),
            output_tokens=(self._usage.get("candidatesTokenCount") or 0) + thoughts,
            cache_read_input_tokens=self._usage.get("cachedContentTokenCount") or 0,
            reasoning_tokens=thoughts,
        )


def _inline(data: JsonObject) -> InlineDataPart:
    return InlineDataPart(mime=str(data.get("mimeType") or ""), data=str(data.get("data") or ""))


def _partial(piece: JsonObject) -> Any:
    keys = ("stringValue", "numberValue", "boolValue", "nullValue")
    return next((piece[k] for k in keys if k in piece), None)


class GeminiWire:
    def __init__(self, link: Link) -> None:
        self._link = link

    def call(self, request: ModelRequest, info: ModelInfo, quirks: frozenset[str]) -> HttpCall:
        url = versioned(self._link.base_url, f"/models/{info.name}:streamGenerateContent", "/v1beta")
        url += ("&" if "?" in url else "?") + "alt=sse"
        body = encode(request, info, quirks, dict(self._link.sampling))
        return HttpCall(url, body, headers(self._link), asked=self._link.asked(info.name))

    def decoder(self, request: ModelRequest, asked: Asked, quirks: frozenset[str]) -> Decode:
        return Decode(request, asked)

    def learn(self, error: ModelError, request: ModelRequest, quirks: frozenset[str]) -> str:
        if not isinstance(error, BadRequest):
            return ""
        text = f"{error} {error.raw}".lower()
        if "parametersjsonschema" in text or ("schema" in text and request.tools and "response" not in text):
            return "narrow_schema"
        if "signature" in text:
            return "no_signatures"
        if "thinking" in text:
            return "no_thinking"
        return "no_schema" if "responsejsonschema" in text or "response_json_schema" in text else ""


def headers(link: Link) -> dict[str, str]:
    return {"x-goog-api-key": link.key} if link.key else {}


def modern(name: str) -> str:
    """Today's name for a model name of old."""
    name = name.removeprefix("models/")
    return next((new for old, new in _OLD_NAMES if re.fullmatch(old, name)), name)


async def model(name: str, link: Link) -> Model:
    current = modern(name)
    note = f"{name} is gone; {current} answers in its place" if current != name.removeprefix("models/") else ""
    info = replace(known(NAME, current), schema="alone", note=note)
    return WireModel(replace(info, window=link.num_ctx or info.window), GeminiWire(link), link)


async def models(link: Link) -> list[ModelInfo]:
    """What GET /v1beta/models lists. Raises ModelError."""
    call = HttpCall(versioned(link.base_url, "/models", "/v1beta"), None, headers(link), "GET", asked=link.asked())
    found = await link.http.listing(call)
    rows = [(str(m["name"]).removeprefix("models/"), m.get("inputTokenLimit")) for m in found.get("models") or ()]
    return [replace(known(NAME, name), window=window) for name, window in rows]


class GeminiEmbedder:
    def __init__(self, info: ModelInfo, link: Link) -> None:
        self.info = info
        self._link = link

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        named = f"models/{self.info.name}"
        body = {"requests": [{"model": named, "content": {"parts": [{"text": t}]}} for t in texts]}
        url = versioned(self._link.base_url, f"/{named}:batchEmbedContents", "/v1beta")
        reply = await ask_again(
            self._link, HttpCall(url, body, headers(self._link), asked=self._link.asked(self.info.name))
        )
        rows = reply.get("embeddings") if isinstance(reply, dict) else None
        if not isinstance(rows, list) or len(rows) != len(texts):
            raise MalformedReply(f"{self.info.id} gave no vector for each text", raw=str(reply)[:500])
        return [row["values"] for row in rows]


async def embedder(name: str, link: Link) -> Embedder:
    return GeminiEmbedder(ModelInfo(NAME, name), link)


PROVIDER = Provider(
    NAME,
    "https://generativelanguage.googleapis.com/v1beta",
    model,
    models,
    embedder,
    key_names=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    needs_key=True,
    url_names=("GEMINI_BASE_URL",),
    roles={"fast": "gemini-2.5-flash", "thinking": "gemini-2.5-pro", "embedding": "gemini-embedding-001"},
    other_names=("google",),
)
