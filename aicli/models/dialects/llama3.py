"""Llama 3.1 to 3.3: bare JSON with `parameters`, after `<|python_tag|>` or on its own, joined by `;`."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects import pyscan
from aicli.models.dialects.calls import Call, Tools, name_in, read_calls
from aicli.models.dialects.reader import CUT_OFF, Family, Read, Reader, wait_for
from aicli.models.dialects.source import Markers

_TAG = "<|python_tag|>"
_JSON = re.compile(r"\s*[\[{]")
_CALL = re.compile(r"\s*([\w.]+)\.call\(")
_NEXT = re.compile(r"\s*;?\s*(?=[\[{])|\s*;\s*")
_END = Markers((_TAG, "<|eom_id|>", "<|eot_id|>"))


def _tagged(reader: Reader, opener: str) -> Generator[None, None, bool]:
    if (yield from wait_for(reader.source, _CALL, 96)):
        return (yield from _builtin(reader, opener))
    if not (yield from wait_for(reader.source, _JSON, 32)):
        return False
    while (match := (yield from wait_for(reader.source, _NEXT, 32))) or (
        match := (yield from wait_for(reader.source, _JSON, 32))
    ):
        gap = match.end() - (match.re is _JSON)
        reader.source.take(gap)
        if (yield from reader.source.peek(1)) not in ("{", "["):
            break
        yield from reader.source.space()
        body, whole = yield from reader.json_value()
        _settle(reader, opener, body, whole)
    return True


def _settle(reader: Reader, opener: str, body: str, whole: bool) -> None:
    if not whole and reader.truncated:
        reader.unreadable(name_in(body), opener + body, CUT_OFF, "llama3")
        return
    try:
        calls, _ = read_calls(body, reader.tools, closed=False)
        if not calls:
            raise ValueError("there is no tool name in the call")
    except ValueError as error:
        calls = _second(body, reader.tools)
        if not calls:
            reader.unreadable(name_in(body), opener + body, str(error), "llama3")
            return
    reader.call(calls, "llama3")


def _second(body: str, tools: Tools) -> list[Call]:
    """The good object behind one that broke off."""
    for match in list(re.finditer(r"\{\s*[\"'](?:name|function)[\"']", body))[1:5]:
        try:
            calls, rest = read_calls(body[match.start() :], tools, closed=False)
        except ValueError:
            continue
        if calls and not rest.strip("} \n"):
            return calls
    return []


def _builtin(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """`brave_search.call(query="…")`, as the built-in tools are written."""
    body, marker = yield from reader.source.collect(_END)
    if marker:
        reader.source.unread(marker)
    match = re.match(r"\s*([\w.]+)\.call(\(.*\))\s*$", body, re.S)
    try:
        if match is None or reader.truncated:
            raise ValueError("the call never ended")
        found, _ = pyscan.calls(match.group(1) + match.group(2))
    except ValueError as error:
        reader.unreadable("", opener + body, str(error), "llama3")
        return True
    reader.call([Call(reader.tools.named(name), args) for name, args in found], "llama3")
    return True


def _openers(tools: Tools) -> Mapping[str, Read]:
    return {_TAG: _tagged}


FAMILIES = (
    Family(
        "llama3", _openers, aliases=("llama3_1", "llama3_2", "llama3_3", "llama", "llama3_json", "llama31", "llama32")
    ),
)
