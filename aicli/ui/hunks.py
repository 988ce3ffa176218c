"""A change taken apart: which hunks it has, and the arguments that keep only some of them."""

from __future__ import annotations

import difflib
import re

from aicli.content.parts import JsonObject
from aicli.content.results import DiffDisplay, Display
from aicli.late import dataclass

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Hunk:
    """Lines `old` give way to `new`; `start` is where `new` begins in the new text (0-based line)."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    start: int


def hunks_of(args: JsonObject, preview: Display | None) -> tuple[str, list[Hunk]]:
    """(name of the argument that holds the new text, its hunks); ("", []) when the change can't be taken apart."""
    old, new = args.get("old_string"), args.get("new_string")
    if isinstance(old, str) and isinstance(new, str):
        return "new_string", _compare(old, new)
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


def _parse(diff: str) -> list[Hunk]:
    """Runs of changed lines in a unified diff, with context lines between them."""
    hunks: list[Hunk] = []
    old: list[str] = []
    new: list[str] = []
    at = start = 0
    inside = False

    def close() -> None:
        nonlocal old, new
        if old or new:
            hunks.append(Hunk(tuple(old), tuple(new), start))
        old, new = [], []

    for row in diff.split("\n"):
        header = _HUNK.match(row)
        if header:
            close()
            inside = True
            at = start = int(header[3]) - (0 if header[4] == "0" else 1)
        elif inside and row[:1] in ("-", "+"):
            if not old and not new:
                start = at
            (old if row[0] == "-" else new).append(row[1:] + "\n")
            at += row[0] == "+"
        elif inside and row[:1] == "\\":
            side = new or old
            if side:
                side[-1] = side[-1].removesuffix("\n")
        elif inside and row:
            close()
            at += 1
    close()
    return hunks


def keep_only(args: JsonObject, name: str, hunks: list[Hunk], kept: list[bool]) -> JsonObject:
    """The same arguments with the hunks that were not kept undone in the new text."""
    lines = str(args[name]).splitlines(keepends=True)
    for hunk, keep in reversed(list(zip(hunks, kept, strict=True))):
        if not keep:
            lines[hunk.start : hunk.start + len(hunk.new)] = hunk.old
    return {**args, name: "".join(lines)}
