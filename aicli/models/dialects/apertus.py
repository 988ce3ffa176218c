"""Apertus: `[{"f": {…}}]`, the only key of an entry is the tool."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects import jsontext
from aicli.models.dialects.calls import Call, Tools, arguments
from aicli.models.dialects.reader import CUT_OFF, Family, Read, Reader, stray, wait_for

_JSON = re.compile(r"\s*[\[{]")


def _tool_keys(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """`[{"f": {…}}]`: the only key of an entry is the tool."""
    if not (yield from wait_for(reader.source, _JSON, 32)):
        return False
    body, ended_by = yield from reader.framed_json(("<|tools_suffix|>",))
    text = opener + body + ended_by
    try:
        if not ended_by and reader.truncated:
            raise ValueError(CUT_OFF)
        value = jsontext.read(body, closed=bool(ended_by))[0]
    except ValueError as error:
        name = re.search(r'\{\s*"([^"]+)"\s*:', body)
        reader.unreadable(name.group(1) if name else "", text, str(error), "apertus")
        return True
    calls: list[Call] = []
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict):
            for name, given in entry.items():
                args, raw = arguments(given)
                calls.append(Call(reader.tools.named(name), args, raw=raw))
    if calls:
        reader.call(calls, "apertus")
    else:
        reader.mark()
    return True


def _openers(tools: Tools) -> Mapping[str, Read]:
    return {"<|tools_prefix|>": _tool_keys, "<|tools_suffix|>": stray}


FAMILIES = (Family("apertus", _openers, aliases=("apertus15",)),)
