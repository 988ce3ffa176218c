"""DeepSeek V3, R1-0528 and V3.1: name and JSON arguments between tokens drawn with full-width bars."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects.calls import Tools
from aicli.models.dialects.reader import Family, Read, Reader, stray
from aicli.models.dialects.source import Markers


def _spelled(words: str) -> tuple[str, ...]:
    """A token in all the ways it leaks: bars full-width or ASCII, joiners U+2581 or underscore or space."""
    return tuple(f"<{bar}{words.replace(' ', joint)}{bar}>" for bar in ("｜", "|") for joint in ("▁", "_", " "))


_CALLS_BEGIN = _spelled("tool calls begin")
_CALLS_END = _spelled("tool calls end")
_KIMI = "<|tool_call_begin|>"  # the same letters in another family
_BEGIN = _spelled("tool call begin")
_END = tuple(t for t in _spelled("tool call end") if t != "<|tool_call_end|>")
_SEP = _spelled("tool sep")
_HEAD = Markers((*_SEP, *_END, *_CALLS_END, *_BEGIN, "{"))
_FENCE = re.compile(r"^\s*```\w*\s*|\s*```\s*$")


def _call(reader: Reader, opener: str) -> Generator[None, None, bool]:
    ahead = yield from reader.source.peek(200)
    if "<steptml:" in ahead:
        return False
    before = ahead.split("{", 1)[0]
    if not any(sep in before for sep in _SEP) and ("{" not in ahead or opener == _KIMI):
        return False
    head, marker = yield from reader.source.collect(_HEAD)
    text = opener + head + marker
    name = head.strip()
    if marker in _SEP:
        if name in ("function", "") or not reader.tools.find(name):
            after = yield from reader.source.peek(160)
            line = re.match(r"\s*([^\s{`<]{1,128})[ \t]*(?:\r?\n|(?=\{|```))", after)
            if line and (name in ("function", "") or reader.tools.find(line.group(1))):
                name = line.group(1)
                text += reader.source.take(line.end())
    elif marker == "{":
        reader.source.unread(marker)
    else:
        reader.unreadable("", text, "the call has no arguments", "deepseek")
        return True
    body, ended_by = yield from reader.framed_json(_END, (*_BEGIN, *_CALLS_END))
    text += body + (ended_by if ended_by in _END else "")
    rest = reader.json_call(name, _FENCE.sub("", body), "deepseek", closed=bool(ended_by), text=text)
    if rest.strip(" \r\n`}") and not ended_by:
        reader.plain(rest.lstrip("`"))
    return True


_BARE_HEAD = re.compile(r"\s*(?:function)?(?:" + "|".join(map(re.escape, _SEP)) + ")")


def _wrapper(reader: Reader, opener: str) -> Generator[None, None, bool]:
    ahead = (yield from reader.source.peek(80)).lstrip()
    if ahead.startswith((*_BEGIN, *_CALLS_END)) or not ahead:
        reader.mark()
        return True
    if _BARE_HEAD.match(ahead):
        return (yield from _call(reader, opener))
    return False


def _openers(tools: Tools) -> Mapping[str, Read]:
    return {
        **dict.fromkeys(_BEGIN, _call),
        **dict.fromkeys(_CALLS_BEGIN, _wrapper),
        **dict.fromkeys((*_CALLS_END, *_END), stray),
    }


FAMILIES = (
    Family(
        "deepseek",
        _openers,
        aliases=("deepseek_v3", "deepseek_v3_1", "deepseek3", "deepseek31", "deepseek_r1", "cogito", "cogito_2_1"),
    ),
)
