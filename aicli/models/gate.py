"""Gate: a model's text passes as it is up to the first sign of markup; only then the dialects are loaded to read it."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aicli.content.request import ToolSpec
from aicli.content.stream import StreamEvent, TextDelta

if TYPE_CHECKING:
    from aicli.models.dialects import Parser

SIGNS = (
    *("<", "[", "{", "```", "~~~", ">>>", "◁", "]<]", "call:", "to=", "Action:"),
    *("assistant<", "function call<", "functools[", "Here's my thought process:"),
    *("Here is my thought process:", "Here are my reasoning steps:"),
)
AFTER_NAME = ("\n", "[", "<")
"""Every marker of every dialect begins with a sign, or with a tool's name and one of these; a test holds them to it."""


class Gate:
    """Reads one reply as a Parser does, and becomes one at the first sign. Cut the text anywhere."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = tools
        self._signs = _signs(tuple(tool.name for tool in tools))
        self._passed: list[str] = []
        self._space = ""  # white space waits for what follows it
        self._rest = ""  # what may be the first part of a sign
        self._parser: Parser | None = None

    @property
    def problem(self) -> str:
        """What was wrong with text that clearly tried to be a call, "" if nothing was."""
        return self._parser.problem if self._parser else ""

    def feed(self, chunk: str) -> list[StreamEvent]:
        """The events that this piece of text completes."""
        if self._parser is not None:
            return self._parser.feed(chunk)
        text = self._rest + chunk
        safe = self._signs.safe(text)
        if safe < 0:
            return self._open(text)
        self._rest = text[safe:]
        text = self._space + text[:safe]
        body = text.rstrip()
        self._space = text[len(body) :]
        if not body:
            return []
        self._passed.append(body)
        return [TextDelta(body)]

    def waiting(self) -> str:
        """Text that waits for what follows it; "" once something looks like a call."""
        return "" if self._parser is not None else self._space + self._rest

    def close(self, finish: str = "stop") -> list[StreamEvent]:
        """The events that waited for the end."""
        if self._parser is not None:
            return self._parser.close(finish)
        if self._signs.within(self._rest):
            return [*self._open(self._rest), *self.close(finish)]
        text = self._space + self._rest
        return [TextDelta(text)] if text else []

    def _open(self, text: str) -> list[StreamEvent]:
        """What a Parser says to all the text so far, without what has passed already."""
        from aicli.models.dialects import Parser  # forty modules that most replies have no use for

        self._parser = Parser(tools=self._tools)
        passed = "".join(self._passed)
        out: list[StreamEvent] = []
        left = len(passed)
        for event in self._parser.feed(passed + self._space + text):
            if left and isinstance(event, TextDelta):
                event, left = TextDelta(event.text[left:]), max(0, left - len(event.text))
                if not event.text:
                    continue
            out.append(event)
        return out


class _Signs:
    def __init__(self, literals: Sequence[str]) -> None:
        self._find = re.compile("|".join(map(re.escape, literals))).search
        self._starts = frozenset(lit[:k] for lit in literals for k in range(1, len(lit)))
        self._longest = max(map(len, literals)) - 1

    def within(self, text: str) -> bool:
        return self._find(text) is not None

    def safe(self, text: str) -> int:
        """How much of the text is before anything that may become a sign; -1 if a whole one is in it."""
        if self._find(text):
            return -1
        for at in range(max(0, len(text) - self._longest), len(text)):
            if text[at:] in self._starts:
                return at
        return len(text)


@functools.lru_cache(maxsize=16)
def _signs(tools: tuple[str, ...]) -> _Signs:
    return _Signs((*SIGNS, *(name + after for name in tools for after in AFTER_NAME)))
