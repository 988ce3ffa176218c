"""Kimi K3: `<|open|>NAME ATTRIBUTES<|sep|>…<|close|>NAME<|sep|>` for thinking, answer, calls and their arguments."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from typing import Any

from aicli.content.parts import JsonObject
from aicli.models.dialects.calls import Tools
from aicli.models.dialects.reader import Family, Read, Reader, wait_for
from aicli.models.dialects.tags import Form, attributes, read_call
from aicli.models.dialects.typed import convert

_OPEN = re.compile(r"\s*(\w+)((?:[^<]|<(?!\|))*?)<\|sep\|>", re.S)


def _head(head: str) -> tuple[str, Mapping[str, str]]:
    found = attributes(head)
    return found.get("key", head.strip()), found


def _value(text: str, given: Mapping[str, str], schema: JsonObject | None) -> Any:
    """The type attribute decides; a wrong or missing one leaves it to the schema."""
    kind = given.get("type")
    return convert(text, {"type": kind} if kind else schema)


_FORM = Form(
    call_open=("<|open|>call",),
    call_close=("<|close|>call<|sep|>",),
    param_open=("<|open|>argument",),
    param_close=("<|close|>argument<|sep|>",),
    block_open=("<|open|>tools<|sep|>",),
    block_close=("<|close|>tools<|sep|>", "<|close|>message<|sep|>"),
    head_ends=("<|sep|>",),
    key=_head,
    trim=False,
    value=_value,
)


def _open(reader: Reader, opener: str) -> Generator[None, None, bool]:
    match = yield from wait_for(reader.source, _OPEN, 400)
    if match is None:
        return False
    kind, rest = match.groups()
    text = opener + reader.source.take(match.end())
    if kind == "call" and reader.tools:
        found = attributes(rest)
        yield from read_call(reader, _FORM, found.get("tool", found.get("name", "")), text, "kimi_k3")
        return True
    if kind == "call":
        reader.plain(text)
        return True
    reader.mark()
    if kind in ("think", "response"):
        reader.thinking = kind == "think"
        reader.thought = False
    return True


def _close(reader: Reader, opener: str) -> Generator[None, None, bool]:
    match = yield from wait_for(reader.source, _OPEN, 80)
    if match is None:
        return False
    reader.source.take(match.end())
    reader.mark()
    if match.group(1) == "think":
        if reader.thinking:
            reader.thinking = reader.thought = reader.began = False
        else:
            reader.relabel()
    return True


def _openers(tools: Tools) -> Mapping[str, Read]:
    return {"<|open|>": _open, "<|close|>": _close}


FAMILIES = (Family("kimi_k3", _openers, aliases=("k3", "kimik3"), always=True),)
