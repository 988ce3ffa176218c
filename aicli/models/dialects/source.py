"""Text that comes in pieces, read as if it were whole: no answer depends on where the pieces were cut."""

from __future__ import annotations

import functools
import re
from collections.abc import Generator, Iterable

Wait = Generator[None, None, None]
"""A coroutine of the reader: each bare `yield` waits for the next piece or the end."""


class Markers:
    """A set of literals to look for. The longest that fits at the leftmost place wins."""

    def __init__(self, literals: Iterable[str]) -> None:
        ordered = sorted(set(literals), key=len, reverse=True)
        self._find = re.compile("|".join(map(re.escape, ordered)) or r"(?!)").search
        self._starts = {lit[:k] for lit in ordered for k in range(1, len(lit))}
        self._longest = len(ordered[0]) - 1 if ordered else 0

    def find(self, text: str, start: int, ended: bool) -> tuple[int, int]:
        """(begin, end) of the first marker; (safe, -1) when there is none: text before `safe` holds no part of one."""
        match = self._find(text, start)
        begin = match.start() if match else len(text)
        if not ended:
            for at in range(max(start, len(text) - self._longest), min(begin + 1, len(text))):
                if text[at:] in self._starts:
                    return at, -1
        return (begin, match.end()) if match else (begin, -1)


@functools.lru_cache(maxsize=256)
def markers(literals: frozenset[str]) -> Markers:
    """The markers of these literals, made once."""
    return Markers(literals)


class Source:
    """The text not yet read. All methods that wait are coroutines."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        self.ended = False

    def push(self, piece: str) -> None:
        self._text = self._text[self._at :] + piece
        self._at = 0

    def step(self, markers: Markers) -> Generator[None, None, tuple[str, str]]:
        """(text, "") as soon as some text is safely no marker, (text, marker) at one, ("", "") at the end."""
        while True:
            begin, end = markers.find(self._text, self._at, self.ended)
            if end >= 0 or begin > self._at:
                text = self._text[self._at : begin]
                marker = self._text[begin:end] if end >= 0 else ""
                self._at = end if end >= 0 else begin
                return text, marker
            if self.ended:
                return "", ""
            yield

    def collect(self, markers: Markers) -> Generator[None, None, tuple[str, str]]:
        """All the text up to the next marker, and the marker, "" at the end."""
        pieces: list[str] = []
        while True:
            text, marker = yield from self.step(markers)
            pieces.append(text)
            if marker or not text:
                return "".join(pieces), marker

    def peek(self, length: int) -> Generator[None, None, str]:
        """The next `length` characters, fewer only at the end; nothing is read."""
        while len(self._text) - self._at < length and not self.ended:
            yield
        return self._text[self._at : self._at + length]

    def take(self, length: int) -> str:
        """Reads what was peeked."""
        text = self._text[self._at : self._at + length]
        self._at += len(text)
        return text

    def space(self) -> Generator[None, None, str]:
        """Reads white space."""
        pieces: list[str] = []
        while True:
            match = _SPACE(self._text, self._at)
            assert match is not None
            pieces.append(match.group())
            self._at = match.end()
            if self._at < len(self._text) or self.ended:
                return "".join(pieces)
            yield

    def chunk(self) -> Generator[None, None, str]:
        """Whatever has come, "" at the end. For readers that keep their own state from one character to the next."""
        while self._at >= len(self._text) and not self.ended:
            yield
        text = self._text[self._at :]
        self._at = len(self._text)
        return text

    def unread(self, text: str) -> None:
        """Puts back the end of what was read last."""
        if self._at >= len(text):
            self._at -= len(text)
        else:
            self._text = text + self._text[self._at :]
            self._at = 0


_SPACE = re.compile(r"\s*").match
