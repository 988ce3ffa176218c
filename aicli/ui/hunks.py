"""A change taken apart: which hunks it has, and the arguments that keep only some of them."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace

from aicli.content.parts import JsonObject
from aicli.content.results import DiffDisplay, Display
from aicli.late import dataclass

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Hunk:
    """Lines `old` give way to `new`; `start` is where `new` begins in the new text (0-based line).

    `at`: where both begin in the file before and after the whole change (from 1), as far as that is known.
    """

    old: tuple[str, ...]
    new: tuple[str, ...]
    start: int
    at: tuple[int, int] = (1, 1)

    @property
    def diff(self) -> str:
        """Alone, as a unified diff."""
        rows = [f"-{row}" for row in self.old] + [f"+{row}" for row in self.new]
        head = f"@@ -{self.at[0]},{len(self.old)} +{self.at[1]},{len(self.new)} @@"
        return "\n".join([head, *(row.rstrip("\n") for row in rows)])


def hunks_of(args: JsonObject, preview: Display | None) -> tuple[str, list[Hunk]]:
    """(name of the argument that holds the new text, its hunks); ("", []) when the change can't be taken apart."""
    old, new = args.get("old_string"), args.get("new_string")
    if isinstance(old, str) and isinstance(new, str):
        placed = _parse(preview.diff) if isinstance(preview, DiffDisplay) else []
        if args.get("edits"):
            return "new_string", []  # more would change than these two texts tell
        hunks = _compare(old, new)
        if args.get("replace_all") and len(placed) != len(hunks):
            return "new_string", []  # in several places at once
        if [(h.old, h.new) for h in placed] == [(_ended(h.old), _ended(h.new)) for h in hunks]:
            hunks = [replace(h, at=p.at) for h, p in zip(hunks, placed, strict=True)]
        return "new_string", hunks
    content = args.get("content")
    if isinstance(content, str) and isinstance(preview, DiffDisplay):
        return "content", _parse(preview.diff)
    return "", []


def _compare(old: str, new: str) -> list[Hunk]:
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        Hunk(tuple(before[a:b]), tuple(after[c:d]), c) for what, a, b, c, d in matcher.get_opcodes() if what != "equal"
    ]


def _ended(rows: tuple[str, ...]) -> tuple[str, ...]:
    """The same as whole lines, as they stand in a file."""
    return tuple(row if row.endswith("\n") else row + "\n" for row in rows)


def _parse(diff: str) -> list[Hunk]:
    """Runs of changed lines in a unified diff, with context lines between them."""
    hunks: list[Hunk] = []
    old: list[str] = []
    new: list[str] = []
    at = before = start = gone = 0
    inside = False

    def close() -> None:
        nonlocal old, new
        if old or new:
            hunks.append(Hunk(tuple(old), tuple(new), start, (gone + 1, start + 1)))
        old, new = [], []

    for row in diff.split("\n"):
        header = _HUNK.match(row)
        if header:
            close()
            inside = True
            at = start = int(header[3]) - (0 if header[4] == "0" else 1)
            before = gone = int(header[1]) - (0 if header[2] == "0" else 1)
        elif inside and row[:1] in ("-", "+"):
            if not old and not new:
                start, gone = at, before
            (old if row[0] == "-" else new).append(row[1:] + "\n")
            at += row[0] == "+"
            before += row[0] == "-"
        elif inside and row[:1] == "\\":
            side = new or old
            if side:
                side[-1] = side[-1].removesuffix("\n")
        elif inside and row:
            close()
            at += 1
            before += 1
    close()
    return hunks


def keep_only(args: JsonObject, name: str, hunks: list[Hunk], kept: list[bool]) -> JsonObject:
    """The same arguments with the hunks that were not kept undone in the new text."""
    lines = str(args[name]).splitlines(keepends=True)
    for hunk, keep in reversed(list(zip(hunks, kept, strict=True))):
        if not keep:
            lines[hunk.start : hunk.start + len(hunk.new)] = hunk.old
    return {**args, name: "".join(lines)}
