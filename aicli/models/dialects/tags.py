"""Calls whose every argument stands between tags: one reader for all the shapes of such tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import field
from typing import Any

from aicli.content.parts import JsonObject
from aicli.late import dataclass
from aicli.models.dialects import jsontext
from aicli.models.dialects.calls import Call
from aicli.models.dialects.reader import CUT_OFF, Reader
from aicli.models.dialects.source import markers
from aicli.models.dialects.typed import convert


@dataclass(frozen=True)
class Form:
    """The literals of one shape. A head runs from `*_open` to a `head_ends`; `key` reads (name, attributes) out of it.

    `block_open` and `block_close` are the tags around calls. `value` turns (text, attributes, schema) into a value.
    """

    call_open: tuple[str, ...]
    call_close: tuple[str, ...]
    param_open: tuple[str, ...]
    param_close: tuple[str, ...]
    block_open: tuple[str, ...] = ()
    block_close: tuple[str, ...] = ()
    head_ends: tuple[str, ...] = (">",)
    value_open: str = ""
    trim: bool = True  # one newline at each end of a value belongs to the markup
    key: Callable[[str], tuple[str, Mapping[str, str]]] = lambda head: (head.strip(), {})
    value: Callable[[str, Mapping[str, str], JsonObject | None], Any] = lambda text, attrs, schema: convert(
        text, schema
    )


@dataclass
class _Reading:
    """One call while it is read."""

    reader: Reader
    form: Form
    name: str
    raw: list[str]
    args: JsonObject = field(default_factory=dict)
    key: str = ""  # the parameter that is being read

    def collect(self, literals: tuple[str, ...]) -> Generator[None, None, tuple[str, str]]:
        text, marker = yield from self.reader.source.collect(markers(frozenset(literals)))
        self.raw.append(text + marker)
        return text, marker

    def give_back(self, marker: str) -> None:
        self.reader.source.unread(marker)
        self.raw[-1] = self.raw[-1][: len(self.raw[-1]) - len(marker)]


def read_call(reader: Reader, form: Form, name: str, head: str, dialect: str) -> Generator[None, None, None]:
    """Reads the parameters of a call whose head has been read, and says the call."""
    call = _Reading(reader, form, name, [head])
    stops = (
        *form.param_open,
        *form.call_close,
        *form.block_close,
        *form.call_open,
        *form.block_open,
        *form.param_close,
    )
    whole = True
    closed = False
    loose = ""
    while whole:
        text, marker = yield from call.collect(stops)
        loose += text.strip()
        if marker in form.param_close:
            continue
        if marker in form.param_open:
            whole = yield from _parameter(call)
            continue
        closed = marker in form.call_close or marker in form.block_close
        if marker and marker not in form.call_close:
            call.give_back(marker)
        whole = bool(marker) or (bool(call.args) and not reader.truncated)
        break
    ahead = yield from reader.source.peek(64)
    after = next((ahead.lstrip()[len(c) :] for c in form.block_close if ahead.lstrip().startswith(c)), ahead)
    said = Call(reader.tools.named(name), call.args)
    if closed and reader.mentioned(after, [said], loose if not call.args else "") and not loose.startswith("{"):
        reader.plain("".join(call.raw) + reader.source.take(len(ahead) - len(after)))
    elif loose.startswith("{") and not call.args:
        _from_json(call, loose, dialect, closed)
    elif whole:
        reader.call([said], dialect)
    else:
        why = CUT_OFF if reader.truncated else "the call never ended"
        reader.unreadable(name.strip(), "".join(call.raw), why, dialect)


def _from_json(call: _Reading, text: str, dialect: str, closed: bool) -> None:
    """A JSON object stands where parameters should be."""
    try:
        value, _ = jsontext.read(text, closed=closed)
        if not isinstance(value, dict):
            raise ValueError("the arguments are no JSON object")
    except ValueError as error:
        call.reader.unreadable(call.name.strip(), "".join(call.raw), str(error), dialect)
        return
    call.reader.call([Call(call.reader.tools.named(call.name), value)], dialect)


def _parameter(call: _Reading) -> Generator[None, None, bool]:
    """Reads one parameter whose opener has been read. False: it never ended."""
    form, reader = call.form, call.reader
    head, end = yield from call.collect((*form.head_ends, *form.param_close, *form.call_close, *form.block_close))
    if end not in form.head_ends:
        return False
    key, attrs = form.key(head)
    call.key = key
    if form.value_open and end != form.value_open:
        ahead = yield from reader.source.peek(len(form.value_open) + 16)
        if (at := ahead.find(form.value_open)) >= 0 and not ahead[:at].strip("\\n \r\n"):
            call.raw.append(reader.source.take(at + len(form.value_open)))
    text, whole = yield from _value(call)
    if whole:
        schema = reader.tools.properties(call.name).get(key)
        text = one_newline_less(text) if form.trim else text
        call.args[key] = form.value(text, attrs, schema if isinstance(schema, dict) else None)
    return whole


def _value(call: _Reading) -> Generator[None, None, tuple[str, bool]]:
    """The text up to the parameter's end. What only looks like an end, by what follows it, is part of the value."""
    form, reader = call.form, call.reader
    stops = (
        *form.param_close,
        *form.param_open,
        *form.call_close,
        *form.block_close,
        *form.call_open,
        *form.block_open,
    )
    pieces: list[str] = []
    depth = 0
    first = -1
    while True:
        text, marker = yield from call.collect(stops)
        pieces.append(text)
        if not marker:
            break
        ahead = yield from reader.source.peek(96)
        if (depth == 0 and _ends_value(call, marker, ahead)) or not reader.second_looks:
            if marker not in form.param_close:
                call.give_back(marker)
                if _took_closers(form, pieces):
                    rest = "".join(call.raw[-2:])
                    del call.raw[-2:]
                    reader.source.unread(rest)
                    del pieces[-4:]
            return "".join(pieces), True
        if marker in form.call_open:
            depth += 1
        elif marker in form.call_close and depth:
            depth -= 1
        if first < 0 and marker in (*form.param_close, *form.call_close, *form.block_close):
            first = len(pieces)
        pieces.append(marker)
    if first < 0:
        return "".join(pieces), False
    reader.second_looks -= 1
    rest = "".join(pieces[first:])
    reader.source.unread(rest)
    joined = "".join(call.raw)
    call.raw[:] = [joined[: len(joined) - len(rest)]]
    return "".join(pieces[:first]), True


