"""Calls as bare or fenced JSON, with no markup at all: only declared names count, and answers stay answers."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects.calls import ARGS_KEYS, NAME_KEYS, Call, Tools, name_in, read_calls
from aicli.models.dialects.jsontext import Balance, read
from aicli.models.dialects.pythonic import code_calls
from aicli.models.dialects.reader import Family, Read, Reader, lone_closer
from aicli.models.dialects.source import markers

_PEEK = 240
_KEYS = "|".join({*NAME_KEYS, *ARGS_KEYS, "type", "id", "index", "tool_calls", "tool_call", "function_call", "thought",
                  "thoughts", "reasoning", "explanation", "tool_call_id", "call_id", "comment"})  # fmt: skip
_CALLISH = re.compile(rf"""\s*(?:\[\s*)?\{{+\s*["']({_KEYS})["']\s*:\s*(?:["']([^"'\n]*)["'])?""")
_JSONISH = re.compile(r"""\s*(?:\{\s*(?:["']|\}|$)|\[\s*(?:["'{\[\d\]tfn-]|$))""")
_TAIL = re.compile(r"[ \t]*(?:[,;]?[ \t]*(?:\n|\r|$)|<[|/]|\[/|```|;)")
_NEXT = re.compile(r"\s*[;,]?\s*(?=[\[{])")


def callish(text: str, tools: Tools) -> bool:
    """Could the JSON that begins so be a call of a declared tool?"""
    match = _CALLISH.match(text)
    if not match:
        return False
    key, value = match.groups()
    if key in NAME_KEYS and value is not None:
        return bool(tools.find(value))
    if key == "type" and value is not None:
        return value in ("function", "tool_call", "tool_use", "function_call")
    return True


def _bare(reader: Reader, opener: str) -> Generator[None, None, bool]:
    if not reader.line_start and reader.dialect != "llama3":
        return False
    ahead = opener + (yield from reader.source.peek(_PEEK))
    if not callish(ahead, reader.tools):
        if not _JSONISH.match(ahead) or not reader.line_start:
            return False
        yield from _data(reader, opener)
        return True
    reader.source.unread(opener)
    calls: list[Call] = []
    raw = ""
    while True:
        body, whole = yield from reader.json_value()
        raw += body
        found = _calls(body, whole, reader)
        if not found:
            break
        calls += found
        gap = _NEXT.match((yield from reader.source.peek(32)))
        if gap is None or not callish((yield from reader.source.peek(_PEEK)).lstrip(" \t\r\n;,"), reader.tools):
            break
        raw += reader.source.take(gap.end())
    after = yield from reader.source.peek(16)
    if calls and found and (_TAIL.match(after) or reader.dialect == "llama3"):
        separator = ";" if after.lstrip().startswith(";") else ""
        raw += reader.source.take(after.index(";") + 1) if separator else ""
        raw += yield from lone_closer(reader.source)
        reader.maybe(calls, raw, "json", bare=True)
    elif not whole and (tag := _tag_in(raw, reader)) and reader.second_looks:
        reader.second_looks -= 1
        reader.plain(raw[:tag])
        reader.source.unread(raw[tag:])
    else:
        if not found and reader.tools.find(name_in(body)) and _ARGUMENTS(body) and not _reads(body):
            reader.problem = f"the call of {name_in(body)} is no readable JSON"
        reader.plain(raw)
    return True


def _reads(body: str) -> bool:
    try:
        read(body, closed=False)
    except ValueError:
        return False
    return True


_ARGUMENTS = re.compile(r"""["'](?:arguments|parameters|args|input)["']\s*:\s*\{""").search


def _tag_in(text: str, reader: Reader) -> int:
    """Where an unmistakable call begins on a line of its own inside JSON that never ended, 0 if nowhere."""
    places = (text.find(f"\n{opener}") + 1 for opener in reader.sure)
    return min((place for place in places if place), default=0)


def _calls(body: str, whole: bool, reader: Reader) -> list[Call]:
    try:
        found, rest = read_calls(body, reader.tools, sure=False, closed=False)
    except ValueError:
        found, rest = [], ""
    if found:
        return [] if rest else found
    for match in list(_INNER.finditer(body, 1))[:5]:
        try:
            found, rest = read_calls(body[match.start() :], reader.tools, sure=False, closed=False)
        except ValueError:
            continue
        if found and not rest.strip("} \n") and not _before_is_data(body[: match.start()]):
            return found
    return []


_INNER = re.compile(r"""\{\s*["'](?:name|function|tool|type)["']""")
_BROKEN = re.compile(r"""\s*\{\s*["']\w+["']\s*:\s*["'][^"']*["']\s*,\s*["']\w+["']\s*:\s*\{\s*$""")


def _before_is_data(text: str) -> bool:
    """A call inside JSON counts only behind one that broke off at its arguments."""
    return not _BROKEN.match(text)


def _data(reader: Reader, opener: str) -> Generator[None, None, None]:
    """JSON that is no call: passed on as it comes, since nothing inside it is a call either."""
    balance = Balance(stop_at_odd=True)
    balance.feed(opener)
    reader.plain(opener)
    while True:
        text = yield from reader.source.chunk()
        if not text:
            return
        end = balance.feed(text)
        if end >= 0:
            reader.source.unread(text[end:])
            reader.plain(text[:end])
            return
        reader.plain(text)


_FENCE = re.compile(r"(`*)([^\n`]{0,40})\r?\n")
_CALL_INFO = ("", "json", "jsonc", "json5", "tool_call", "tool_calls", "tool_code", "tool", "xml", "text", "plaintext",
              "python", "py", "function", "function_call", "action", "javascript", "bash", "markdown")  # fmt: skip


def _fence(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """A fenced block: a call if that is all it holds, else text in which markup is only quoted."""
    if not reader.line_start or reader.fenced:
        return False
    ahead = yield from reader.source.peek(_PEEK)
    head = _FENCE.match(ahead)
    if head is None:
        return False
    fence = opener + head.group(1)
    inside = ahead[head.end() :].lstrip()
    code = _names_call(inside, reader.tools)
    opening = opener + reader.source.take(head.end())
    info = head.group(2).strip().lower()
    if info not in _CALL_INFO or not _may_hold_call(inside, reader, info):
        reader.plain(opening)
        yield from _listing(reader, fence)
        return True
    if inside[:1] in ("{", "["):
        body, closer = yield from reader.framed_json((fence,))
    else:
        body, closer = yield from _until_fence(reader, fence)
    calls: list[Call] = []
    if closer or not reader.truncated:
        calls = code_calls(body, reader.tools) if code else reader.nested(body.strip())
    if calls:
        reader.maybe(calls, opening + body + closer, calls[0].dialect or "pythonic")
    else:
        reader.plain(opening + body + closer)
    return True


def _may_hold_call(inside: str, reader: Reader, info: str) -> bool:
    if inside[:1] in ("{", "["):
        return callish(inside, reader.tools) or (inside[:1] == "[" and _names_call(inside[1:], reader.tools))
    if inside[:1] in ("<", "｜"):
        return True
    return info in ("tool_code", "tool_call", "tool_calls", "function_call", "tool") and _names_call(
        inside, reader.tools
    )


_CALLED = re.compile(r"\s*(?:print\s*\(\s*)?([\w.\-]+)\s*\(")


def _names_call(text: str, tools: Tools) -> bool:
    match = _CALLED.match(text)
    return bool(match and tools.find(match.group(1)))


def _until_fence(reader: Reader, fence: str) -> Generator[None, None, tuple[str, str]]:
    """Text up to a line that begins with the fence, and that fence, "" at the end."""
    stops = markers(frozenset((fence,)))
    pieces: list[str] = []
    while True:
        text, marker = yield from reader.source.collect(stops)
        pieces.append(text)
        if not marker:
            return "".join(pieces), ""
        if not text.rstrip(" \t") or text.rstrip(" \t").endswith("\n"):
            return "".join(pieces), marker
        pieces.append(marker)


def _listing(reader: Reader, fence: str) -> Generator[None, None, None]:
    """Passes a code block on. Fences with an info word inside it nest. Markup counts only if the block never ends."""
    stops = markers(frozenset((fence, *reader.sure)))
    depth = 1
    while depth:
        text, marker = yield from reader.source.step(stops)
        reader.plain(text)
        if not marker:
            if not text:
                return
        elif marker == fence:
            started = reader.line_start
            reader.plain(fence)
            if started:
                line = (yield from reader.source.peek(40)).split("\n", 1)[0].strip("` \t\r")
                depth += 1 if line else -1
        else:
            held, closer = yield from _until_fence(reader, fence)
            if not closer:
                reader.source.unread(marker + held)
                return
            reader.plain(marker + held)
            reader.source.unread(closer)


def _loose(tools: Tools) -> Mapping[str, Read]:
    return {"{": _bare, "[": _bare, "```": _fence, "~~~": _fence}


FAMILIES = (
    Family("json", loose=_loose, aliases=("bare_json", "fenced_json", "xlam", "qwen2_5_coder", "gemma3", "gemma2")),
)
