"""StreamEvent: what a reply is while it comes; Assembler folds the events into a Message."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from aicli import late
from aicli.content.messages import Message
from aicli.content.parts import ContentPart, FunctionCallPart, Meta, TextPart, ThinkingPart
from aicli.content.request import FinishReason, Usage


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str
    meta: Meta | None = None


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of thinking. A delta with `meta` closes its block: the next one starts a new part."""

    text: str
    meta: Meta | None = None


@late.dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a call. `index` tells calls of one reply apart; `args_json` fragments are joined; `args` is a whole object.

    `dialect` is set for a call that was written as text; `raw` is its text where the arguments could not be read.
    """

    index: int
    id: str = ""
    name: str = ""
    args_json: str = ""
    args: dict[str, Any] | None = None
    meta: Meta | None = None
    dialect: str = ""
    raw: str = ""


@late.dataclass(frozen=True, slots=True)
class PartAdded:
    """A whole part of a kind that has no delta (images, code run by the provider)."""

    part: ContentPart


@late.dataclass(frozen=True, slots=True)
class Relabelled:
    """The text so far was thinking."""


@late.dataclass(frozen=True, slots=True)
class Restarted:
    """The server began the message anew: everything so far is void."""


@dataclass(frozen=True, slots=True)
class Finished:
    reason: FinishReason
    raw: str = ""
    usage: Usage = Usage()
    meta: Meta | None = None
    detail: str = ""


StreamEvent = TextDelta | ThinkingDelta | CallDelta | PartAdded | Relabelled | Restarted | Finished


@late.dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    json: list[str] = field(default_factory=list)
    args: dict[str, Any] | None = None
    meta: Meta = field(default_factory=dict)
    raw: str = ""
    dialect: str = ""

    def part(self) -> FunctionCallPart:
        args, raw = self.args, self.raw
        if args is None:
            text = "".join(self.json)
            args, failed = read_arguments(text)
            raw = raw or failed
        if _deep(args, DEEPEST):
            args, raw = {}, raw or "".join(self.json)[:2000] or "arguments nested too deeply"
        return FunctionCallPart(id=self.id, name=self.name, args=args, raw=raw, meta=self.meta)


DEEPEST = 100
"""Levels of lists and objects in arguments; what goes deeper can't be kept in the log and is no call."""


def _deep(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels <= 0 or any(_deep(item, levels - 1) for item in inner if isinstance(item, (dict, list)))


def new_id() -> str:
    """An id for a call that came without one, unlike any other of the session."""
    return f"call_{secrets.token_hex(6)}"


def read_arguments(text: str) -> tuple[dict[str, Any], str]:
    """Arguments sent as JSON text: (object, "") or ({}, the text that is no JSON object). A string is unwrapped once."""
    if not text.strip():
        return {}, ""
    try:
        value = json.loads(text)
        if isinstance(value, str):
            value = json.loads(value) if value.strip() else {}
    except (ValueError, RecursionError):
        return {}, text
    if value is None:
        return {}, ""
    return (value, "") if isinstance(value, dict) else ({}, text)


class Assembler:
    """Folds StreamEvents into one model Message. Order of parts is the order in which they began."""

    def __init__(self, provider: str = "") -> None:
        self.provider = provider
        self.finish: Finished | None = None
        self._reset()

    def _reset(self) -> None:
        self._parts: list[Any] = []  # ("text"|"thinking", [str], meta) lists, _Call, or a whole part
        self._calls: dict[int, _Call] = {}

    def _run(self, kind: str, text: str, meta: Meta | None) -> None:
        last = self._parts[-1] if self._parts else None
        if not (isinstance(last, list) and last[0] == kind and not last[2]):
            if not text and not meta:
                return
            last = [kind, [], {}]
            self._parts.append(last)
        if text:
            last[1].append(text)
        if meta:
            last[2] = meta

    def feed(self, event: StreamEvent) -> None:
        match event:
            case TextDelta(text, meta):
                self._run("text", text, meta)
            case ThinkingDelta(text, meta):
                self._run("thinking", text, meta)
            case CallDelta():
                call = self._calls.get(event.index)
                if call is None:
                    call = self._calls[event.index] = _Call()
                    self._parts.append(call)
                call.id = call.id or event.id
                call.name = call.name or event.name
                call.raw = call.raw or event.raw
                call.dialect = call.dialect or event.dialect
                if event.args_json:
                    call.json.append(event.args_json)
                if event.args is not None:
                    call.args = event.args
                if event.meta:
                    call.meta = {**call.meta, **event.meta}
            case PartAdded(part):
                self._parts.append(part)
            case Relabelled():
                for part in self._parts:
                    if isinstance(part, list):
                        part[0] = "thinking"
            case Restarted():
                self._reset()
            case Finished():
                self.finish = event

    def call_dialects(self, message: Message) -> dict[str, str]:
        """Dialect by call id in `message`, for the calls that were recovered from text."""
        calls = [part for part in self._parts if isinstance(part, _Call)]
        return {part.id: call.dialect for call, part in zip(calls, message.calls, strict=True) if call.dialect}

    def message(self) -> Message:
        """The message so far. Ids that the server left out are minted, and one that it gave twice."""
        parts: list[ContentPart] = []
        taken: set[str] = set()
        for part in self._parts:
            if isinstance(part, _Call):
                part.id = new_id() if part.id in ("", *taken) else part.id
                taken.add(part.id)
                parts.append(part.part())
            elif isinstance(part, list):
                kind, texts, meta = part
                make = TextPart if kind == "text" else ThinkingPart
                parts.append(make(text="".join(texts), meta=meta))
            else:
                parts.append(part)
        return Message(role="model", parts=tuple(parts), provider=self.provider)
