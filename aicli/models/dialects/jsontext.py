"""JSON as models write it: where a value ends, and the ladder of repairs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from aicli.models.dialects.typed import literal

_OUTSIDE = re.compile(r"""["'{}\[\]]""").search
_WITH_PARENS = re.compile(r"""["'{}\[\]()]""").search
_ODD = re.compile(r"""["'{}\[\]]|[^\s\w:,.+-]""").search
_CLOSERS = {"{": "}", "[": "]", "(": ")"}
_IN_DOUBLE = re.compile(r'["\\]').search
_IN_SINGLE = re.compile(r"['\\]").search
_DECODER = json.JSONDecoder(strict=False)
_LARGEST_REPAIR = 100_000


class Balance:
    """Follows the brackets and strings of one JSON value over pieces of text.

    `stop_at_odd`: a character that JSON has no place for, outside strings, ends it too.
    """

    def __init__(self, *, stop_at_odd: bool = False, parens: bool = False) -> None:
        self.odd = False
        self._search = _ODD if stop_at_odd else _WITH_PARENS if parens else _OUTSIDE
        self.open: list[str] = []
        self.quote = ""
        self.started = False
        self.done = False
        self._escaped = False
        self._before = ""  # last character outside strings that is no space: a ' opens a string only after some

    def feed(self, text: str) -> int:
        """The index just behind the value's end, or -1 when it goes on."""
        i = 0
        while i < len(text) and not self.done:
            if self._escaped:
                self._escaped = False
                i += 1
            elif self.quote:
                match = (_IN_DOUBLE if self.quote == '"' else _IN_SINGLE)(text, i)
                if match is None:
                    return -1
                i = match.end()
                if match.group() == "\\":
                    self._escaped = True
                else:
                    self._before, self.quote = self.quote, ""
            else:
                i = self._outside(text, i)
        return i if self.done else -1

    def _outside(self, text: str, i: int) -> int:
        match = self._search(text, i)
        if match and match.group() in "()" and self._search is _ODD:
            self.odd = self.done = True
            return match.start()
        gap = text[i : match.start() if match else len(text)].rstrip()
        self._before = gap[-1] if gap else self._before
        if match is None:
            return len(text)
        char = match.group()
        if char not in "\"'{}[]()":
            self.odd = self.done = True
            return match.start()
        if char == '"' or (char == "'" and self._before in "{[,:(="):
            self.quote = char
        elif char in _CLOSERS:
            self.open.append(_CLOSERS[char])
            self.started = True
        elif char in "}])":
            if char in self.open:
                while self.open.pop() != char:
                    pass
            self.done = self.started and not self.open
        self._before = char
        return match.end()


def strict(text: str) -> Any:
    """The JSON value. Raises ValueError, also for text nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read(text: str, *, closed: bool = True, fits: Callable[[Any], bool] | None = None) -> tuple[Any, str]:
    """(value, what follows it), climbing the ladder. Raises ValueError when no rung holds.

    `closed`: missing brackets may be added. `fits` judges what only a library could repair; None: no such repair.
    """
    text = text.strip()
    if not text:
        raise ValueError("nothing there")
    try:
        return strict(text), ""
    except ValueError as error:
        first = error
    for candidate in (text, without_commas(text)):
        try:
            value, end = _DECODER.raw_decode(candidate)
            return value, candidate[end:].strip()
        except (ValueError, RecursionError):
            pass
    whole = _ends(text)
    if whole is None and closed and (added := _closers(text)):
        try:
            return _DECODER.decode(without_commas(text.rstrip(", \n\t") + added)), ""
        except (ValueError, RecursionError):
            pass
    body, rest = (text[:whole], text[whole:].strip()) if whole else (text, "")
    value = literal(body)
    if isinstance(value, (dict, list)):
        return value, rest
    if fits is not None and (whole or (closed and not _in_string(text))) and len(text) <= _LARGEST_REPAIR:
        value = _repaired(text if closed else body)
        if isinstance(value, (dict, list)) and fits(value):
            return value, ""
    raise ValueError(str(first))


def _ends(text: str) -> int | None:
    end = Balance().feed(text)
    return end if end > 0 else None


def _in_string(text: str) -> bool:
    """Does the text end inside a string? Then part of the value is missing, and no repair may make it up."""
    balance = Balance()
    balance.feed(text)
    return bool(balance.quote)


def _closers(text: str) -> str:
    balance = Balance()
    balance.feed(text)
    return "" if balance.quote or len(balance.open) > 64 else "".join(reversed(balance.open))


def _repaired(text: str) -> Any:
    import json_repair

    try:
        return json_repair.loads(text)
    except (ValueError, RecursionError, TypeError, IndexError, KeyError):
        return None


_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.S)


def without_commas(text: str) -> str:
    """The text without commas that stand before a closing bracket, outside strings."""
    return _COMMA.sub(lambda m: "" if m.group() == "," else m.group(), text)


def dumps(value: Any) -> str:
    """JSON for a model to read: one line, letters as they are."""
    return json.dumps(value, ensure_ascii=False)
