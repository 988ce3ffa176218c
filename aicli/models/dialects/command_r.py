"""Command R: JSON between action tokens, an answer between response tokens, citations inside it."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from typing import Any

from aicli.models.dialects import jsontext
from aicli.models.dialects.calls import Call, Tools, arguments
from aicli.models.dialects.hermes import between
from aicli.models.dialects.reader import Family, Read, Reader, dropped, wait_for

_CITED = re.compile(r"(?:: ?[\d:,\[\] ]*)?>")
_ACTION = re.compile(r"\s*```(?:json)?\s*(?=[\[{])")


def _citation(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """`<co>x</co: 0:[1]>` is x."""
    match = yield from wait_for(reader.source, _CITED, 64)
    if match is None or (opener == "</co" and not reader.notes.get("cited")):
        return False
    reader.notes["cited"] = reader.notes.get("cited", 0) + (1 if opener == "<co" else -1)
    reader.source.take(match.end())
    return True


def _action(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """Command R+: `Action:` before a fenced list; `directly_answer` in it is no call."""
    if not reader.line_start:
        return False
    head = yield from wait_for(reader.source, _ACTION, 32)
    if head is None:
        return False
    text = opener + reader.source.take(head.end())
    body, ended_by = yield from reader.framed_json(("```",))
    text += body + ended_by
    try:
        value: Any = jsontext.read(body, closed=bool(ended_by))[0]
    except ValueError as error:
        reader.unreadable("", text, str(error), "command_r")
        return True
    entries = [e for e in (value if isinstance(value, list) else [value]) if isinstance(e, dict)]
    named = [e for e in entries if e.get("tool_name") not in ("directly_answer", "directly-answer")]
    calls = [_command(e, reader.tools) for e in named if reader.tools.find(e.get("tool_name"))]
    if len(calls) < len(named) or not entries or (not ended_by and reader.truncated):
        reader.plain(text)
    elif calls:
        reader.maybe(calls, text, "command_r")
    else:
        reader.mark()
    return True


def _command(entry: dict[str, Any], tools: Tools) -> Call:
    args, raw = arguments(entry.get("parameters"))
    return Call(tools.named(str(entry["tool_name"])), args, raw=raw)


def _openers(tools: Tools) -> Mapping[str, Read]:
    frames = ("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", "<|CHATBOT_TOKEN|>")
    table: dict[str, Read] = dict.fromkeys(frames, dropped)
    if tools:
        table["<|START_ACTION|>"] = between(("<|END_ACTION|>",), "command_r")
        table["<|END_ACTION|>"] = dropped
    return table | {"<co": _citation, "</co": _citation}


def _loose(tools: Tools) -> Mapping[str, Read]:
    return {"Action:": _action} if tools else {}


FAMILIES = (Family("command_r", _openers, loose=_loose, aliases=("command_r7b", "command_a", "cohere"), always=True),)
