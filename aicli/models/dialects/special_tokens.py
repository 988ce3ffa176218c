"""Families whose calls are JSON between tokens of their own: InternLM, Command R, Apertus, GigaChat, Inkling, PLaMo."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from typing import Any

from aicli.models.dialects import jsontext
from aicli.models.dialects.calls import Call, Tools, arguments
from aicli.models.dialects.hermes import settle
from aicli.models.dialects.reader import CUT_OFF, Family, Read, Reader, stray, wait_for
from aicli.models.dialects.source import Markers

_JSON = re.compile(r"\s*(?:```\w*\s*)?(?:[\[{])")


def _between(closers: tuple[str, ...], dialect: str, before: str = r"\s*", again: tuple[str, ...] = ()) -> Read:
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


def _dropped(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """A token that only frames the answer."""
    if False:
        yield
    reader.mark()
    return True


def _internlm(tools: Tools) -> Mapping[str, Read]:
    read = _between(("<|action_end|>",), "internlm", r"\s*(?:<\|(?:plugin|interpreter)\|>)?\s*", ("<|action_start|>",))
    return {"<|action_start|>": read, "<|action_end|>": stray, "<|plugin|>": stray}


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


def _command_r(tools: Tools) -> Mapping[str, Read]:
    frames = ("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", "<|CHATBOT_TOKEN|>")
    table: dict[str, Read] = dict.fromkeys(frames, _dropped)
    if tools:
        table["<|START_ACTION|>"] = _between(("<|END_ACTION|>",), "command_r")
        table["<|END_ACTION|>"] = _dropped
    return table | {"<co": _citation, "</co": _citation}


def _apertus(tools: Tools) -> Mapping[str, Read]:
    return {"<|tools_prefix|>": _tool_keys, "<|tools_suffix|>": stray}


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


def _gigachat(tools: Tools) -> Mapping[str, Read]:
    again = ("<|message_sep|>", "<|function_call|>")
    read = _between(("</s>", "<|message_sep|>"), "gigachat", r"\s*", again)
    return {
        "function call<|role_sep|>": read,
        "<|function_call|>": _between(("</s>", "<|message_sep|>"), "gigachat", r"\s*", ("<|function_call|>",)),
        "<|message_sep|>": _message_sep,
    }


def _message_sep(reader: Reader, opener: str) -> Generator[None, None, bool]:
    ahead = (yield from reader.source.peek(48)).lstrip()
    if ahead and not ahead.startswith(("function call", "<|", "</s>")):
        return False
    reader.mark()
    return True


_MODEL = "<|message_model|>"
_INVOKE = "<|content_invoke_tool_json|>"
_ENDS = ("<|end_message|>", "<|content_model_end_sampling|>")


def _inkling_kind(thinking: bool) -> Read:
    def read(reader: Reader, opener: str) -> Generator[None, None, bool]:
        if False:
            yield
        reader.mark()
        reader.thinking = thinking
        reader.thought = False
        return True

    return read


def _inkling_end(reader: Reader, opener: str) -> Generator[None, None, bool]:
    if False:
        yield
    reader.mark()
    reader.thinking = reader.thought = False
    return True


_HEADER = re.compile(r"\s*([^\s<]{0,128})\s*<\|content_invoke_tool_json\|>\s*(?=\{)")


def _inkling_message(reader: Reader, opener: str) -> Generator[None, None, bool]:
    match = yield from wait_for(reader.source, _HEADER, 200)
    if match is None or not reader.tools:
        reader.mark()
        return True
    text = opener + reader.source.take(match.end())
    return (yield from _inkling_json(reader, text))


def _inkling_call(reader: Reader, opener: str) -> Generator[None, None, bool]:
    if not (yield from wait_for(reader.source, _JSON, 32)):
        return False
    return (yield from _inkling_json(reader, opener))


def _inkling_json(reader: Reader, text: str) -> Generator[None, None, bool]:
    body, ended_by = yield from reader.framed_json(_ENDS, (_MODEL, _INVOKE))
    settle(reader, body, bool(ended_by), "inkling", text + body + ended_by)
    return True


def _inkling(tools: Tools) -> Mapping[str, Read]:
    table: dict[str, Read] = {
        "<|content_thinking|>": _inkling_kind(True),
        "<|content_text|>": _inkling_kind(False),
        _MODEL: _inkling_message,
        **dict.fromkeys(_ENDS, _inkling_end),
    }
    if tools:
        table |= {_INVOKE: _inkling_call, **{f"{name}{_INVOKE}": _inkling_call for name in tools.schemas}}
    return table


_PLAMO = "<|plamo:{}:plamo|>"
_PLAMO_NAME = Markers((_PLAMO.format("end_tool_name"), _PLAMO.format("begin_tool_arguments"), "{"))


def _plamo_call(reader: Reader, opener: str) -> Generator[None, None, bool]:
    head, marker = yield from reader.source.collect(_PLAMO_NAME)
    if marker == "{":
        reader.source.unread(marker)
    gap = yield from wait_for(reader.source, re.compile(r"\s*(?:<\|plamo:\w+:plamo\|>)*\s*(?=\{)"), 160)
    text = opener + head + (reader.source.take(gap.end()) if gap else "")
    body, whole = "", False
    if gap:
        body, whole = yield from reader.json_value()
    name = head.strip()
    try:
        if not whole:
            raise ValueError("the arguments never ended")
        args, raw = arguments(jsontext.read(body)[0])
    except ValueError as error:
        reader.unreadable(name, text + body, str(error), "plamo")
        return True
    reader.call([Call(reader.tools.named(name), args, raw=raw)], "plamo")
    return True


def _plamo(tools: Tools) -> Mapping[str, Read]:
    words = ("tool_requests", "tool_request", "tool_calls", "tool_call", "tool_name", "tool_arguments")
    frames = {_PLAMO.format(f"{edge}_{word}"): _dropped for edge in ("begin", "end") for word in words}
    return {**frames, _PLAMO.format("begin_tool_name"): _plamo_call}


def _answer(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """Hunyuan's `<answer>` around everything that is no thinking."""
    if False:
        yield
    if opener == "<answer>":
        if reader.began:
            return False
        reader.notes["answer"] = 1
    elif not reader.notes.pop("answer", 0):
        return False
    reader.mark()
    return True


FAMILIES = (
    Family("internlm", _internlm, aliases=("internlm2", "internlm2_5", "intern_s1")),
    Family(
        "command_r",
        _command_r,
        loose=lambda t: {"Action:": _action} if t else {},
        aliases=("command_r7b", "command_a", "cohere"),
        always=True,
    ),
    Family("apertus", _apertus, aliases=("apertus15",)),
    Family("gigachat", _gigachat, aliases=("gigachat3", "gigachat3_1")),
    Family("inkling", _inkling, always=True),
    Family("plamo", _plamo, aliases=("plamo3",)),
    Family(
        "hunyuan", lambda tools: {"<answer>": _answer, "</answer>": _answer}, aliases=("hunyuan_a13b",), always=True
    ),
)
