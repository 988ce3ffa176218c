"""Gemma 4 and FunctionGemma: `call:f{key:<|"|>text<|"|>,n:42}` with bare keys and delimiters of their own for strings."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from typing import Any

from aicli.content.parts import JsonObject
from aicli.late import dataclass
from aicli.models.dialects.calls import Call, Tools, read_calls
from aicli.models.dialects.reader import CUT_OFF, Family, Read, Reader, stray, wait_for
from aicli.models.dialects.source import markers
from aicli.models.dialects.typed import convert

_HEAD = re.compile(r"\s*:?\s*(?:call\s*:\s*)?([^\s:{}<>\[\]\"'`]{1,128})\s*(?=\{)|\s*(?=[\[{]\s*[{\"'])")
_BARE_HEAD = re.compile(r"([^\s:{}<>\[\]\"'`]{1,128})\s*(?=\{)")


@dataclass(frozen=True)
class _Form:
    opener: str
    closer: str
    quote: str
    ends: tuple[str, ...]
    dialect: str


_GEMMA = _Form("<|tool_call>", "<tool_call|>", '<|"|>', ("<|tool_response>", "<turn|>"), "gemma4")
_FUNCTION = _Form("<start_function_call>", "<end_function_call>", "<escape>", ("<end_of_turn>",), "functiongemma")


def _read(form: _Form) -> Read:
    def read(reader: Reader, opener: str) -> Generator[None, None, bool]:
        head = yield from wait_for(reader.source, _HEAD, 200)
        if head is None:
            return False
        name = head.group(1) or ""
        text = opener + reader.source.take(head.end())
        body, ended_by = yield from _body(reader, form)
        _settle(reader, form, name, body, ended_by, text + body + ended_by)
        return True

    return read


def _body(reader: Reader, form: _Form) -> Generator[None, None, tuple[str, str]]:
    """Text up to the closer. One inside an open string ends it only if nothing but markup follows."""
    stops = markers(frozenset((form.closer, form.quote, form.opener, *form.ends)))
    pieces: list[str] = []
    inside = False
    first = -1
    while True:
        text, marker = yield from reader.source.collect(stops)
        pieces.append(text)
        if not marker:
            break
        if marker == form.quote:
            inside = not inside
        elif not inside or not reader.second_looks or (yield from _nothing_follows(reader, form)):
            if marker != form.closer:
                reader.source.unread(marker)
            return "".join(pieces), marker if marker == form.closer else " "
        elif first < 0 and marker == form.closer:
            first = len(pieces)
        pieces.append(marker)
    if first < 0:
        return "".join(pieces), ""
    reader.second_looks -= 1
    reader.source.unread("".join(pieces[first + 1 :]))
    return "".join(pieces[:first]), form.closer


def _nothing_follows(reader: Reader, form: _Form) -> Generator[None, None, bool]:
    after = (yield from reader.source.peek(48)).lstrip()
    return not after or after.startswith((form.opener, form.closer, *form.ends))


def _settle(reader: Reader, form: _Form, name: str, body: str, ended_by: str, text: str) -> None:
    if not ended_by and reader.truncated:
        reader.unreadable(name, text, CUT_OFF, form.dialect)
        return
    try:
        if not name:
            calls, _ = read_calls(body, reader.tools, closed=bool(ended_by))
            reader.call(calls, form.dialect)
            return
        scanner = _Scanner(body, form.quote, closed=bool(ended_by))
        args = scanner.read(reader.tools.properties(name))
    except ValueError as error:
        reader.unreadable(name, text, str(error), form.dialect)
        return
    reader.call([Call(reader.tools.named(name), args)], form.dialect)
    if not ended_by and scanner.rest.strip():
        reader.plain(scanner.rest)


_RAW_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(?=\s*(?:[,}\]:]|$))', re.S)
_SINGLE = re.compile(r"'(.*?)'(?=\s*(?:[,}\]]|$|<))", re.S)
_KEY = re.compile(r"\s*([^\s:,{}\[\]<\"'][^:,{}\[\]<\"']*?)\s*:")
_VALUE_END = re.compile(r"\s*(?:,\s*(?=[^\s,:{}\[\]]+\s*:)|[}\]])")
_ESCAPES = re.compile(r'\\(["\\/nrt])')


class _Scanner:
    """Reads the braces. `closed`: brackets that are missing at the end count as there."""

    def __init__(self, text: str, quote: str, *, closed: bool) -> None:
        self.text = text
        self.quote = quote
        self.closed = closed
        self.depth = 0
        self.rest = ""

    def read(self, properties: JsonObject) -> JsonObject:
        at = self._skip(0)
        if self.text[at : at + 1] != "{":
            raise ValueError("the arguments do not begin with a brace")
        value, at = self._object(at + 1, properties)
        self.rest = self.text[at:]
        return value

    def _skip(self, at: int) -> int:
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at

    def _object(self, at: int, properties: JsonObject) -> tuple[JsonObject, int]:
        self.depth += 1
        found: JsonObject = {}
        while True:
            at = self._skip(at)
            if self.text[at : at + 1] == ",":
                at += 1
                continue
            if self._over(at, "}"):
                self.depth -= 1
                return found, at + 1
            key, at = self._key(at)
            schema = properties.get(key)
            schema = schema if isinstance(schema, dict) else None
            found[key], at = self._value(at, schema)

    def _over(self, at: int, bracket: str) -> bool:
        if at >= len(self.text):
            if not self.closed:
                raise ValueError("the arguments never end")
            return True
        return self.text[at] == bracket

    def _key(self, at: int) -> tuple[str, int]:
        if self.text.startswith(self.quote, at):
            end = self.text.find(self.quote, at + len(self.quote))
            after = self._skip(end + len(self.quote)) if end >= 0 else -1
            if end >= 0 and self.text[after : after + 1] == ":":
                return self.text[at + len(self.quote) : end], after + 1
        for pattern in (_RAW_STRING, _SINGLE):
            quoted = pattern.match(self.text, at)
            if quoted and self.text[self._skip(quoted.end()) : self._skip(quoted.end()) + 1] == ":":
                return quoted.group(1), self._skip(quoted.end()) + 1
        match = _KEY.match(self.text, at)
        if match is None:
            raise ValueError(f"a key was expected at {self.text[at : at + 20]!r}")
        return match.group(1), match.end()

    def _value(self, at: int, schema: JsonObject | None) -> tuple[Any, int]:
        at = self._skip(at)
        if self.text.startswith(self.quote, at):
            return self._string(at + len(self.quote))
        char = self.text[at : at + 1]
        if char == "{" and self.depth < 60:
            inner = (schema or {}).get("properties")
            return self._object(at + 1, inner if isinstance(inner, dict) else {})
        if char == "[" and self.depth < 60:
            return self._array(at + 1, (schema or {}).get("items"))
        if raw := _RAW_STRING.match(self.text, at):
            return _ESCAPES.sub(_unescape, raw.group(1)), raw.end()
        if single := _SINGLE.match(self.text, at):
            end = single.end()
            return single.group(1), end + len(self.quote) if self.text.startswith(self.quote, end) else end
        return self._word(at, schema)

    def _string(self, at: int) -> tuple[str, int]:
        end = self.text.find(self.quote, at)
        if end >= 0:
            return self.text[at:end], end + len(self.quote)
        if not self.closed:
            raise ValueError("a string never ends")
        tail = re.search(r"[}\]\s]*$", self.text[at:])
        spare = 0
        while (
            tail
            and spare < self.depth
            and self.text[at:].rstrip()[len(self.text[at:].rstrip()) - spare - 1 :][:1] in "}]"
        ):
            spare += 1
        end = len(self.text[at:].rstrip()) + at - spare if spare else len(self.text)
        return self.text[at:end], end

    def _array(self, at: int, items: Any) -> tuple[list[Any], int]:
        self.depth += 1
        found: list[Any] = []
        while True:
            at = self._skip(at)
            if self.text[at : at + 1] == ",":
                at += 1
                continue
            if self._over(at, "]"):
                self.depth -= 1
                return found, at + 1
            if self.text[at] == "}":
                self.depth -= 1
                return found, at
            value, at = self._value(at, items if isinstance(items, dict) else None)
            found.append(value)

    def _word(self, at: int, schema: JsonObject | None) -> tuple[Any, int]:
        match = _VALUE_END.search(self.text, at)
        if match is None and not self.closed:
            raise ValueError("a value never ends")
        end = match.start() if match else len(self.text)
        word = self.text[at:end]
        if schema is None and "," in word and re.fullmatch(r"[\w.+-]+", word.split(",", 1)[0].strip()):
            end = at + word.index(",")
            word = self.text[at:end]
        if end == at and not match:
            raise ValueError("a value is missing")
        return convert(word, schema, guess=True) if word.strip() else None, max(end, at)


def _unescape(match: re.Match[str]) -> str:
    return {"n": "\n", "r": "\r", "t": "\t"}.get(match.group(1), match.group(1))


def _bare(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """`call:f{…}` whose tag was lost."""
    if opener == "call:" and not (reader.line_start or reader.after_call):
        return False
    head = yield from wait_for(reader.source, _BARE_HEAD, 160)
    if head is None or not reader.tools.find(head.group(1)):
        return False
    return (yield from _read(_GEMMA)(reader, opener))


def _gemma4(tools: Tools) -> Mapping[str, Read]:
    return {_GEMMA.opener: _read(_GEMMA), _GEMMA.closer: stray, "<|tool_response>": stray, "<tool_response|>": stray}


def _functiongemma(tools: Tools) -> Mapping[str, Read]:
    return {
        _FUNCTION.opener: _read(_FUNCTION),
        _FUNCTION.closer: stray,
        "<start_function_response>": stray,
        "<end_function_response>": stray,
    }


FAMILIES = (
    Family("gemma4", _gemma4, loose=lambda tools: {"call:": _bare, "<call>": _bare}, aliases=("gemma",)),
    Family("functiongemma", _functiongemma, aliases=("function_gemma",)),
)