def _took_closers(form: Form, pieces: list[str]) -> bool:
    """Does a value end with what closes its parameter and its call? Then an opener in it was only mentioned."""
    tail = pieces[-4:]
    closes = len(tail) == 4 and tail[0] in form.param_close and tail[2] in form.call_close
    return closes and not tail[1].strip() and not tail[3].strip()


def _ends_value(call: _Reading, marker: str, ahead: str) -> bool:
    """Is a marker inside an open value its end?"""
    form = call.form
    after = _GAP.sub("", ahead).rstrip()
    if marker in form.param_close:
        expected = (
            *form.param_open,
            *form.call_close,
            *form.block_close,
            *form.param_close,
            *form.call_open,
            *form.block_open,
        )
        return not after or after.startswith(expected)
    if marker in form.param_open:
        known = call.reader.tools.properties(call.name)
        found = [ahead.find(end) for end in form.head_ends if end in ahead]
        key = form.key(ahead[: min(found)])[0] if found else ""
        return bool(found) and (not known or (key in known and key not in call.args and key != call.key))
    if marker in form.call_close:
        expected = (*form.block_close, *form.block_open, *form.call_open, "<|")
        return not after or after.startswith(expected)
    return marker in form.block_close and (not after or after.startswith((*form.block_open, "<|")))


_GAP = re.compile(r"^(?:\s|\\n)+")
_ATTRIBUTE = re.compile(r"""([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")


def attributes(head: str) -> dict[str, str]:
    """The attributes of a tag's head, quoted or not."""
    return {m[1]: next((g for g in m.groups()[1:] if g is not None), "") for m in _ATTRIBUTE.finditer(head)}


def named_head(head: str) -> tuple[str, Mapping[str, str]]:
    """(the name attribute, all attributes); a head that is only a quoted word is the name."""
    found = attributes(head)
    return found.get("name", head.strip().strip("=\"' ")), found


def one_newline_less(text: str) -> str:
    """The text without one leading and one trailing newline; more of them are data."""
    text = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
    return text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")
