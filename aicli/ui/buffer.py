"""The text being typed: grapheme clusters and whole pastes, a caret, words, undo, and how it looks in a few lines."""

from __future__ import annotations

from collections.abc import Sequence

from aicli.clean import sanitise
from aicli.late import dataclass
from aicli.ui.cells import Line, clusters, width
from aicli.ui.theme import CYAN
from aicli.ui.translate import said

TOKEN_LINES = 5


@dataclass(frozen=True, slots=True)
class Paste:
    """A paste of more than five lines, one item of the line that shows its label; `text` is what is sent."""

    text: str
    label: str


Item = str | Paste


def items_of(text: str) -> list[Item]:
    if text.isascii():
        return list(text)
    return [c for row in text.splitlines(keepends=True) for c, _, _ in clusters(row)]


def text_of(items: Sequence[Item]) -> str:
    return "".join(i if isinstance(i, str) else i.text for i in items)


class Buffer:
    """Items and a caret between them (0 … len)."""

    def __init__(self, text: str = "") -> None:
        self.items: list[Item] = items_of(text)
        self.caret = len(self.items)
        self.pastes = 0
        self._undo: list[tuple[list[Item], int]] = []
        self._killed: list[Item] = []

    @property
    def text(self) -> str:
        return text_of(self.items)

    @property
    def before(self) -> str:
        """The text before the caret."""
        return text_of(self.items[: self.caret])

    def set(self, text: str) -> None:
        self._keep()
        self.items = items_of(text)
        self.caret = len(self.items)

    def restore(self, items: Sequence[Item]) -> None:
        self.items = list(items)
        self.caret = len(self.items)

    def _keep(self) -> None:
        self._undo.append((list(self.items), self.caret))
        del self._undo[:-200]

    def undo(self) -> None:
        if self._undo:
            self.items, self.caret = self._undo.pop()

    def insert(self, text: str) -> None:
        """Typed text at the caret; a mark that joins the character before it becomes one cluster with it."""
        self._keep()
        start = self.caret
        previous = self.items[start - 1] if start else None
        if isinstance(previous, str) and previous != "\n" and not text.isascii():
            start -= 1
            text = previous + text
        fresh = items_of(text)
        self.items[start : self.caret] = fresh
        self.caret = start + len(fresh)

    def paste(self, text: str) -> None:
        """A paste: short ones as text, long ones as a token; the same paste again right behind its token opens it."""
        text = text.expandtabs(4)
        previous = self.items[self.caret - 1] if self.caret else None
        if text.count("\n") < TOKEN_LINES:
            self.insert(text)
        elif isinstance(previous, Paste) and previous.text == text:
            self.open_token()
        else:
            self._keep()
            self.pastes += 1
            label = said(f"[paste {self.pastes}: {text.count(chr(10)) + 1} lines]")
            self.items.insert(self.caret, Paste(text, label))
            self.caret += 1

    def open_token(self) -> bool:
        """Turns the token before the caret (or the last one) into its text. False when there is none."""
        for i in [self.caret - 1, *range(len(self.items) - 1, -1, -1)]:
            token = self.items[i] if 0 <= i < len(self.items) else None
            if isinstance(token, Paste):
                self._keep()
                opened = items_of(token.text)
                self.items[i : i + 1] = opened
                self.caret = i + len(opened)
                return True
        return False

    def delete(self, start: int, end: int, *, kill: bool = False) -> None:
        start, end = max(0, start), min(len(self.items), end)
        if start >= end:
            return
        self._keep()
        if kill:
            self._killed = self.items[start:end]
        del self.items[start:end]
        self.caret = start

    def yank(self) -> None:
        self._keep()
        self.items[self.caret : self.caret] = self._killed
        self.caret += len(self._killed)

    def word_left(self) -> int:
        at = self.caret
        while at and not self._wordy(at - 1):
            at -= 1
        while at and self._wordy(at - 1):
            at -= 1
        return at

    def word_right(self) -> int:
        at = self.caret
        while at < len(self.items) and not self._wordy(at):
            at += 1
        while at < len(self.items) and self._wordy(at):
            at += 1
        return at

    def _wordy(self, at: int) -> bool:
        item = self.items[at]
        return isinstance(item, Paste) or item.isalnum() or item == "_"

    def line_start(self) -> int:
        at = self.caret
        while at and self.items[at - 1] != "\n":
            at -= 1
        return at

    def line_end(self) -> int:
        at = self.caret
        while at < len(self.items) and self.items[at] != "\n":
            at += 1
        return at

    def vertical(self, step: int) -> bool:
        """Moves the caret one source line up (-1) or down; False at the first or last line."""
        column = self.caret - self.line_start()
        if step < 0:
            start = self.line_start()
            if start == 0:
                return False
            self.caret = start - 1
            self.caret = min(self.line_start() + column, start - 1)
        else:
            end = self.line_end()
            if end >= len(self.items):
                return False
            self.caret = end + 1
            self.caret = min(end + 1 + column, self.line_end())
        return True

    def view(self, columns: int, limit: int, first: Line, rest: Line) -> tuple[list[Line], tuple[int, int]]:
        """At most `limit` lines around the caret, and the caret as (row, column). Prefixes have one width."""
        lead = sum(width(t) for t, _ in first)
        room = max(2, columns - lead)
        rows: list[list[tuple[str, str]]] = [[]]
        used, caret = 0, (0, 0)
        for i, item in enumerate([*self.items, ""]):
            text = _visible(item)
            cells = width(text)
            if used + cells > room or (i == self.caret and used >= room):
                rows.append([])
                used = 0
            if i == self.caret:
                caret = (len(rows) - 1, used)
            if item == "\n":
                rows.append([])
                used = 0
                continue
            if text:
                text = text if cells <= room else text[:room]
                rows[-1].append((text, CYAN if isinstance(item, Paste) else ""))
                used += min(cells, room)
        top = min(max(0, caret[0] - limit + 1), max(0, len(rows) - limit))
        shown = rows[top : top + limit]
        lines: list[Line] = [(*(first if top + n == 0 else rest), *row) for n, row in enumerate(shown)]
        return lines, (caret[0] - top, lead + caret[1])


def _visible(item: Item) -> str:
    if isinstance(item, Paste):
        return item.label
    return "" if item == "\n" else item if item.isprintable() else sanitise(item, keep_newlines=False)
