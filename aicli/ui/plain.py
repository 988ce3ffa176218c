"""PlainRenderer: a run as plain lines, words instead of marks and no escape sequence, for logs, pipes and simple screens."""

from __future__ import annotations

from collections.abc import Callable

from aicli.clean import sanitise
from aicli.content.events import (
    AgentEvent,
    Approved,
    CallRecovered,
    ContextCompacted,
    Delegated,
    Denied,
    HistoryCut,
    MessageAdded,
    ModelChanged,
    Outcome,
    RetryScheduled,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Warned,
)
from aicli.content.run_result import RunResult
from aicli.ui import amounts
from aicli.ui.calls import split_title
from aicli.ui.cells import pad_right, plain
from aicli.ui.display import shown
from aicli.ui.words import Words

COLUMNS = 160


class PlainRenderer:
    """Call it with every event; each settled thing becomes a line for `write`, at once and for good.

    `progress` off leaves only warnings and refusals; `verbose` adds starts, thinking, texts between calls and turns.
    """

    def __init__(
        self, write: Callable[[str], None], *, progress: bool = True, verbose: bool = False, words: Words | None = None
    ) -> None:
        self._write = write
        self.progress = progress or verbose
        self._verbose = verbose
        self._words = words or Words("en")
        self._titles: dict[str, tuple[str, str]] = {}
        self._denied: set[str] = set()
        self._dialects: set[str] = set()

    def __call__(self, event: AgentEvent) -> None:
        self._show(event, "")

    def _line(self, word: str, text: str, indent: str = "") -> None:
        """The word is of the catalogue; the text is translated where it is a sentence of ours."""
        self._write(f"{indent}{pad_right(self._words(f'plain.{word}'), 5)} {self._words.said(text)}".rstrip())

    def _show(self, event: AgentEvent, indent: str) -> None:
        match event:
            case Warned():
                self._line("warn", event.text, indent)
            case RunStarted():
                for warning in event.warnings:
                    self._line("warn", warning, indent)
                if self._verbose:
                    self._line("start", f"{event.agent} on {event.model}, {event.permission_mode}, {event.cwd}", indent)
            case Denied():
                self._denied.add(event.call_id)
                self._line("denied", self._because(self._subject(event.call_id, event.name), event.why), indent)
            case ToolStarted():
                self._titles[event.call.id] = split_title(event.tool or event.call.name, self._words.title(event.title))
                if self._verbose:
                    self._line("run", self._subject(event.call.id, event.call.name), indent)
            case Approved() if event.title and event.call_id in self._titles:  # the person changed what runs
                self._titles[event.call_id] = split_title(
                    self._titles[event.call_id][0], self._words.title(event.title)
                )
            case ToolFinished():
                self._finished(event, indent)
            case Delegated():
                self._show(event.event, indent + "  ")
            case CallRecovered() if not self._verbose:
                if event.dialect not in self._dialects:
                    self._line("note", f"tool calls are read out of the model's text ({event.dialect})", indent)
                self._dialects.add(event.dialect)
            case _ if self.progress:
                self._notice(event, indent)

    def _because(self, what: str, why: str) -> str:
        return self._words("plain.because", what=what, why=self._words.said(why))

    def _subject(self, call_id: str, name: str) -> str:
        verb, rest = self._titles.get(call_id, (name, ""))
        return f"{pad_right(verb, 6)} {rest}".rstrip()

    def _finished(self, event: ToolFinished, indent: str) -> None:
        if event.outcome is Outcome.DENIED and event.call_id in self._denied:
            return
        if not self.progress:
            return
        view = shown(event.result, event.outcome, COLUMNS, self._words)
        parts = [self._subject(event.call_id, event.name), sanitise(view.summary, keep_newlines=False)]
        parts.append(amounts.seconds(event.seconds))
        self._line(event.outcome.value, "  ".join(part for part in parts if part), indent)
        if self._verbose or event.outcome is not Outcome.OK:
            for row in view.lines:
                self._write(indent + plain(row).rstrip())

    def _notice(self, event: AgentEvent, indent: str) -> None:
        match event:
            case RetryScheduled():
                self._line("wait", self._because(amounts.seconds(event.wait), event.why), indent)
            case ContextCompacted():
                self._line("note", f"older turns summarised: {event.before} -> {event.after} tokens", indent)
            case ModelChanged():
                self._line(
                    "note", f"{event.role} is now {event.model}" + (f": {event.why}" if event.why else ""), indent
                )
            case HistoryCut(why="failed"):
                self._line("note", "the failed turn is taken back", indent)
            case CallRecovered() if self._verbose:
                self._line("note", f"a call of {event.name} was read out of the text ({event.dialect})", indent)
            case TurnStarted() if self._verbose:
                self._line("turn", str(event.n), indent)
            case MessageAdded() if self._verbose and event.message.role == "model":
                if event.message.thinking.strip():
                    self._line("think", _first(event.message.thinking), indent)
                if event.message.calls and event.message.text.strip():
                    self._line("says", _first(event.message.text), indent)
            case RunFinished() if event.checked:
                self._line("check", event.checked, indent)
            case _:
                pass


def _first(text: str) -> str:
    line = sanitise(text.strip()).split("\n")[0]
    return line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…"


def closing(result: RunResult, words: Words) -> str:
    """The two last lines of a run: a rule, then how it ended, counts, seconds, tokens and money."""
    ended = words("run.finished") if result.status == "completed" else words.said(result.status)
    failed = words("run.calls_failed", n=result.failed_calls) if result.failed_calls else ""
    parts = [ended, words("run.calls", n=result.tool_calls), failed, amounts.seconds(result.seconds)]
    if result.usage.total:
        parts.append(words("run.tokens", n=amounts.tokens(result.usage.total)))
    if result.cost_usd:
        parts.append(amounts.money(result.cost_usd))
    if result.unchecked:
        parts.append(words("run.unchecked"))
    return "-" * 40 + "\n" + words("plain.joint").join(part for part in parts if part)
