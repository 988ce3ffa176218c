"""Message, and the law of histories: no call without an answer, no answer without its call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Literal

from aicli.content.parts import ContentPart, FunctionCallPart, FunctionResponsePart, TextPart, ThinkingPart, Value
from aicli.content.value import adapter

Role = Literal["user", "model", "tool"]


class Message(Value):
    """One entry of the history. The system text is an argument of the request, never a message.

    `provider` names who made a model message, so that opaque `meta` goes back only there.
    """

    role: Role
    parts: tuple[ContentPart, ...]
    provider: str = ""

    @property
    def text(self) -> str:
        return "".join(p.text for p in self.parts if isinstance(p, TextPart))

    @property
    def thinking(self) -> str:
        return "".join(p.text for p in self.parts if isinstance(p, ThinkingPart))

    @property
    def calls(self) -> tuple[FunctionCallPart, ...]:
        return tuple(p for p in self.parts if isinstance(p, FunctionCallPart))

    @property
    def responses(self) -> tuple[FunctionResponsePart, ...]:
        return tuple(p for p in self.parts if isinstance(p, FunctionResponsePart))

    @classmethod
    def user(cls, text: str) -> Message:
        return cls(role="user", parts=(TextPart(text=text),))

    @classmethod
    def model(cls, text: str) -> Message:
        return cls(role="model", parts=(TextPart(text=text),))


def dump_history(history: Sequence[Message]) -> str:
    """The history as JSON text."""
    return json.dumps([message.model_dump() for message in history], ensure_ascii=False, separators=(",", ":"))


def load_history(text: str) -> list[Message]:
    """Reads `dump_history` back. Raises pydantic's ValidationError."""
    return answered(adapter(list[Message]).validate_json(text))


def open_calls(history: Sequence[Message]) -> tuple[FunctionCallPart, ...]:
    """The calls that nobody has answered yet, in order."""
    waiting: dict[str, FunctionCallPart] = {}
    for message in history:
        for part in message.parts:
            if isinstance(part, FunctionCallPart):
                waiting[part.id] = part
            elif isinstance(part, FunctionResponsePart):
                waiting.pop(part.id, None)
    return tuple(waiting.values())


def refusal(call: FunctionCallPart, why: str) -> FunctionResponsePart:
    """An error answer to a call that did not run."""
    return FunctionResponsePart(id=call.id, name=call.name, content=(TextPart(text=why),), is_error=True)


def answered(history: Iterable[Message], why: str = "interrupted: the run ended before this call did") -> list[Message]:
    """The same history with every call answered directly after its message, in call order, and orphan answers dropped.

    No two calls have one id: of those that had, the later ones are renamed, with their answers.
    """
    messages = list(history)
    result: list[Message] = []
    ids: set[str] = set()
    i = 0
    while i < len(messages):
        message = messages[i]
        i += 1
        if message.role == "tool":
            continue  # an orphan: answers are taken with their calls below
        calls = message.calls
        if not calls:
            result.append(message)
            continue
        found: dict[str, list[FunctionResponsePart]] = {}
        while i < len(messages) and messages[i].role == "tool":
            for response in messages[i].responses:
                found.setdefault(response.id, []).append(response)
            i += 1
        own = [_unused(call.id, ids) for call in calls]
        if own != [call.id for call in calls]:
            message = _renamed(message, own)
        result.append(message)
        several = len({c.id for c in calls}) < len(calls)
        said = [found[c.id].pop(0 if several else -1) if found.get(c.id) else None for c in calls]
        pairs = zip(message.calls, said, strict=True)
        parts = (refusal(c, why) if r is None else r.model_copy(update={"id": c.id}) for c, r in pairs)
        result.append(Message(role="tool", parts=tuple(parts)))
    return result


def _unused(name: str, ids: set[str]) -> str:
    """The name, or one made of it that is not among `ids`, to which it is added."""
    new, n = name, 2
    while new in ids:
        new, n = f"{name}_{n}", n + 1
    ids.add(new)
    return new


def _renamed(message: Message, ids: Iterable[str]) -> Message:
    fresh = iter(ids)
    parts = (p.model_copy(update={"id": next(fresh)}) if isinstance(p, FunctionCallPart) else p for p in message.parts)
    return message.model_copy(update={"parts": tuple(parts)})
