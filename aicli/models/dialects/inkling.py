"""Inkling: typed blocks for thinking, text and calls."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects.calls import Tools
from aicli.models.dialects.hermes import settle
from aicli.models.dialects.reader import Family, Read, Reader, at_once, wait_for

_JSON = re.compile(r"\s*[\[{]")
_MODEL = "<|message_model|>"
_INVOKE = "<|content_invoke_tool_json|>"
_ENDS = ("<|end_message|>", "<|content_model_end_sampling|>")


def _kind(thinking: bool) -> Read:
    @at_once
    def read(reader: Reader, opener: str) -> bool:
        reader.mark()
        reader.thinking = thinking
        reader.thought = False
        return True

    return read


_HEADER = re.compile(r"\s*([^\s<]{0,128})\s*<\|content_invoke_tool_json\|>\s*(?=\{)")


def _message(reader: Reader, opener: str) -> Generator[None, None, bool]:
    match = yield from wait_for(reader.source, _HEADER, 200)
    if match is None or not reader.tools:
        reader.mark()
        return True
    text = opener + reader.source.take(match.end())
    return (yield from _json(reader, text))


def _call(reader: Reader, opener: str) -> Generator[None, None, bool]:
    if not (yield from wait_for(reader.source, _JSON, 32)):
        return False
    return (yield from _json(reader, opener))


def _json(reader: Reader, text: str) -> Generator[None, None, bool]:
    body, ended_by = yield from reader.framed_json(_ENDS, (_MODEL, _INVOKE))
    settle(reader, body, bool(ended_by), "inkling", text + body + ended_by)
    return True


def _openers(tools: Tools) -> Mapping[str, Read]:
    table: dict[str, Read] = {
        "<|content_thinking|>": _kind(True),
        "<|content_text|>": _kind(False),
        _MODEL: _message,
        **dict.fromkeys(_ENDS, _kind(False)),
    }
    if tools:
        table |= {_INVOKE: _call, **{f"{name}{_INVOKE}": _call for name in tools.schemas}}
    return table


FAMILIES = (Family("inkling", _openers, always=True),)
