"""LoneKey: a letter decides only when it stands alone in time, so that a sentence being typed decides nothing."""

from __future__ import annotations

STILL = 0.7
"""Seconds without a key before a question appears, and before a letter may count again after typing."""
ALONE = 0.25
"""Seconds of silence after a letter before it counts."""


class LoneKey:
    """`press` gets each character; `due` says which letter has decided by now. `last` is the time of the last key."""

    def __init__(self, last: float) -> None:
        self.last = last
        self.candidate = ""
        self._since = 0.0

    def press(self, text: str, letters: str, now: float) -> str:
        """The characters that belong to the draft: all but a letter that may yet decide."""
        held, self.candidate = self.candidate, ""
        still = now - self.last >= STILL or self.last < 0
        self.last = now
        if held:
            return held + text
        if still and len(text) == 1 and text in letters:
            self.candidate, self._since = text, now
            return ""
        return text

    def other(self, now: float) -> str:
        """Any key that is no character: what was held goes to the draft."""
        held, self.candidate = self.candidate, ""
        self.last = now
        return held

    @property
    def deadline(self) -> float | None:
        return self._since + ALONE if self.candidate else None

    def due(self, now: float) -> str:
        """The letter that stood alone long enough, once."""
        if not self.candidate or now < self._since + ALONE:
            return ""
        letter, self.candidate = self.candidate, ""
        return letter
