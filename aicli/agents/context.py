"""Token estimate, and compaction that must shrink or stop and never splits a call from its answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence

from aicli.content.messages import Message
from aicli.content.parts import (
    FunctionCallPart,
    FunctionResponsePart,
    InlineDataPart,
    TextPart,
    ThinkingPart,
)
from aicli.content.request import ToolSpec
from aicli.errors import ContextTooLong

Summarise = Callable[[Sequence[Message]], Awaitable[str]]
KEEP_SHARE = 0.35
SUMMARY_HEAD = "Summary of the conversation so far (older messages were replaced by it):\n\n"


def tokens(text: str) -> int:
    """A cautious estimate: about 3.6 bytes of UTF-8 a token, which holds for English, code and Chinese alike."""
    return int(len(text.encode("utf-8", "replace")) / 3.6) + 1 if text else 0


def message_tokens(message: Message) -> int:
    total = 4
    for part in message.parts:
        match part:
            case TextPart(text=text) | ThinkingPart(text=text):
                total += tokens(text)
            case FunctionCallPart():
                total += tokens(part.name) + tokens(part.raw or json.dumps(part.args, ensure_ascii=False)) + 8
            case FunctionResponsePart():
                total += 8 + sum(tokens(p.text) if isinstance(p, TextPart) else 1_000 for p in part.content)
            case InlineDataPart():
                total += 1_000
            case _:
                total += tokens(part.model_dump_json())
    return total


def specs_tokens(specs: Sequence[ToolSpec]) -> int:
    return sum(tokens(s.name + s.description + json.dumps(s.parameters)) for s in specs)


def request_tokens(instructions: str, specs: Sequence[ToolSpec], history: Sequence[Message]) -> int:
    """What a request with all of this would take."""
    return tokens(instructions) + specs_tokens(specs) + sum(map(message_tokens, history))


class Meter:
    """The history's tokens, counted once a message, so that a turn costs the same however long the history is."""

    def __init__(self) -> None:
        self._counted: list[tuple[Message, int]] = []
        self._total = 0

    def count(self, history: Sequence[Message]) -> int:
        same = min(len(self._counted), len(history))
        if same and self._counted[same - 1][0] is not history[same - 1]:
            self._counted, self._total, same = [], 0, 0
        while len(self._counted) > same:
            self._total -= self._counted.pop()[1]
        for message in history[same:]:
            number = message_tokens(message)
            self._counted.append((message, number))
            self._total += number
        return self._total


def cut_points(history: Sequence[Message]) -> list[int]:
    """Where the history may be cut: never between a call and its answer."""
    return [i for i, m in enumerate(history) if m.role != "tool"]


async def compacted(history: list[Message], target: int, summarise: Summarise | None) -> tuple[list[Message], int, str]:
    """(the new prefix, how many old messages it replaces, the summary). Blocks while the model writes the summary.

    First by a summary of the model's; if that fails or there is none, by leaving out old tool output.
    Raises ContextTooLong when neither makes the history smaller.
    """
    before = sum(map(message_tokens, history))
    keep = max(int(target * KEEP_SHARE), 200)
    tail, start = 0, len(history)
    for i in range(len(history) - 1, 0, -1):
        tail += message_tokens(history[i])
        if tail > keep:
            break
        if history[i].role != "tool":
            start = i
    if start == len(history):
        points = [p for p in cut_points(history) if p > 0]
        start = points[-1] if points else len(history)
    if summarise is not None and 0 < start < len(history):
        prefix, summary = await _summary(history, start, summarise)
        if prefix is not None and _shrinks(prefix, history[:start]):
            return prefix, start, summary
    elided = [elide(m) for m in history[:start]]
    if _shrinks(elided, history[:start]):
        return elided, start, ""
    everything = [elide(m, limit=2_000) for m in history]
    if sum(map(message_tokens, everything)) < before * 0.9:
        return everything, len(history), ""
    raise ContextTooLong(
        f"the conversation takes about {before} tokens and can't be made smaller",
        hint="Start a new one, give a smaller task, or use a model with a larger window",
    )


async def _summary(history: list[Message], start: int, summarise: Summarise) -> tuple[list[Message] | None, str]:
    text = (await summarise(history[:start])).strip()
    if not text:
        return None, ""
    return [Message.user(SUMMARY_HEAD + text)], text


def _shrinks(new: Sequence[Message], old: Sequence[Message]) -> bool:
    return sum(map(message_tokens, new)) < sum(map(message_tokens, old)) * 0.9


def elide(message: Message, limit: int = 200) -> Message:
    """The same message with long tool output and long arguments replaced by a note of their length."""
    parts = []
    for part in message.parts:
        if isinstance(part, FunctionResponsePart) and len(part.text) > limit:
            note = f"{part.text[: limit // 2]}\n[… older output of {len(part.text)} characters left out …]"
            part = part.model_copy(update={"content": (TextPart(text=note),)})
        elif isinstance(part, FunctionCallPart):
            args = {k: _short(v, limit) for k, v in part.args.items()}
            part = part.model_copy(update={"args": args})
        elif isinstance(part, InlineDataPart):
            part = TextPart(text=f"[{part.mime} left out]")
        parts.append(part)
    return message.model_copy(update={"parts": tuple(parts)})


def _short(value: object, limit: int) -> object:
    if isinstance(value, str) and len(value) > 4 * limit:
        return value[:limit] + f"… ({len(value)} characters)"
    return value
