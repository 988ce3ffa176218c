"""LineEditor: keys to edits. Several lines, history with search, pastes as tokens, completion. Draws nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aicli.late import dataclass
from aicli.ui.buffer import Buffer, Item
from aicli.ui.cells import Line, cut
from aicli.ui.history import History
from aicli.ui.keys import Key
from aicli.ui.theme import BOLD, CYAN, DIM, USER, YOU

MOST_CHOICES = 5


@dataclass(frozen=True)
class Candidate:
    """`text` replaces everything from `start` (characters before the caret are counted); `note` explains it."""

    start: int
    text: str
    note: str = ""


Completer = Callable[[str], Sequence[Candidate]]


class LineEditor:
    """`key` returns what is to be done: "submit", "changed", or "" when the key is not for the editor."""

    def __init__(self, history: History | None = None, complete: Completer | None = None) -> None:
        self.buffer = Buffer()
        self.history = history or History()
        self.complete = complete
        self.candidates: Sequence[Candidate] = ()
        self._choice = -1
        self._put_away = False
        self._at: int | None = None  # place in the history
        self._kept: list[Item] = []  # the draft while the history is looked at
        self._search: str | None = None
        self._found: int | None = None

    @property
    def text(self) -> str:
        return self.buffer.text

    @property
    def empty(self) -> bool:
        return not self.buffer.items

    @property
    def searching(self) -> bool:
        return self._search is not None

    def take(self) -> str:
        """The text, which leaves the line and enters the history."""
        text = self.buffer.text
        self.history.add(text)
        self.clear()
        return text

    def clear(self) -> None:
        self.buffer = Buffer()
        self.candidates, self._choice, self._at, self._search = (), -1, None, None

    def set(self, text: str) -> None:
        self.buffer.set(text)
        self._recomplete()

    def refresh(self) -> None:
        """Completion may know more now; what the person has put away or is choosing from stays."""
        if self._choice < 0 and not self._put_away:
            self._recomplete()

    def key(self, key: Key) -> str:
        if self._search is not None:
            return self._search_key(key)
        if key.name in ("char", "paste"):
            (self.buffer.insert if key.name == "char" else self.buffer.paste)(key.text)
            self._at = None
            self._recomplete()
            return "changed"
        if key.name == "enter":
            return self._enter()
        if key.name in ("ctrl-j", "alt-enter"):
            self.buffer.insert("\n")
        elif key.name in ("tab", "shift-tab"):
            return self._tab(1 if key.name == "tab" else -1)
        elif key.name in ("up", "ctrl-p", "down", "ctrl-n"):
            return self._vertical(-1 if key.name in ("up", "ctrl-p") else 1)
        elif key.name == "ctrl-r":
            self._search, self._found = "", None
            self._kept = list(self.buffer.items)
            return "changed"
        elif key.name == "esc" and self.candidates:
            self.candidates, self._choice, self._put_away = (), -1, True
            return "changed"
        elif not self._edit(key.name):
            return ""
        self._recomplete()
        return "changed"

    def _enter(self) -> str:
        if self._choice >= 0:
            self.candidates, self._choice = (), -1
            return "changed"
        buffer = self.buffer
        if buffer.caret and buffer.items[buffer.caret - 1] == "\\":
            buffer.delete(buffer.caret - 1, buffer.caret)
            buffer.insert("\n")
            return "changed"
        return "submit"

    def _edit(self, name: str) -> bool:
        b = self.buffer
        moves: dict[str, Callable[[], int]] = {
            "left": lambda: b.caret - 1,
            "ctrl-b": lambda: b.caret - 1,
            "right": lambda: b.caret + 1,
            "ctrl-f": lambda: b.caret + 1,
            "home": b.line_start,
            "ctrl-a": b.line_start,
            "end": b.line_end,
            "ctrl-e": b.line_end,
            "alt-b": b.word_left,
            "ctrl-left": b.word_left,
            "alt-left": b.word_left,
            "alt-f": b.word_right,
            "ctrl-right": b.word_right,
            "alt-right": b.word_right,
        }
        if name in moves:
            b.caret = max(0, min(len(b.items), moves[name]()))
            return True
        cuts: dict[str, Callable[[], tuple[int, int, bool]]] = {
            "backspace": lambda: (b.caret - 1, b.caret, False),
            "delete": lambda: (b.caret, b.caret + 1, False),
            "ctrl-w": lambda: (b.word_left(), b.caret, True),
            "alt-backspace": lambda: (b.word_left(), b.caret, True),
            "alt-d": lambda: (b.caret, b.word_right(), True),
            "ctrl-u": lambda: (b.line_start(), b.caret, True),
            "ctrl-k": lambda: (b.caret, b.line_end(), True),
        }
        if name in cuts:
            start, end, kill = cuts[name]()
            b.delete(start, end, kill=kill)
        elif name == "ctrl-y":
            b.yank()
        elif name == "ctrl-_":
            b.undo()
        else:
            return False
        return True

    def _vertical(self, step: int) -> str:
        if self.candidates and self._choice >= 0:
            return self._tab(step)
        if self.buffer.vertical(step):
            return "changed"
        entries = self.history.entries
        at = len(entries) if self._at is None else self._at
        if step < 0 and at == 0:
            return "changed"
        if step > 0 and self._at is None:
            return "changed"
        if self._at is None:
            self._kept = list(self.buffer.items)
        at += step
        if at >= len(entries):
            self._at = None
            self.buffer.restore(self._kept)
        else:
            self._at = at
            self.buffer.set(entries[at])
        self.candidates, self._choice = (), -1
        return "changed"

    def _search_key(self, key: Key) -> str:
        assert self._search is not None
        if key.name == "char":
            self._search += key.text
            self._found = self.history.search(self._search)
        elif key.name == "backspace":
            self._search = self._search[:-1]
            self._found = self.history.search(self._search) if self._search else None
        elif key.name == "ctrl-r":
            older = self.history.search(self._search, self._found)
            self._found = self._found if older is None else older
        elif key.name in ("esc", "ctrl-c", "ctrl-g"):
            self._search = None
            self.buffer.restore(self._kept)
            return "changed"
        else:
            self._search = None
            return "changed" if key.name == "enter" else self.key(key)
        if self._found is not None:
            self.buffer.set(self.history.entries[self._found])
        return "changed"

    def _recomplete(self) -> None:
        self._choice, self._put_away = -1, False
        self.candidates = self.complete(self.buffer.before) if self.complete else ()

    def _tab(self, step: int) -> str:
        if not self.candidates:
            return "changed"
        before = self.buffer.before
        if len(self.candidates) == 1:
            self._put(self.candidates[0])
            self._recomplete()
            return "changed"
        self._choice = (self._choice + step) % len(self.candidates)
        choice = self.candidates[self._choice]
        if before[choice.start :] != choice.text:
            self._put(choice)
        return "changed"

    def _put(self, choice: Candidate) -> None:
        tail = self.buffer.items[self.buffer.caret :]
        head = self.buffer.before[: choice.start] + choice.text
        keep, at = self.candidates, self._choice
        self.buffer.set(head)
        self.buffer.items += tail
        self.candidates, self._choice = keep, at

    def view(self, columns: int, limit: int) -> tuple[list[Line], tuple[int, int]]:
        """The input lines (and choices below them), and the caret."""
        first: Line = ((YOU + " ", USER),)
        rest: Line = (("  ", ""),)
        extra: list[Line] = []
        if self._search is not None:
            extra = [cut((("  ⌃R ", DIM), (self._search, CYAN)), columns)]
        elif self.candidates:
            room = max(0, min(MOST_CHOICES, limit - 1))
            start = max(0, self._choice - room + 1)
            for i, choice in enumerate(self.candidates[start : start + room], start):
                style = BOLD if i == self._choice else DIM
                extra.append(cut((("  ", ""), (choice.text, style), ("  " + choice.note, DIM)), columns))
        lines, caret = self.buffer.view(columns, max(1, limit - len(extra)), first, rest)
        return [*lines, *extra], caret
