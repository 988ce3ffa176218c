"""Mistral: `[TOOL_CALLS]` before a JSON array, or before `NAME[ARGS]{…}`, one marker a call."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects import jsontext
from aicli.models.dialects.calls import Call, Tools, arguments
from aicli.models.dialects.hermes import settle
from aicli.models.dialects.reader import CUT_OFF, Family, Read, Reader, stray, wait_for

_MARK = "[TOOL_CALLS]"
_ARRAY = re.compile(r"\s*(?:\[TOOL_CALLS\]\s*)*(?:[\w ]{0,40}?\s)??\s*(?=\[\s*[{\]'\x22\d-]|\{)")
_NAMED = re.compile(
    r"\s*(?:\[TOOL_CALLS\]\s*)*([^\s\[\]{}()<>\"'`,]{1,128})\s*(?:\[CALL_ID\]\s*([\w-]{1,64}?)\s*)?(\[ARGS\])?\s*(?=(\{)|$|\[TOOL_CALLS\])"
)


def _calls(reader: Reader, opener: str) -> Generator[None, None, bool]:
    name = opener.removesuffix(_MARK).removesuffix("[ARGS]") if opener != _MARK else ""
    if name:
        return (yield from _arguments(reader, name, "", opener))
    if array := (yield from wait_for(reader.source, _ARRAY, 96)):
        text = opener + reader.source.take(array.end())
        body, whole = yield from reader.json_value()
        settle(reader, body, whole, "mistral", text + body)
        return True
    named = yield from wait_for(reader.source, _NAMED, 256)
    if named is None:
        return False
    declared = reader.tools.find(named.group(1))
    if not named.group(4) and not (named.group(3) or declared):
        return False
    if not named.group(4):
        text = opener + reader.source.take(named.end())
        if reader.truncated:
            reader.unreadable(named.group(1), text, CUT_OFF, "mistral")
        elif declared and not reader.tools.schemas[declared].get("required"):
            reader.call([Call(declared, {}, named.group(2) or "")], "mistral")
        else:
            reader.unreadable(named.group(1), text, "the arguments are missing", "mistral")
        return True
    text = opener + reader.source.take(named.end())
    return (yield from _arguments(reader, named.group(1), named.group(2) or "", text))


def _arguments(reader: Reader, name: str, id: str, text: str) -> Generator[None, None, bool]:
    gap = yield from wait_for(reader.source, re.compile(r"\s*(?:\[ARGS\])?\s*(?=\{)"), 64)
    if gap is None:
        return False
    text += reader.source.take(gap.end())
    body, whole = yield from reader.json_value()
    if not whole:
        why = CUT_OFF if reader.truncated else "the arguments never ended"
        reader.unreadable(name, text + body, why, "mistral")
        return True
    try:
        value, _ = jsontext.read(body)
    except ValueError as error:
        reader.unreadable(name, text + body, str(error), "mistral")
        return True
    args, raw = arguments(value)
    if set(args) == {"name", "arguments"} and args["name"] == name and isinstance(args["arguments"], dict):
        args = args["arguments"]
    reader.call([Call(reader.tools.named(name), args, id, raw)], "mistral")
    return True


def _openers(tools: Tools) -> Mapping[str, Read]:
    named = {f"{name}{tail}": _calls for name in tools.schemas for tail in (_MARK, "[ARGS]")}
    return {_MARK: _calls, **named, "[/TOOL_CALLS]": stray}


FAMILIES = (
    Family(
        "mistral",
        _openers,
        aliases=(
            "mistral_v11",
            "mistral_v13",
            "devstral",
            "magistral",
            "ministral",
            "ministral_3",
            "mixtral",
            "codestral",
        ),
    ),
)
