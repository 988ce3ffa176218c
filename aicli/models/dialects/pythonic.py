"""Calls written as Python: `[f(a=1, b="x"), g()]` (Llama 4 and 3.2, ToolACE, LFM2, OLMo 3, Gemma's tool_code)."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence

from aicli.models.dialects import pyscan
from aicli.models.dialects.calls import Call, Tools, read_calls
from aicli.models.dialects.reader import CUT_OFF, Family, Read, Reader, lone_closer, stray, wait_for
from aicli.models.dialects.source import markers

_START = re.compile(r"\s*(?:\[\s*\]|\[?\s*[^\W\d][\w.\-]*\s*\(|\[?\s*\{)")
_BARE = re.compile(r"\s*([^\W\d][\w.\-]*)\s*\(")


def _tagged(closers: Sequence[str], opener_again: str, dialect: str) -> Read:
    def read(reader: Reader, opener: str) -> Generator[None, None, bool]:
        if not (yield from wait_for(reader.source, _START, 200)):
            return False
        stops = markers(frozenset((*closers, opener_again)))
        body, ended_by = yield from reader.source.collect(stops)
        if ended_by == opener_again:
            reader.source.unread(ended_by)
        text = opener + body + (ended_by if ended_by in closers else "")
        _settle(reader, body.strip(), bool(ended_by), text, dialect)
        return True

    return read


def _settle(reader: Reader, body: str, closed: bool, text: str, dialect: str) -> None:
    if not closed and reader.truncated:
        reader.unreadable(_name(body), text, CUT_OFF, dialect)
        return
    try:
        rest = ""
        if re.match(r"\[?\s*\{", body):
            calls, rest = read_calls(body, reader.tools, closed=closed)
        else:
            calls, rest = _python(body, reader.tools)
    except ValueError as error:
        reader.unreadable(_name(body), text, str(error), dialect)
        return
    if calls:
        reader.call(calls, dialect)
        if rest.strip() and not closed:
            reader.plain(rest)
    elif body.replace(" ", "") in ("[]", ""):
        reader.mark()
    else:
        reader.unreadable(_name(body), text, "the arguments are not literal values", dialect)


def _python(body: str, tools: Tools) -> tuple[list[Call], str]:
    found, rest = pyscan.calls(body)
    return [Call(tools.named(name), args) for name, args in found], rest


def _name(body: str) -> str:
    match = re.match(r"\[?\s*([^\W\d][\w.\-]*)\s*\(", body)
    return match.group(1) if match else ""


def _bare(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """A list of calls without any marker, only of declared names: on lines of its own, or as the end of the reply."""
    begins = reader.line_start or reader.after_call
    if not begins and not reader.last[-1:].isspace():
        return False
    head = yield from wait_for(reader.source, _BARE, 160)
    if head is None or not reader.tools.find(head.group(1)):
        return False
    body, whole = yield from reader.json_value(opener, parens=True)
    after = yield from reader.source.peek(24)
    calls: list[Call] = []
    rest = ""
    if whole or not reader.truncated:
        try:
            calls, rest = _python(body, reader.tools)
        except ValueError:
            calls = []
    ends = re.match(r"[ \t]*(?:\n|\r|$|<\||</|```|;)" if begins else r"\s*(?:$|<\|)", after)
    if (
        calls
        and whole
        and (ends or reader.dialect == "pythonic")
        and not rest.strip()
        and all(reader.tools.find(c.name) for c in calls)
    ):
        body += yield from lone_closer(reader.source)
        reader.maybe(calls, body, "pythonic")
    else:
        reader.plain(body)
    return True


_IN_TAG = re.compile(r"\s*(?:```\w*\s*)?\[?\s*[^\W\d][\w.\-]*\s*\(")
_FENCE = re.compile(r"^\s*```\w*\s*|\s*```\s*$")


def _in_call_tag(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """Python where a call tag should hold JSON: `<tool_call>f(a=1)</tool_call>`."""
    if not (yield from wait_for(reader.source, _IN_TAG, 200)):
        return False
    closer = "</tool_call>"
    body, ended_by = yield from reader.framed_json((closer,), (opener,), parens=True)
    text = opener + body + (ended_by if ended_by == closer else "")
    inner = _FENCE.sub("", body).strip()
    try:
        calls, rest = _python(inner, reader.tools)
    except ValueError:
        calls, rest = [], ""
    known = reader.tools.find(_name(inner))
    after = (yield from reader.source.peek(24)) if ended_by == closer else ""
    meant = known or (calls and ended_by == closer)
    if not meant or reader.mentioned(after, calls) or (rest.strip() and not ended_by):
        reader.plain(text)
    elif not calls or rest.strip():
        fault = "a call tag holds one JSON object with name and arguments, or a call with keyword arguments only"
        reader.unreadable(_name(inner), text, fault if ended_by else "the call never ended", "pythonic")
    else:
        _settle(reader, inner, bool(ended_by), text, "pythonic")
    return True


_OLMO = re.compile(r"\s*[^\W\d][\w.\-]*\s*\(")


def _olmo(reader: Reader, opener: str) -> Generator[None, None, bool]:
    if not (yield from wait_for(reader.source, _OLMO, 160)):
        return False
    body, closer = yield from reader.source.collect(markers(frozenset(("</function_calls>",))))
    _settle(reader, body.strip(), bool(closer), opener + body + closer, "olmo3")
    return True


def code_calls(text: str, tools: Tools) -> list[Call]:
    """The calls of a code block that holds nothing else: of declared tools, one a line, perhaps printed."""
    lines = [re.sub(r"^\s*print\s*\((.*)\)\s*$", r"\1", line) for line in text.strip().split("\n")]
    try:
        calls, rest = _python("\n".join(lines), tools)
    except ValueError:
        return []
    return calls if not rest.strip() and all(tools.find(call.name) for call in calls) else []


def _openers(tools: Tools) -> Mapping[str, Read]:
    ends = ("<|python_end|>", "<|eom|>", "<|eot|>", "<|eot_id|>")
    return {
        "<|python_start|>": _tagged(ends, "<|python_start|>", "pythonic"),
        "<|python_end|>": stray,
        "<tool_call>": _in_call_tag,
    }


def _lfm2(tools: Tools) -> Mapping[str, Read]:
    start, end = "<|tool_call_start|>", "<|tool_call_end|>"
    return {start: _tagged((end, "<|im_end|>"), start, "lfm2"), end: stray}


FAMILIES = (
    Family("pythonic", _openers, loose=lambda tools: {"[": _bare}, aliases=("llama4", "llama4_pythonic", "toolace")),
    Family("lfm2", _lfm2, aliases=("lfm2_5", "lfm25", "liquid")),
    Family(
        "olmo3",
        lambda tools: {"<function_calls>": _olmo, "</function_calls>": stray},
        aliases=("olmo", "olmo_3"),
    ),
)
