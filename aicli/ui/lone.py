"""LoneKey: a letter decides only when it stands alone in time, so that a sentence being typed decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from aicli.ui.cells import Line, line_width, width, wrap
from aicli.ui.theme import BOLD, DIM

STILL = 0.7
"""Seconds without a key before a question appears, and before a letter may count again after typing."""
ALONE = 0.25
"""Seconds of silence after a letter before it counts."""


class LoneKey:
    """`press` gets each character; `due` says which letter has decided by now. `last` is the time of the last key.

    While `deaf`, a letter would be the draft's; `settle` ends that in time.
    """

    def __init__(self, last: float) -> None:
        self.last = last
        self.candidate = ""
        self.deaf = False
        self._since = 0.0

    def settle(self, now: float) -> None:
        """Once it was still long enough, a letter counts again."""
        if self.deaf and now - self.last >= STILL:
            self.deaf = False

    def press(self, text: str, letters: str, now: float) -> str:
        """The characters that belong to the draft: all but a letter that may yet decide."""
        held, self.candidate = self.candidate, ""
        still = now - self.last >= STILL or self.last < 0
        self.last, self.deaf = now, True
        if held:
            return held + text
        if still and len(text) == 1 and text in letters:
            self.candidate, self._since, self.deaf = text, now, False
            return ""
        return text

    def other(self, now: float) -> str:
        """Any key that is no character: what was held goes to the draft."""
        held, self.candidate = self.candidate, ""
        self.last, self.deaf = now, True
        return held

    @property
    def deadline(self) -> float | None:
        if self.candidate:
            return self._since + ALONE
        return self.last + STILL if self.deaf else None

    def due(self, now: float) -> str:
        """The letter that stood alone long enough, once."""
        if not self.candidate or now < self._since + ALONE:
            return ""
        letter, self.candidate, self.deaf = self.candidate, "", True
        return letter


def laid(choices: Sequence[tuple[str, str]], columns: int, lit: str, flash: bool, deaf: bool = False) -> list[Line]:
    """(letter, label) pairs side by side in as many lines as they need; none is cut. `lit` stands out, or all do.

    All are dim while `deaf`, when a letter would not count.
    """
    lines: list[Line] = []
    current: list[tuple[str, str]] = []
    used = 0
    for letter, label in choices:
        need = len(letter) + 1 + width(label)
        if current and used + 3 + need > columns:
            lines.append(tuple(current))
            current, used = [], 0
        current.append(("   " if current else "  ", ""))
        used += 3 if used else 2
        style = DIM if deaf else "7" if letter == lit or flash else BOLD
        current += [(letter, style), (" " + label, DIM if deaf else "")]
        used += need
    if current:
        lines.append(tuple(current))
    fits = [line_width(line) <= columns for line in lines]
    rest: Line = (("    ", ""),)
    return [
        p for line, fit in zip(lines, fits, strict=True) for p in ([line] if fit else wrap(line, columns, rest=rest))
    ]
