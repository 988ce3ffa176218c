"""QuestionPanel: one question with its own line for the answer; and letters to choose by, which a sentence never hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aicli.clean import sanitise
from aicli.tools.host import Question
from aicli.ui.buffer import Buffer
from aicli.ui.cells import Line, cut, wrap
from aicli.ui.keys import Key
from aicli.ui.lone import STILL, LoneKey, laid
from aicli.ui.theme import ASKS, BOLD, DIM, STYLE_OF, YOU
from aicli.ui.words import Words


class QuestionPanel:
    """Appears once the input was still; what is typed then is the answer. `answer(None)` when the person gives none."""

    def __init__(self, words: Words, question: Question, answer: Callable[[str | None], None], last_key: float) -> None:
        self.words, self.question = words, question
        self._answer = answer
        self._last = last_key
        self._line = Buffer()
        self._open = False
        self._fault = ""

    def is_open(self, now: float) -> bool:
        self._open = self._open or now - self._last >= STILL
        return self._open

    @property
    def deadline(self) -> float | None:
        return None if self._open else self._last + STILL

    def typed(self, now: float) -> None:
        self._last = now

    def tick(self, now: float) -> None:
        pass

    def key(self, key: Key, now: float) -> tuple[str, bool]:
        b = self._line
        self._fault = ""
        if key.name in ("char", "paste"):
            b.insert(key.text)
        elif key.name in ("ctrl-j", "alt-enter"):
            b.insert("\n")
        elif key.name == "enter":
            self._submit()
        elif key.name == "esc":
            self._answer(None)
        elif key.name == "backspace":
            b.delete(b.caret - 1, b.caret)
        elif key.name == "ctrl-u":
            b.delete(0, b.caret)
        elif key.name in ("left", "right"):
            b.caret = max(0, min(len(b.items), b.caret + (1 if key.name == "right" else -1)))
        elif key.name in ("home", "ctrl-a"):
            b.caret = 0
        elif key.name in ("end", "ctrl-e"):
            b.caret = len(b.items)
        else:
            return "", True
        return "", False

    def _submit(self) -> None:
        text, choices = self._line.text.strip(), self.question.choices
        if text.isdigit() and 1 <= int(text) <= len(choices):
            self._answer(choices[int(text) - 1])
        elif self.question.only_choices and choices and text not in choices:
            self._fault = self.words("question.wrong", n=len(choices))
        elif text:
            self._answer(text)

    def lines(self, columns: int, limit: int, draft: str = "") -> tuple[list[Line], tuple[int, int] | None]:
        text = sanitise(self.question.text).strip()
        mark: Line = ((ASKS + " ", STYLE_OF[ASKS]),)
        head = [
            line
            for i, row in enumerate(text.split("\n"))
            for line in wrap(((row, BOLD),), columns, first=(("  ", ""),) if i else mark, rest=(("  ", ""),))
        ]
        choices = [
            line
            for n, choice in enumerate(self.question.choices, 1)
            for line in wrap(
                ((sanitise(choice, keep_newlines=False), ""),),
                columns,
                first=((f"  {n}  ", BOLD),),
                rest=(("     ", ""),),
            )
        ]
        key = "pick" if self.question.choices else "skip"
        if self.question.only_choices and self.question.choices:
            key = "only"
        note = self._fault or self.words(f"question.{key}")
        if key != "skip" and not self._fault:
            note += " · " + self.words("question.skip")
        line, caret = self._line.view(columns, 2, ((YOU + " ", BOLD),), (("  ", ""),))
        notes = wrap(((note, DIM),), columns, first=(("  ", ""),), rest=(("  ", ""),))[: max(1, limit - len(line) - 2)]
        room = max(1, limit - len(line) - len(notes))
        upper = [*head, *choices]
        if len(upper) > room:
            upper = [*upper[: max(1, room - 1)], (("  " + self.words("fold.more", n=len(upper) - room + 1), DIM),)]
        upper = upper[:room]
        lines = [*upper, *line, *notes]
        return lines[:limit], (len(upper) + caret[0], caret[1])

    def whole(self, columns: int) -> tuple[str, list[Line]]:
        return "", wrap(((sanitise(self.question.text), ""),), columns)


class LetterPanel:
    """A question that a lone letter answers: `choices` are (letter, label). Esc answers "" if `optional`."""

    def __init__(
        self,
        words: Words,
        head: Sequence[Line],
        choices: Sequence[tuple[str, str]],
        answer: Callable[[str], None],
        last_key: float,
    ) -> None:
        self.words, self._head, self._choices = words, list(head), list(choices)
        self._answer = answer
        self._lone = LoneKey(last_key)
        self._open = False
        self._flash = False

    def is_open(self, now: float) -> bool:
        self._open = self._open or now - self._lone.last >= STILL
        self._lone.settle(now)
        return self._open

    @property
    def deadline(self) -> float | None:
        return self._lone.deadline if self._open else self._lone.last + STILL

    def typed(self, now: float) -> None:
        self._lone.last = now

    def tick(self, now: float) -> None:
        letter = self._lone.due(now)
        if letter:
            self._answer(letter)

    def key(self, key: Key, now: float) -> tuple[str, bool]:
        self._flash = False
        if key.name == "char":
            rest = self._lone.press(key.text, "".join(k for k, _ in self._choices), now)
            self._flash = bool(rest)
            return rest, False
        if key.name.startswith("focus"):
            return "", True
        held = self._lone.other(now)
        if key.name in ("esc", "ctrl-c", "ctrl-d") and not held:
            self._answer("")
            return "", False
        self._flash = True
        return held, key.name != "enter"

    def lines(self, columns: int, limit: int, draft: str = "") -> tuple[list[Line], tuple[int, int] | None]:
        rows = laid(self._choices, columns, self._lone.candidate, self._flash, self._lone.deaf)
        if draft:
            rows.append(cut(((self.words("approval.draft", text=" ".join(draft.split())), DIM),), columns))
        head = [part for line in self._head for part in wrap(line, columns, rest=(("  ", ""),))]
        return [*head[: max(0, limit - len(rows))], *rows][:limit], None

    def whole(self, columns: int) -> tuple[str, list[Line]]:
        return "", list(self._head)
