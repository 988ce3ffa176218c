"""What a call brought, as lines for the person: a few at once, the rest as a count and a fold to open."""

from __future__ import annotations

import os

from aicli.clean import sanitise, spelled
from aicli.content.events import Outcome
from aicli.content.results import CommandDisplay, DiffDisplay, Display, TasksDisplay, TextDisplay, ToolResult
from aicli.late import dataclass, regex
from aicli.ui.cells import Line, cut, hard_wrap
from aicli.ui.theme import DIM, GREEN, RED, YELLOW
from aicli.ui.words import Words

SHOWN, SHOWN_FAILED, SHOWN_DIFF = 3, 5, 12
INDENT = "      "
_HUNK = regex(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

_HEADERS = ("--- ", "+++ ", "diff ", "index ")


@dataclass(frozen=True)
class Shown:
    """`summary` stands at the right of the call's line; `fold` is the whole text when `lines` leave some of it out."""

    summary: str
    lines: tuple[Line, ...]
    fold: str = ""


def short_path(path: str) -> str:
    """The same path, the home folder as ~."""
    home = os.path.expanduser("~").rstrip("/")
    return "~" + path[len(home) :] if home and (path + "/").startswith(home + "/") else path


def diff_lines(diff: str, columns: int, indent: str = "   ") -> list[Line]:
    """A unified diff, numbered and coloured, without its headers; long lines are wrapped, never cut."""
    lines: list[Line] = []
    old = new = old_left = new_left = 0
    for row in diff.rstrip("\n").split("\n"):
        inside = old_left > 0 or new_left > 0  # in there a row that looks like a header is a line of the file
        hunk = None if inside else _HUNK.match(row)
        if hunk:
            if lines:
                lines.append(((indent + "⋮", DIM),))
            old, new = int(hunk[1]), int(hunk[3])
            old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
            continue
        if not inside and (not row or row.startswith(_HEADERS)):
            continue
        row = spelled(row)
        mark, text = row[:1] or " ", row[1:].expandtabs(4)
        if mark == "\\":
            lines.append(((f"{indent}       {row[2:]}", DIM),))
            continue
        old_left -= mark in " -"
        new_left -= mark in " +"
        number = old if mark == "-" else new
        old += mark in " -"
        new += mark in " +"
        sign = {"-": "−", "+": "+"}.get(mark, " ")
        style = {"-": RED, "+": GREEN}.get(mark, "")
        head = f"{indent}{sign} {number:>4} "
        for i, part in enumerate(hard_wrap(text, max(8, columns - len(head)), style)):
            lines.append(((head if i == 0 else " " * len(head), style or DIM), *part))
    return lines


def task_lines(display: TasksDisplay, columns: int) -> list[Line]:
    marks = {"completed": ("✓", GREEN), "in_progress": ("▸", YELLOW), "cancelled": ("⊘", DIM), "pending": ("◌", DIM)}
    lines: list[Line] = []
    for task in display.tasks:
        mark, style = marks[task.status]
        text = sanitise(task.text, keep_newlines=False)
        faded = DIM if task.status in ("completed", "cancelled") else ""
        lines.append(cut(((INDENT, ""), (mark + " ", style), (text, faded)), columns))
    return lines


def text_lines(text: str, columns: int, limit: int, words: Words, *, tail: bool) -> tuple[list[Line], str]:
    """(at most `limit` lines of it and a count of the rest, the whole text if some of it is not shown)."""
    rows = sanitise(text).rstrip("\n").split("\n") if text.strip() else []
    kept = rows[-limit:] if tail else rows[:limit]
    room = columns - len(INDENT)
    lines = [((INDENT, ""), *cut(((row.expandtabs(4), DIM),), room)) for row in kept]
    left = len(rows) - len(kept)
    cut_off = left > 0 or any(len(row.expandtabs(4)) > room for row in kept)
    if left > 0:
        lines.append(((INDENT, ""), (words("fold.more", n=left), DIM)))
    return lines, "\n".join(rows) if cut_off else ""


def shown(result: ToolResult, outcome: Outcome, columns: int, words: Words) -> Shown:
    """How a finished call looks below its own line."""
    display: Display | None = result.display
    text = "\n".join(getattr(p, "text", "") for p in result.content)
    failed = outcome is not Outcome.OK
    limit = SHOWN_FAILED if failed else SHOWN
    if outcome is Outcome.CANCELLED and not isinstance(display, CommandDisplay):
        return Shown(_failure(outcome, words), ())
    if failed and not isinstance(display, CommandDisplay):
        lines, fold = text_lines(words.said(text), columns, limit, words, tail=False)
        return Shown(_failure(outcome, words), tuple(lines), fold)
    match display:
        case DiffDisplay():
            lines = diff_lines(display.diff, columns)
            rest = len(lines) - SHOWN_DIFF
            if rest > 0:
                lines = [*lines[:SHOWN_DIFF], ((INDENT, ""), (words("fold.more", n=rest), DIM))]
            return Shown(_change(display, words), tuple(lines), display.diff if rest > 0 else "")
        case TasksDisplay():
            return Shown(words.said(display.summary), tuple(task_lines(display, columns)))
        case CommandDisplay():
            lines, fold = text_lines(display.tail or "", columns, limit, words, tail=True)
            hidden = display.lines - display.tail.rstrip("\n").count("\n") - 1
            if not fold and hidden > 0 and display.tail.strip():
                lines.append(((INDENT, ""), (words("fold.more", n=hidden), DIM)))
            whole = text if fold or hidden > 0 else ""
            return Shown(_exit(display, outcome, words), tuple(lines), sanitise(whole))
        case TextDisplay():
            lines, fold = text_lines(words.exactly(display.text), columns, limit, words, tail=False)
            return Shown(words.said(display.summary) or _count(text, words), tuple(lines), fold)
    return Shown(_count(text, words), ())


def _change(display: DiffDisplay, words: Words) -> str:
    return f"+{display.added} −{display.removed}" if display.diff else words("call.unchanged")


def _count(text: str, words: Words) -> str:
    rows = text.count("\n") + 1 if text.strip() else 0
    return words("call.lines", n=rows) if rows > 1 else ""


def _exit(display: CommandDisplay, outcome: Outcome, words: Words) -> str:
    if outcome not in (Outcome.OK, Outcome.FAILED):
        return _failure(outcome, words)
    if display.signal:
        return words("call.signal", name=display.signal)
    if display.exit_code:
        return words("call.exit", code=display.exit_code)
    return words("call.lines", n=display.lines) if display.lines else ""


def _failure(outcome: Outcome, words: Words) -> str:
    return words(f"outcome.{outcome.value}")
