"""Functionary v3.2: the tool's name on a line, JSON behind it, `>>>` between such pieces."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects.calls import Tools
from aicli.models.dialects.reader import Family, Read, Reader, wait_for

_LINE = re.compile(r"([^\s{}<>\[\]]{1,128})[ \t]*\r?\n\s*(?=(\{\s*[\"'}])|)")


def _recipient(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """`>>>f` and JSON on the next line, or `>>>all` and an answer."""
    if opener and not (reader.line_start or reader.after_call or reader.notes.get("functionary")):
        return False
    head = yield from wait_for(reader.source, _LINE, 160)
    if head is None:
        return False
    name = head.group(1)
    if name == "all" and not head.group(2):
        reader.source.take(head.end())
        reader.mark()
        reader.notes["functionary"] = 1
        return True
    if not head.group(2) or not reader.tools.find(name):
        return False
    text = opener + reader.source.take(head.end())
    body, whole = yield from reader.json_value()
    reader.json_call(name, body, "functionary", closed=whole, text=text + body)
    return True


def _named_line(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """A declared name alone on the reply's first line, then JSON: Functionary without its marker."""
    if reader.began or not reader.line_start:
        return False
    name = opener.rstrip("\n")
    head = yield from wait_for(reader.source, re.compile(r"\s*(?=\{\s*[\"'}])"), 32)
    if head is None or not reader.tools.find(name):
        return False
    reader.source.unread(opener)
    return (yield from _recipient(reader, ""))


def _loose(tools: Tools) -> Mapping[str, Read]:
    return {">>>": _recipient, **{f"{name}\n": _named_line for name in tools.schemas}}


FAMILIES = (Family("functionary", loose=_loose, aliases=("functionary_v3_2", "functionary_v3"), start=_recipient),)
