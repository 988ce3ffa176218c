"""Hermes: JSON between call tags (Qwen 2.5 and 3, Hermes, SmolLM3, LongCat, Nemotron, Jamba, Hunyuan, Granite 3.1+)."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects.calls import Tools, name_in, read_calls
from aicli.models.dialects.reader import CUT_OFF, Family, Read, Reader, illustrates, stray, wait_for
from aicli.models.dialects.source import Markers
from aicli.models.dialects.thinking import without_end_tokens

_TAGS = {
    "<tool_call>": "</tool_call>",
    "<tool_calls>": "</tool_calls>",
    "<longcat_tool_call>": "</longcat_tool_call>",
    "<TOOLCALL>": "</TOOLCALL>",
}
_STARTS = re.compile(r"""\s*(?:```\w*\s*)?(?:\[\s*\]?\s*)?(?:\{\s*["'}]|\[\s*\]|\{\s*\{)""")


def tagged(closers: tuple[str, ...], openers: tuple[str, ...], dialect: str) -> Read:
    """A reader of JSON that ends at a closer, at the next opener or at the end of the text."""

    def read(reader: Reader, opener: str) -> Generator[None, None, bool]:
        if not (yield from wait_for(reader.source, _STARTS, 64)):
            return opener == "<tool_call>" and (yield from _lines(reader, opener))
        body, ended_by = yield from reader.framed_json(closers, openers)
        text = opener + body + (ended_by if ended_by in closers else "")
        after = (yield from reader.source.peek(24)) if ended_by in closers else ""
        settle(reader, body, bool(ended_by), dialect, text, after)
        return True

    return read


def settle(reader: Reader, body: str, closed: bool, dialect: str, text: str, after: str = "") -> None:
    """Says what the body of a JSON call block turned out to be. `after` is what follows its closer."""
    if not closed and reader.truncated:
        reader.unreadable(name_in(body), text, CUT_OFF, dialect)
        return
    bare = _FENCE.sub("", body)
    try:
        calls, rest = read_calls(bare, reader.tools, closed=closed)
    except ValueError as error:
        if reader.mentioned(after, ()):
            reader.plain(text)
            return
        reader.unreadable(name_in(body), text, f"{error}" if closed else f"the call never ended ({error})", dialect)
        return
    if reader.mentioned(after, calls):
        reader.plain(text)
    elif calls:
        reader.call(calls, dialect)
        rest = without_end_tokens(rest)
        if rest.strip(" \t\r\n}];,") and not closed:
            reader.plain(rest)
    elif bare.strip() in ("[]", "{}"):
        reader.mark()
    else:
        reader.unreadable("", text, "there is no tool name in the call", dialect)


_FENCE = re.compile(r"^\s*```\w*\s*|\s*```\s*$")


def between(closers: tuple[str, ...], dialect: str, before: str = r"\s*", again: tuple[str, ...] = ()) -> Read:
    """JSON calls up to a closer. `before` is a pattern of what may stand between the opener and the JSON."""
    lead = re.compile(f"(?:{before})" + r"(?=(?:```\w*\s*)?[\[{])")

    def read(reader: Reader, opener: str) -> Generator[None, None, bool]:
        match = yield from wait_for(reader.source, lead, 96)
        if match is None:
            return False
        text = opener + reader.source.take(match.end())
        body, ended_by = yield from reader.framed_json(closers, again)
        settle(reader, body, bool(ended_by), dialect, text + body + (ended_by if ended_by in closers else ""))
        return True

    return read


_LINES = re.compile(
    r"""\s*(?:-\s*)?["']?(?:(?:tool_|function_)?name|tool|function)["']?\s*[:=]\s*["'`]?([^\s"'`<>{}()\[\],:]{1,128})["'`,]*(?=\s|<)"""
    r"""|\s*([^\s"'`<>{}()\[\],:=]{1,128})(?:[ \t]*:(?=\s)|[ \t]+[\w\-]+\s*[:=])"""
)


def _lines(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """Lines like YAML in a call tag: nothing says what their values are, so the model is told how to write the call."""
    head = yield from wait_for(reader.source, _LINES, 200)
    name = head and (head.group(1) or (reader.tools.find(head.group(2)) and head.group(2)))
    if not name or not reader.second_looks or illustrates(reader.last):
        return False
    body, ended_by = yield from reader.source.collect(_LINES_END)
    text = opener + body + ended_by
    if ended_by == "</tool_call>" and not reader.mentioned((yield from reader.source.peek(24)), ()):
        fault = "a call tag holds one JSON object with name and arguments, no lines of keys and values"
        reader.unreadable(name, text, fault, "hermes")
        return True
    reader.second_looks -= 1
    reader.source.unread(text[len(opener) :])
    return False


_LINES_END = Markers(("</tool_call>", "<tool_call>", "<arg_key>", "<function=", "<invoke"))


def _openers(tools: Tools) -> Mapping[str, Read]:
    table: dict[str, Read] = {}
    for opener, closer in _TAGS.items():
        also = ("<tool_call>",) if opener == "<tool_calls>" else ()
        table[opener] = tagged((closer,), (opener, *also), "hermes")
        table[closer] = stray
    return table


def _loose(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """Tags like `<tools>`, which Qwen2.5-Coder writes around calls and prompts around definitions: only calls count."""
    closer = opener.replace("<", "</")
    if not (yield from wait_for(reader.source, _STARTS, 64)):
        return False
    body, ended_by = yield from reader.framed_json((closer,), (opener,))
    text = opener + body + (ended_by if ended_by == closer else "")
    try:
        calls, rest = read_calls(body, reader.tools, sure=False, closed=bool(ended_by))
    except ValueError:
        calls, rest = [], ""
    if calls and not rest.strip("} \n"):
        reader.maybe(calls, text, "hermes")
    else:
        reader.plain(text)
    return True


FAMILIES = (
    Family(
        "hermes",
        _openers,
        loose=lambda tools: dict.fromkeys(("<tools>", "<tool>", "<function_calls>"), _loose),
        aliases=(
            "qwen", "qwen2", "qwen2_5", "qwen3", "qwq", "nous", "smollm3", "longcat", "nemotron", "nemotron_nano_v2",
            "jamba", "ernie", "mimo_vl", "reka",
        ),
    ),
)  # fmt: skip
