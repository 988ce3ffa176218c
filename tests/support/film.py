"""A film of a terminal: at each shot, what is on the paper since the last one, compared with a golden file."""

from __future__ import annotations

import difflib
import os
import re
import time
from pathlib import Path

from tests.support.screen import Tty

_TIMES = re.compile(r"\d+(\.\d)?(?= s\b)")
_EITHER = re.compile("^[◆⊘]|thought|思考了")
"""Lines whose seconds may come with a tenth or without."""
_NAMES = (
    (re.compile(r"\b20\d{6}-\d{6}\b"), "20300101-000000"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "0000abcd0000abcd"),
    (re.compile(r"\b(?!\d{8}-)[0-9a-f]{8}\b"), "0000abcd"),
    (re.compile(r"^(  (?:instructions|together|指令|合计) +)[\d,]+"), r"\g<1>N"),  # tokens: the folder's path counts
    (re.compile(r"\b1\.[4-6]k(?= tokens, | tokens,$| 个 token，|/8k 1[89]%|/8k 2[01]%)"), "1.5k"),  # of a resumed chat
    (re.compile(r"(?<=\b1\.5k/8k )(?:1[89]|2[01])%"), "19%"),
)
_SPINNER = re.compile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]")


class Film:
    """`shot(name)` waits until the screen is as the golden one; GOLDEN=1 makes the golden files anew.

    One file a film. Times, ids and the spinner are masked; `~` stands for the test's own folder.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.tty: Tty
        self.making = os.environ.get("GOLDEN") == "1"
        self._made: list[str] = []
        self._before: list[str] = []
        self._seen: tuple[object, list[str]] = (None, [])
        self._taken: set[str] = set()
        self._golden = {} if self.making else _parts(file.read_text("utf-8"))

    def of(self, tty: Tty) -> Tty:
        """From now on this terminal is filmed."""
        self.tty, self._before, self._seen = tty, [], (None, [])
        return tty

    def over(self) -> None:
        """Nothing comes after this: golden shots that were not taken are too many."""
        assert self.making or set(self._golden) == self._taken, set(self._golden) - self._taken

    def shot(self, name: str) -> None:
        """What came since the last shot, with what is alive now. Fails when it does not become as it should."""
        assert name not in self._taken, f"two shots are called {name}"
        self._taken.add(name)
        if self.making:
            self._still()
            self._made.append(f"=== {name}\n{self._fresh()}\n")
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text("\n".join(self._made), "utf-8")
        else:
            wanted = self._golden[name]
            end = time.monotonic() + 30
            while (fresh := self._fresh()) != wanted:
                if time.monotonic() > end or not (self.tty.pump(0.05) or self._fresh() == wanted):
                    rows = difflib.unified_diff(wanted.split("\n"), fresh.split("\n"), "golden", "screen", lineterm="")
                    raise AssertionError(f"{self.file.name}: {name} (GOLDEN=1 makes it anew)\n" + "\n".join(rows))
        self._before = self._rows()
        assert "Traceback (most recent call last)" not in self.tty.text, self.tty.text

    def _still(self) -> None:
        """Until nothing but time and spinner moved for a while."""
        last, since = self._rows(), time.monotonic()
        while time.monotonic() - since < 2.5:
            self.tty.pump(0.05)
            if (rows := self._rows()) != last or not any(rows):
                last, since = rows, time.monotonic()

    def _rows(self) -> list[str]:
        if self._seen[0] != len(self.tty.raw):
            rows = self.tty.scrollback if self.tty.screen.history.top else self.tty.text.split("\n")
            self._seen = len(self.tty.raw), [masked(row) for row in rows]
        return self._seen[1]

    def _fresh(self) -> str:
        rows, before = self._rows(), self._before
        same = next((i for i, (a, b) in enumerate(zip(rows, before, strict=False)) if a != b), len(before))
        return "\n".join(rows[same:]).strip("\n")


def masked(row: str) -> str:
    """The row with its times as 0, its ids and stamps as fixed ones; it keeps its length where blanks allow it."""
    long = len(row)
    tenth = "0" if _EITHER.search(row) else "0.0"
    row = _TIMES.sub(lambda found: tenth if found[1] else "0", _SPINNER.sub("⠋", row))
    for pattern, stands in _NAMES:
        row = pattern.sub(stands, row)
    gaps = list(re.finditer(r"(?<=\S) {2,}(?=\S)", row))
    if len(row) < long and gaps:
        at = max(gaps, key=lambda gap: len(gap[0])).end()
        row = row[:at] + " " * (long - len(row)) + row[at:]
    return row


def _parts(text: str) -> dict[str, str]:
    """The golden shots by name."""
    found = re.split(r"^=== (.+)\n", text, flags=re.MULTILINE)[1:]
    return {name: shot.strip("\n") for name, shot in zip(found[::2], found[1::2], strict=True)}
