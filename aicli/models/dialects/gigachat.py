"""GigaChat 3: a message of the role `function call`, or one token before JSON."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from aicli.models.dialects.calls import Tools
from aicli.models.dialects.hermes import between
from aicli.models.dialects.reader import Family, Read, Reader


def _openers(tools: Tools) -> Mapping[str, Read]:
    again = ("<|message_sep|>", "<|function_call|>")
    read = between(("</s>", "<|message_sep|>"), "gigachat", r"\s*", again)
    return {
        "function call<|role_sep|>": read,
        "<|function_call|>": between(("</s>", "<|message_sep|>"), "gigachat", r"\s*", ("<|function_call|>",)),
        "<|message_sep|>": _message_sep,
    }


def _message_sep(reader: Reader, opener: str) -> Generator[None, None, bool]:
    ahead = (yield from reader.source.peek(48)).lstrip()
    if ahead and not ahead.startswith(("function call", "<|", "</s>")):
        return False
    reader.mark()
    return True


FAMILIES = (Family("gigachat", _openers, aliases=("gigachat3", "gigachat3_1")),)
