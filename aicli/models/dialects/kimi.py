"""Kimi K2: `functions.NAME:INDEX` is the call's id, JSON arguments between special tokens."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects.calls import Call, Tools
from aicli.models.dialects.reader import Family, Read, Reader, stray
from aicli.models.dialects.source import Markers

_BEGIN = "<|tool_call_begin|>"
_END = "<|tool_call_end|>"
_ARGUMENT = "<|tool_call_argument_begin|>"
_SECTIONS = ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>")
_SECTION_ENDS = ("<|tool_calls_section_end|>", "<|tool_call_section_end|>")
_HEAD = Markers((_ARGUMENT, _END, _BEGIN, *_SECTION_ENDS, "{"))
_ID = re.compile(r"^(?:functions?)?[.:]?\s*(.*?)\s*(?:[:.]?\s*\d+)?$", re.S)


def _call(reader: Reader, opener: str) -> Generator[None, None, bool]:
    ahead = yield from reader.source.peek(160)
    if not re.match(r"\s*[^\s<{`]", ahead) or not (_ARGUMENT in ahead or "{" in ahead or len(ahead) < 160):
        return False
    head, marker = yield from reader.source.collect(_HEAD)
    id = head.strip()
    name = _name(id, reader.tools)
    text = opener + head + marker
    if marker not in (_ARGUMENT, "{"):
        if marker in (_END, *_SECTION_ENDS):
            reader.call([Call(name, {}, id)], "kimi")
        else:
            reader.unreadable("", text, "the call never ended", "kimi")
        return True
    if marker == "{":
        reader.source.unread(marker)
        text = opener + head
    body, ended_by = yield from reader.framed_json((_END,), (_BEGIN, *_SECTION_ENDS))
    text += body + (ended_by if ended_by == _END else "")
    reader.json_call(name, body, "kimi", closed=bool(ended_by), text=text, id=id)
    return True


def _name(id: str, tools: Tools) -> str:
    """functions.f:0, functionsf0, f:0 and f all name f."""
    if tools.find(id):
        return tools.find(id)
    match = _ID.match(id)
    inner = match.group(1) if match else id
    without = re.sub(r"[:.]?\d+$", "", id)
    candidates = (inner, without, re.sub(r":\d+$", "", id), re.sub(r"^functions?[.:]?", "", re.sub(r":\d+$", "", id)))
    return next((tools.find(c) for c in candidates if tools.find(c)), inner or id)


def _section(reader: Reader, opener: str) -> Generator[None, None, bool]:
    ahead = (yield from reader.source.peek(64)).lstrip()
    if ahead and not ahead.startswith((_BEGIN, *_SECTION_ENDS)) and not re.match(r"functions?[.\w]", ahead):
        return False
    reader.mark()
    if ahead.startswith(_SECTION_ENDS):
        yield from reader.source.space()
        reader.source.take(len(next(end for end in _SECTION_ENDS if ahead.startswith(end))))
    if ahead.startswith("functions"):
        return (yield from _call(reader, opener))
    return True


def _openers(tools: Tools) -> Mapping[str, Read]:
    ends = dict.fromkeys((*_SECTION_ENDS, _END), _end)
    return {_BEGIN: _call, **dict.fromkeys(_SECTIONS, _section), **ends}


def _end(reader: Reader, opener: str) -> Generator[None, None, bool]:
    return (yield from stray(reader, opener))


FAMILIES = (
    Family(
        "kimi", _openers, aliases=("kimi_k2", "kimi_k2_thinking", "kimi_k2_5", "kimi_k2_6", "kimi_k2_7", "moonshot")
    ),
)
