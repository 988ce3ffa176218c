"""Harmony (gpt-oss) and Muse: messages with a header that names a channel and a recipient."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects.calls import Tools, stripped
from aicli.models.dialects.reader import Family, Read, Reader, at_once
from aicli.models.dialects.source import Markers

_MESSAGE = "<|message|>"
_BODY_ENDS = ("<|call|>", "<|end|>", "<|return|>", "<|start|>", "<|eom|>", "<|eot|>")
_HEADER = Markers((_MESSAGE, *_BODY_ENDS))
_BODY = Markers(_BODY_ENDS)
_TO = re.compile(r"\bto=([^\s<]+)")
_CHANNELS = re.compile(r"\s*(?:analysis|commentary|final|assistant)|[^`\n]{0,160}?<\|message\|>")
_ROLE = re.compile(r"\s*assistant")
_START_TO = re.compile(r"([^\s<`]{1,80})[^`\n]{0,80}?<\|message\|>")


def _header(reader: Reader, opener: str) -> Generator[None, None, bool]:
    ahead = yield from reader.source.peek(200)
    if opener == "<|channel|>" and not _CHANNELS.match(ahead):
        return False
    if opener == "<|start|>" and not _ROLE.match(ahead):
        return False
    head, marker = "", _MESSAGE
    if not opener.endswith(_MESSAGE):
        head, marker = yield from reader.source.collect(_HEADER)
    yield from _message(reader, opener.removesuffix(_MESSAGE) + head, marker)
    return True


def _muse(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """` to=user<|message|>` at the very start of a reply: its role stood in the prompt."""
    if reader.began or reader.thinking or not reader.line_start:
        return False
    match = _START_TO.match((yield from reader.source.peek(200)))
    if match is None:
        return False
    head = reader.source.take(match.end())
    yield from _message(reader, opener + head.removesuffix(_MESSAGE), _MESSAGE)
    return True


def _message(reader: Reader, head: str, marker: str) -> Generator[None, None, None]:
    reader.mark()
    to = _TO.search(head)
    recipient = to.group(1) if to else ""
    channel = next((c for c in ("analysis", "commentary", "final") if c in _TO.sub("", head)), "")
    if recipient and recipient not in ("user", "self", "all", "assistant") and reader.tools:
        yield from _call(reader, recipient, head, marker)
        return
    reader.thinking = recipient == "self" or (channel == "analysis" and not recipient)
    reader.thought = False
    if marker != _MESSAGE:
        words = re.sub(
            r"<\|\w+\|>|\b(?:assistant|analysis|commentary|final|json|code)\b", "", _TO.sub("", head), count=4
        )
        reader.plain(words.strip())
        if marker:
            reader.source.unread(marker)


def _call(reader: Reader, recipient: str, head: str, marker: str) -> Generator[None, None, None]:
    reader.thinking = False
    if marker == _MESSAGE:
        ahead = (yield from reader.source.peek(64)).lstrip()
        if ahead.startswith(("<atem:", "<rfl:")):
            return
        body, ended_by = yield from reader.framed_json(_BODY_ENDS)
    else:
        brace = head.find("{")
        body, ended_by = (head[brace:] if brace >= 0 else ""), marker
    if ended_by == "<|start|>":
        reader.source.unread(ended_by)
    name = _recipient(recipient, reader.tools)
    text = f"{head}{_MESSAGE}{body}"
    reader.json_call(name, body, "harmony", closed=bool(ended_by), text=text)


def _recipient(text: str, tools: Tools) -> str:
    """The tool's name without `functions.` and what leaked behind it."""
    for candidate in (text, stripped(text), text.split(".", 1)[-1]):
        if tools.find(candidate):
            return tools.find(candidate)
    return stripped(text) or text


def _openers(tools: Tools) -> Mapping[str, Read]:
    first = ("assistant<|channel|>", "assistant<|message|>")
    return {"<|start|>": _header, "<|channel|>": _header, _MESSAGE: _header, **dict.fromkeys(first, _role)}


def _role(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """The role that leaked in front of a header."""
    return (yield from _header(reader, opener.removeprefix("assistant")))


def _starts_with_header(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """A reply whose channel token stood in the prompt or was lost: `analysis<|message|>…`."""
    ahead = yield from reader.source.peek(120)
    match = re.match(r"\s*(?:analysis|commentary|final|to=)[^<\n]{0,60}(?:<\|constrain\|>\w*)?\s*<\|message\|>", ahead)
    if match:
        head = reader.source.take(match.end())
        yield from _message(reader, head.removesuffix(_MESSAGE), _MESSAGE)
    return bool(match)


@at_once
def _end(reader: Reader, opener: str) -> bool:
    reader.mark()
    reader.thinking = False
    return True


FAMILIES = (
    Family("harmony", _openers, aliases=("gpt_oss", "openai_harmony"), start=_starts_with_header, always=True),
    Family("muse", lambda tools: {"to=": _muse, "<|eom|>": _end, "<|eot|>": _end}, aliases=("glimmer",), always=True),
)
