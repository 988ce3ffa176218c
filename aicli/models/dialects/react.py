"""ReAct: `Action: f` and `Action Input: {json}` as the reply's last lines."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects import jsontext
from aicli.models.dialects.calls import Call, Tools
from aicli.models.dialects.reader import Family, Read, Reader, illustrates, wait_for
from aicli.models.dialects.thinking import END_TOKENS

_LINES = r"[ \t]*[`\"']?([^\s`\"'{}()\[\]<>]{1,128})[`\"']?[ \t]*\r?\n\s*Action Input:[ \t]*"
_FIRST = re.compile(_LINES + r"\s*(?:```(?:json)?\s*)?(?=\{)")
_NO_JSON = re.compile(_LINES + r"[^\n{]{1,200}\s*$")
_FENCE_END = re.compile(r"\s*```")
_NEXT = re.compile(r"\s*(?=Action:" + _LINES + r")")
_LONGEST = 400


def _action(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """Pairs of both lines with whole JSON count, and only when nothing but an empty `Observation:` follows them."""
    if not reader.line_start or illustrates(reader.last):
        return False
    head = yield from wait_for(reader.source, _FIRST, _LONGEST)
    if head is None:
        plain = yield from wait_for(reader.source, _NO_JSON, _LONGEST)
        if plain and reader.tools.find(plain.group(1)):
            reader.problem = f"the Action Input of {plain.group(1)} is no JSON object"
        return False
    if not reader.tools.find(head.group(1)):
        return False
    text = opener
    calls: list[Call] = []
    fault = ""
    while head is not None and not fault:
        name = head.group(1)
        lead = reader.source.take(head.end())
        body, whole = yield from reader.json_value()
        if not whole and reader.second_looks:
            reader.second_looks -= 1
            reader.plain(text + lead)
            reader.source.unread(body)
            return True
        fence = (yield from wait_for(reader.source, _FENCE_END, 24)) if "```" in lead else None
        text += lead + body + (reader.source.take(fence.end()) if fence else "")
        fault = _add(calls, name, body, whole, reader.tools)
        gap = yield from wait_for(reader.source, _NEXT, _LONGEST)
        head = None
        if gap and not fault:
            text += reader.source.take(gap.end()) + reader.source.take(len(opener))
            head = yield from wait_for(reader.source, _FIRST, _LONGEST)
            fault = "" if head and reader.tools.find(head.group(1)) else "-"
    ends, observed = yield from _rest(reader)
    if ends and not fault:
        reader.maybe(calls, text + reader.source.take(observed), "react")
        return True
    if fault != "-" and (ends or observed):
        reader.problem = (
            fault or "an observation was made up: the reply ends behind Action Input, the result comes then"
        )
    reader.plain(text)
    return True


def _add(calls: list[Call], name: str, body: str, whole: bool, tools: Tools) -> str:
    """Adds the call, or says what is wrong with it."""
    try:
        if not whole:
            raise ValueError("it never ended")
        value, rest = jsontext.read(body, closed=False)
        if not isinstance(value, dict) or rest.strip():
            raise ValueError("it is no JSON object")
    except ValueError as error:
        return f"the Action Input of {name} could not be read: {error}"
    calls.append(Call(tools.named(name), value))
    return ""


def _rest(reader: Reader) -> Generator[None, None, tuple[bool, int]]:
    """(whether the reply ends here, how much an `Observation:` takes)."""
    ahead = yield from reader.source.peek(64)
    match = _OBSERVATION.match(ahead)
    after = ahead[match.end() :] if match else ahead
    for token in END_TOKENS:
        after = after.replace(token, "")
    return not after.strip() and len(ahead) < 64, match.end() if match else 0


_OBSERVATION = re.compile(r"\s*Observation:")


def _loose(tools: Tools) -> Mapping[str, Read]:
    return {"Action:": _action}


FAMILIES = (Family("react", loose=_loose, aliases=("langchain",)),)
