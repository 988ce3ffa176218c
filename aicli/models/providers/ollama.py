"""Ollama's own API: /api/chat, newline-delimited JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from aicli.content.messages import Message
from aicli.content.parts import JsonObject
from aicli.content.request import FinishReason, ModelRequest, Usage
from aicli.content.stream import CallDelta, Finished, StreamEvent
from aicli.errors import BadRequest, MalformedReply, ModelError, StreamCut
from aicli.models.base import Embedder, Model, ModelInfo
from aicli.models.faults import Asked, from_event
from aicli.models.http import HttpCall
from aicli.models.mining import Miner
from aicli.models.provider import Link, Provider, join
from aicli.models.texts import answer_text, arguments, cut_note, images, least_tokens, tools_as_text
from aicli.models.wire import WireModel, ask_again

DEFAULT_WINDOW = 32_768
"""Tokens, where nothing is set and the model can take as many: enough for agent work, small enough for most machines.

It is sent with every request, because the server's own default may be 2,048 and a change makes it load the model anew.
"""
_REASONS = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "load": FinishReason.STOP,
    "unload": FinishReason.STOP,
}


def encode(request: ModelRequest, info: ModelInfo, quirks: frozenset[str], sampling: JsonObject) -> JsonObject:
    """The body of POST /api/chat."""
    if "no_tools" in quirks:
        request = tools_as_text(request)
    options: JsonObject = {"num_ctx": request.num_ctx or info.window or DEFAULT_WINDOW, **sampling}
    if request.temperature is not None:
        options["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        options["num_predict"] = request.max_output_tokens
    messages = [{"role": "system", "content": request.system}] if request.system else []
    for message in request.messages:
        messages.extend(_messages(message))
    body: JsonObject = {"model": info.name, "messages": messages, "stream": True, "truncate": False, "shift": False}
    body["options"] = options
    if request.tools and request.tool_choice != "none":
        wanted = [t for t in request.tools if request.tool_choice in ("auto", "required", t.name)]
        body["tools"] = [
            {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
            for t in wanted
        ]
    if info.thinking and request.thinking is not None and "no_think" not in quirks:
        body["think"] = _think(request.thinking, info.name, quirks)
    if request.output_schema is not None and "tools" not in body:
        body["format"] = request.output_schema
    return body


def _think(level: str, model: str, quirks: frozenset[str]) -> bool | str:
    if "gpt-oss" in model and "think_bool" not in quirks:
        return "low" if level == "off" else level
    return level != "off"


def _messages(message: Message) -> list[JsonObject]:
    if message.role == "tool":
        out = []
        for r in message.responses:
            answer: JsonObject = {"role": "tool", "tool_name": r.name, "tool_call_id": r.id, "content": answer_text(r)}
            if found := images(r):
                answer["images"] = [i.data for i in found]
            out.append(answer)
        return out
    body: JsonObject = {"role": "user" if message.role == "user" else "assistant", "content": message.text}
    if message.role == "model":
        if message.thinking:
            body["thinking"] = message.thinking
        if message.calls:
            body["tool_calls"] = [
                {"id": c.id, "function": {"name": c.name, "arguments": arguments(c)}} for c in message.calls
            ]
    if found := images(message):
        body["images"] = [i.data for i in found]
    return [body]


class Decode:
    """Lines of one reply to events. `sent` is a low estimate of the tokens sent, to notice a cut input."""

    def __init__(self, request: ModelRequest, asked: Asked, sent: int = 0) -> None:
        self._miner = Miner(request, asked)
        self._turn = len(request.messages)
        self._asked = asked
        self._sent = sent
        self._calls = 0
        self._end: JsonObject | None = None

    def feed(self, value: Any) -> Sequence[StreamEvent]:
        if not isinstance(value, dict):
            raise MalformedReply("the server sent a line that is no object", raw=str(value)[:500])
        if value.get("error"):
            raise from_event(self._asked, value["error"])
        if value.get("done"):
            self._end = value
        message = value.get("message")
        if not message:
            return ()
        thinking, content, calls = message.get("thinking"), message.get("content"), message.get("tool_calls")
        if content and not thinking and not calls:
            return self._miner.text(content)
        out: list[StreamEvent] = []
        if thinking:
            out += self._miner.thinking(thinking)
        if content:
            out += self._miner.text(content)
        if calls:
            out += self._miner.flush()
            out += [self._call(c) for c in calls]
        return out

    def waiting(self) -> str:
        return self._miner.waiting()

    def plain(self, value: Any) -> str:
        """The text of a line that is nothing but text, else ""."""
        if value.__class__ is not dict or value.get("done") or "error" in value:
            return ""
        message = value.get("message") or {}
        if message.get("thinking") or message.get("tool_calls"):
            return ""
        return str(message.get("content") or "")

    def text(self, chunk: str) -> Sequence[StreamEvent]:
        return self._miner.text(chunk)

    def _call(self, call: JsonObject) -> CallDelta:
        function = call.get("function") or {}
        args = function.get("arguments")
        index, self._calls = self._calls, self._calls + 1
        name = str(function.get("name") or "")
        id_ = str(call.get("id") or f"call_{self._turn}_{index}")
        if isinstance(args, dict) or args is None:
            return CallDelta(index, id=id_, name=name, args=args or {})
        return CallDelta(index, id=id_, name=name, args_json=str(args))

    def close(self) -> Sequence[StreamEvent]:
        end = self._end
        if end is None:
            raise StreamCut("the reply broke off before its last line", hint="Try again.")
        raw = str(end.get("done_reason") or "")
        reason = _REASONS.get(raw, FinishReason.UNKNOWN if raw else FinishReason.STOP)
        out = self._miner.close(self._calls, reason)
        if reason is FinishReason.STOP and (self._calls or any(isinstance(e, CallDelta) for e in out)):
            reason = FinishReason.TOOL_CALLS
        read, written = int(end.get("prompt_eval_count") or 0), int(end.get("eval_count") or 0)
        detail = ""
        if reason is FinishReason.STOP and self._miner.problem:
            reason, detail = FinishReason.MALFORMED_CALL, self._miner.problem
        detail = cut_note(read, self._sent) or detail
        return [*out, Finished(reason, raw, Usage(input_tokens=read, output_tokens=written), detail=detail)]


class OllamaWire:
    def __init__(self, link: Link) -> None:
        self._link = link

    def call(self, request: ModelRequest, info: ModelInfo, quirks: frozenset[str]) -> HttpCall:
        body = encode(request, info, quirks, dict(self._link.sampling))
        url = join(self._link.base_url, "/api/chat")
        return HttpCall(url, body, _headers(self._link), framing="ndjson", asked=self._link.asked(info.name))

    def decoder(self, request: ModelRequest, asked: Asked, quirks: frozenset[str]) -> Decode:
        return Decode(request, asked, least_tokens(request))

    def learn(self, error: ModelError, request: ModelRequest, quirks: frozenset[str]) -> str:
        text = f"{error} {error.raw}".lower()
        if not isinstance(error, BadRequest):
            return ""
        if "does not support tools" in text:
            return "no_tools"
        if "does not support thinking" in text:
            return "no_think"
        return "think_bool" if "think value" in text or "invalid think" in text else ""


async def model(name: str, link: Link) -> Model:
    """Asks /api/show what the model can do; a server that does not answer that is taken as able to do all."""
    info = ModelInfo("ollama", name, window=link.num_ctx or DEFAULT_WINDOW, thinking=True, schema="alone")
    call = HttpCall(join(link.base_url, "/api/show"), {"model": name}, _headers(link), asked=link.asked(name))
    try:
        shown = await link.http.fetch(call, timeout=5)
    except ModelError:
        return WireModel(info, OllamaWire(link), link)
    can, most = capabilities(shown if isinstance(shown, dict) else {})
    info = replace(info, window=min(link.num_ctx or DEFAULT_WINDOW, most or 1 << 40))
    if can is not None:
        info = replace(
            info, thinking="thinking" in can, images="vision" in can, tools="native" if "tools" in can else "text"
        )
    lacks = frozenset({"no_tools"} if info.tools == "text" else ())
    return WireModel(info, OllamaWire(link), link, lacks, partial(loaded_window, link, name))


async def loaded_window(link: Link, name: str) -> int | None:
    """The context with which the model is loaded now, by /api/ps; None when it is not loaded. Raises ModelError."""
    call = HttpCall(join(link.base_url, "/api/ps"), None, _headers(link), method="GET", asked=link.asked(name))
    rows = (await link.http.fetch(call, timeout=2)).get("models") or ()
    names = (name, f"{name}:latest")
    return next((r.get("context_length") for r in rows if r.get("name") in names or r.get("model") in names), None)


def capabilities(shown: JsonObject) -> tuple[list[str] | None, int | None]:
    """Out of /api/show: what the model can do (None: the server is too old to say), and its largest window."""
    details = shown.get("model_info")
    found = [v for k, v in details.items() if k.endswith(".context_length")] if isinstance(details, dict) else []
    can = shown.get("capabilities")
    return can if isinstance(can, list) else None, next((int(v) for v in found if v), None)


async def models(link: Link) -> list[ModelInfo]:
    """The models that are installed, by /api/tags. Raises ModelError."""
    call = HttpCall(join(link.base_url, "/api/tags"), None, _headers(link), method="GET", asked=link.asked())
    found = await link.http.listing(call)
    return [ModelInfo("ollama", str(m.get("name") or m.get("model"))) for m in found.get("models") or ()]


class OllamaEmbedder:
    def __init__(self, info: ModelInfo, link: Link) -> None:
        self.info = info
        self._link = link

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        body = {"model": self.info.name, "input": list(texts), "truncate": True}
        url = join(self._link.base_url, "/api/embed")
        reply = await ask_again(
            self._link, HttpCall(url, body, _headers(self._link), asked=self._link.asked(self.info.name))
        )
        vectors = reply.get("embeddings") if isinstance(reply, dict) else None
        if not isinstance(vectors, list) or len(vectors) != len(texts):
            raise MalformedReply(f"{self.info.id} gave no vector for each text", raw=str(reply)[:500])
        return vectors


async def embedder(name: str, link: Link) -> Embedder:
    return OllamaEmbedder(ModelInfo("ollama", name), link)


def _headers(link: Link) -> dict[str, str]:
    return {"authorization": f"Bearer {link.key}"} if link.key else {}


PROVIDERS = (
    Provider(
        "ollama",
        "http://127.0.0.1:11434",
        model,
        models,
        embedder,
        key_names=("OLLAMA_API_KEY",),
        url_names=("OLLAMA_HOST",),
        roles={"fast": "qwen2.5-coder:7b", "thinking": "gpt-oss:20b", "embedding": "bge-m3"},
    ),
)
