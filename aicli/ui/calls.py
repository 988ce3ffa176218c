"""One call in the list: its live line with spinner and last output, and the lines it settles to."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from aicli.clean import Sanitiser, sanitise
from aicli.content.events import Approved, Outcome, ToolFinished, ToolProgress, ToolStarted
from aicli.ui import amounts
from aicli.ui.cells import Line, cut, cut_middle, pad_right, sides, width
from aicli.ui.display import INDENT, Shown, shown, text_lines
from aicli.ui.theme import ASKS, DIM, DONE, FAILED, SPINNER, STOPPED, STYLE_OF, WAITING
from aicli.ui.words import Words

OUTPUT_LINES = 3
VERB_CELLS = 6
MARK_OF = {Outcome.OK: DONE, Outcome.CANCELLED: STOPPED, Outcome.DENIED: STOPPED}


@dataclass
class CallView:
    """A call that was asked for, runs, or waits for the person. Times are of the clock given with each event.

    `asks`: the call itself is a question, which the host shows with its answer.
    """

    name: str
    title: str
    began: float = 0.0
    running: bool = False
    asks: bool = False
    waiting_since: float | None = None
    waited: float = 0.0
    children: list[Line] = field(default_factory=list)
    busy_children: dict[str, CallView] = field(default_factory=dict)
    _tail: deque[str] = field(default_factory=lambda: deque(maxlen=OUTPUT_LINES + 1))
    _clean: Sanitiser = field(default_factory=Sanitiser)
    _count: int = 0

    @classmethod
    def of(cls, event: ToolStarted, now: float, words: Words) -> CallView:
        name, title = event.tool or event.call.name, words.title(event.title)
        return cls(name, title, began=now, running=True, asks=event.kind == "communicate")

    def output(self, text: str) -> None:
        """A piece of what the tool prints; the last lines are kept."""
        rows = self._clean.feed(text).split("\n")
        if not self._tail:
            self._tail.append("")
        self._tail[-1] = (self._tail[-1] + rows[0])[-400:]
        for row in rows[1:]:
            self._count += 1
            self._tail.append(row[-400:])

    def wait(self, waiting: bool, now: float) -> None:
        """The person is being asked about it, or no longer."""
        if waiting and self.waiting_since is None:
            self.waiting_since = now
        elif not waiting and self.waiting_since is not None:
            self.waited += now - self.waiting_since
            self.waiting_since = None

    def head(self, mark: str, columns: int, right: str, *, style: str = "", indent: str = "") -> Line:
        """Mark, verb, subject, and what stands at the right."""
        verb, rest = split_title(self.name, self.title)
        verb_cells = VERB_CELLS if columns >= 60 else width(verb)
        room = columns - len(indent) - 3 - max(verb_cells, width(verb)) - 1
        if right and room - width(right) - 2 >= 12:
            room -= width(right) + 2
        subject = cut_middle(rest, max(8, room)) if "/" in rest and " " not in rest else rest
        left: Line = (
            (indent, ""),
            (mark + " ", style or STYLE_OF.get(mark, "")),
            (pad_right(verb, verb_cells) + " ", ""),
            (subject, ""),
        )
        return sides(left, ((right, DIM),) if right else (), columns)

    def live(self, columns: int, now: float, words: Words, spinner: int, indent: str = "") -> list[Line]:
        if self.waiting_since is not None:
            return [self.head(ASKS, columns, words("call.waits"), indent=indent)]
        if not self.running:
            return [self.head(WAITING, columns, "", indent=indent)]
        elapsed = now - self.began - self.waited
        right = amounts.whole_seconds(elapsed) if elapsed >= 1 else ""
        lines = [self.head(SPINNER[spinner % len(SPINNER)], columns, right, style="36", indent=indent)]
        for child in list(self.busy_children.values())[-2:]:
            lines += child.live(columns, now, words, spinner, indent + "  ")[:1]
        rows = [row for row in self._tail if row.strip()][-OUTPUT_LINES:]
        for i, row in enumerate(rows):
            count = (
                words("call.line", n=self._count + bool(self._tail[-1]))
                if i == len(rows) - 1 and self._count >= 9
                else ""
            )
            left: Line = ((indent + INDENT, ""), (row.expandtabs(4), DIM))
            lines.append(sides(left, ((count, DIM),) if count else (), columns))
        return lines

    def settle(self, event: ToolFinished, columns: int, words: Words, indent: str = "") -> tuple[list[Line], Shown]:
        """The lines that stay, and what was shown of the result."""
        inner = columns - len(indent)
        view = shown(event.result, event.outcome, inner, words)
        if event.outcome is Outcome.CANCELLED and any(row.strip() for row in self._tail):
            view = Shown(
                view.summary, tuple(text_lines("\n".join(self._tail), inner, OUTPUT_LINES, words, tail=True)[0])
            )
        mark = MARK_OF.get(event.outcome, FAILED)
        parts = [cut_middle(sanitise(view.summary, keep_newlines=False), max(12, columns // 2))]
        if columns >= 60:
            parts.append(f"{event.seconds:.1f} s" if event.seconds < 10 else amounts.whole_seconds(event.seconds))
        right = "   ".join(p for p in parts if p)
        lines = [self.head(mark, columns, right, indent=indent)]
        lines += self.children
        lines += [cut(((indent, ""), *line), columns) if indent else line for line in view.lines]
        return lines, view


def told(calls: dict[str, CallView], event: ToolProgress | Approved, words: Words) -> None:
    """What a call prints, and what it is once the person has changed it, at its line."""
    view = calls.get(event.call_id)
    if view is not None and isinstance(event, ToolProgress):
        view.output(event.text)
    elif view is not None and isinstance(event, Approved) and event.title:
        view.title = words.title(event.title)


def split_title(name: str, title: str) -> tuple[str, str]:
    """(verb, subject) of a call's title; a title of one word is its own verb."""
    text = sanitise(title or name, keep_newlines=False).strip()
    verb, _, rest = text.partition(" ")
    if not verb.isalpha():
        verb, rest = name, rest if verb == "$" else text
    return (verb.lower() if verb.isascii() else verb), rest.strip()
