"""PLaMo 3: name and JSON arguments between tokens that carry the model's name."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects.calls import Tools
from aicli.models.dialects.reader import Family, Read, Reader, dropped, wait_for
from aicli.models.dialects.source import Markers

_PLAMO = "<|plamo:{}:plamo|>"
_PLAMO_NAME = Markers((_PLAMO.format("end_tool_name"), _PLAMO.format("begin_tool_arguments"), "{"))


def _call(reader: Reader, opener: str) -> Generator[None, None, bool]:
    head, marker = yield from reader.source.collect(_PLAMO_NAME)
    if marker == "{":
        reader.source.unread(marker)
    gap = yield from wait_for(reader.source, re.compile(r"\s*(?:<\|plamo:\w+:plamo\|>)*\s*(?=\{)"), 160)
    text = opener + head
    if gap is None:
        reader.unreadable(head.strip(), text, "the call has no arguments", "plamo")
        return True
    text += reader.source.take(gap.end())
    body, whole = yield from reader.json_value()
    reader.json_call(head.strip(), body, "plamo", closed=whole, text=text + body)
    return True


def _openers(tools: Tools) -> Mapping[str, Read]:
    words = ("tool_requests", "tool_request", "tool_calls", "tool_call", "tool_name", "tool_arguments")
    frames = {_PLAMO.format(f"{edge}_{word}"): dropped for edge in ("begin", "end") for word in words}
    return {**frames, _PLAMO.format("begin_tool_name"): _call}


FAMILIES = (Family("plamo", _openers, aliases=("plamo3",)),)
