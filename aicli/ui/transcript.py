"""Transcript: folds AgentEvents into lines that have settled and lines that are live. No I/O, no clock of its own."""

from __future__ import annotations

from aicli.clean import Sanitiser, sanitise
from aicli.content.events import (
    AgentEvent,
    Approved,
    CallRecovered,
    ContextCompacted,
    Delegated,
    HistoryCut,
    MessageAdded,
    ModelChanged,
    ModelDelta,
    Outcome,
    RetryScheduled,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
    Warned,
)
from aicli.content.stream import CallDelta, Relabelled, Restarted, StreamEvent, TextDelta, ThinkingDelta
from aicli.ui import amounts
from aicli.ui.calls import CallView, told
from aicli.ui.cells import Line, cut, hard_wrap, plain, sides, wrap
from aicli.ui.display import INDENT
from aicli.ui.markdown import MarkdownStream
from aicli.ui.theme import CYAN, DIM, NOTE, SPINNER, STOPPED, STYLE_OF, THINKING, YELLOW
from aicli.ui.words import Words

MOST_LIVE = 6
THINKING_LINES = 2


class Transcript:
    """Feed events with the time they came; take what settled; ask for the live lines."""

    def __init__(self, words: Words, columns: int) -> None:
        self.words = words
        self.columns = columns
        self.folds: list[tuple[str, str]] = []
        self.model = ""
        self._settled: list[Line] = []
        self._markdown: MarkdownStream | None = None
        self._clean = Sanitiser()
        self._streamed = self._thought = False
        self._last_blank = True
        self._thinking: list[str] = []
        self._thinking_since = 0.0
        self._thinking_clean = Sanitiser()
        self._calls: dict[str, CallView] = {}
        self._asked_since: float | None = None  # a request is out and nothing of the reply has come
        self._writing_call = ""
        self._note = ""
        self._fold_count = 0
        self._asked: set[str] = set()
        self._refused: set[str] = set()
        self.asked_here = False  # a host shows questions with their answers here
        self._work = ""
        self._work_since = 0.0
        self._warned: set[str] = set()
        self._dialects: set[str] = set()

    def resize(self, columns: int) -> None:
        """What settles from now on has the new width."""
        self.columns = columns
        if self._markdown is not None:
            self._markdown.resize(columns)

    # -- events

    def feed(self, event: AgentEvent, now: float) -> None:
        match event:
            case ModelDelta():
                self._delta(event.event, now)
            case TurnStarted():
                self._asked_since, self._streamed, self._thought, self._note = now, False, False, ""
            case MessageAdded():
                self._message(event, now)
            case ToolStarted():
                self._close_text(now)
                view = self._calls[event.call.id] = CallView.of(event, now, self.words)
                view.wait(event.call.id in self._asked, now)
            case ToolProgress() | Approved():
                told(self._calls, event, self.words)
            case ToolFinished():
                self._finished_call(event)
            case Delegated():
                self._delegated(event, now)
            case RunStarted():
                self.model = event.model
                for text in event.warnings:
                    if text not in self._warned:  # each turn of a conversation begins with the same ones
                        self.note(text)
                self._warned.update(event.warnings)
            case RunFinished():
                self._close_text(now)
                self._calls.clear()
                self._asked_since, self._note, self._writing_call = None, "", ""
            case _:
                self._notice(event, now)

    def _notice(self, event: AgentEvent, now: float) -> None:
        words = self.words
        match event:
            case RetryScheduled():
                self._close_text(now)
                if event.discard and self._streamed:
                    self.note(words("run.restarted"))
                why = sanitise(words.said(event.why), keep_newlines=False)
                self._note = words("run.retry", seconds=amounts.whole_seconds(event.wait), why=why)
            case ContextCompacted():
                before, after = amounts.tokens(event.before), amounts.tokens(event.after)
                self._mark(THINKING, words("run.compacted", before=before, after=after))
            case HistoryCut():
                if event.why == "failed":
                    self._mark(NOTE, words("run.cut_failed"))
            case ModelChanged():
                self.model = event.model
                self.note(f"{event.role}: {event.model}" + (f" ({words.said(event.why)})" if event.why else ""))
            case Warned():
                self.note(event.text)
            case CallRecovered() if event.dialect not in self._dialects:
                self._dialects.add(event.dialect)
                self._close_text(now)
                self.say_dim(words("run.recovered", dialect=event.dialect))
            case _:
                pass

    def _delta(self, delta: StreamEvent, now: float) -> None:
        self._note = ""
        match delta:
            case TextDelta():
                if delta.text:
                    self._close_thinking(now)
                    self._asked_since = None
                    self._text(delta.text)
            case ThinkingDelta():
                if not self._thinking:
                    self._thinking_since = now if self._asked_since is None else self._asked_since
                self._asked_since = None
                self._thinking.append(self._thinking_clean.feed(delta.text))
            case CallDelta():
                self._close_text(now)
                self._asked_since = None
                self._writing_call = delta.name or self._writing_call
            case Relabelled():
                self._relabel(now)
            case Restarted():
                self._close_text(now)
                if self._streamed:
                    self.note(self.words("run.restarted"))
                self._streamed = self._thought = False
            case _:
                pass

    def _relabel(self, now: float) -> None:
        """What is still open was thinking; what has settled stays on the paper."""
        if self._markdown is not None:
            rows = [plain(line).strip() for line in self._markdown.live()]
            self._markdown = None
            self._thinking_since = now
            self._thinking.append("\n".join(rows))

    def _text(self, text: str) -> None:
        if self._markdown is None:
            if not text.strip():
                return
            self._markdown = MarkdownStream(self.columns)
            self._clean = Sanitiser()
            text = text.lstrip("\n")
        self._streamed = True
        self._put(self._markdown.feed(self._clean.feed(text)))

    def _message(self, event: MessageAdded, now: float) -> None:
        self._asked_since = None
        self._writing_call = ""
        if event.message.role != "model":
            return
        if event.message.thinking and not (self._thinking or self._thought or self._streamed or self._markdown):
            self._thinking.append(sanitise(event.message.thinking))
            self._thinking_since = now - event.seconds
        self._close_thinking(now)
        if not self._streamed and event.message.text.strip():
            self._text(event.message.text)
        self._close_text(now)
        for call in event.message.calls:
            self._calls.setdefault(call.id, CallView(call.name, self.words.title(call.name), began=now))

    def _finished_call(self, event: ToolFinished) -> None:
        view = self._calls.pop(event.call_id, None) or CallView(event.name, event.name)
        if (view.asks and self.asked_here and event.outcome is Outcome.OK) or event.call_id in self._refused:
            return
        lines, what = view.settle(event, self.columns, self.words)
        if what.fold:
            self.folds.append((f"{view.name} {view.title}".strip(), what.fold))
            lines[-1] = sides(lines[-1], ((self.words("fold.key"), DIM),), self.columns)
        self._put(lines)

    def _delegated(self, event: Delegated, now: float) -> None:
        """A sub-agent's calls stand under the call that began it, indented, with their own seconds."""
        parent, inner, depth = self._calls.get(event.call_id), event.event, "  "
        while isinstance(inner, Delegated):
            inner, depth = inner.event, depth + "  "
        if parent is None:
            return
        match inner:
            case ToolStarted():
                begun = parent.busy_children[inner.call.id] = CallView.of(inner, now, self.words)
                begun.wait(inner.call.id in self._asked, now)
            case ToolProgress() | Approved():
                told(parent.busy_children, inner, self.words)
            case ToolFinished():
                child = parent.busy_children.pop(inner.call_id, None) or CallView(inner.name, inner.name)
                if inner.call_id in self._refused:
                    return
                lines, what = child.settle(inner, self.columns, self.words, depth)
                if what.fold:
                    self.folds.append((child.title, what.fold))
                parent.children += lines if inner.outcome is not Outcome.OK else lines[:1]
            case Warned():
                parent.children.append(
                    cut(((depth + "! " + sanitise(self.words.said(inner.text)), YELLOW),), self.columns)
                )
            case _:
                pass

    # -- what others add

    def say(self, text: str) -> None:
        """Markdown of our own, settled at once."""
        stream = MarkdownStream(self.columns)
        self._put([*stream.feed(sanitise(text)), *stream.close()])

    def say_dim(self, text: str) -> None:
        body = ((sanitise(text, keep_newlines=False), DIM),)
        self._put(wrap(body, self.columns, first=(("  ", ""),), rest=(("  ", ""),)))

    def note(self, text: str) -> None:
        """A warning line."""
        self._mark(NOTE, self.words.said(text))

    def _mark(self, mark: str, text: str) -> None:
        style = STYLE_OF.get(mark, "")
        body = ((sanitise(text, keep_newlines=False), style),)
        self._put(wrap(body, self.columns, first=((mark + " ", style),), rest=(("  ", ""),)))

    def unfold(self, title: str, text: str) -> None:
        """The whole of something that was folded, for the scrollback."""
        self._put([((INDENT[:2] + self.words("fold.title", title=sanitise(title, keep_newlines=False)), DIM),)])
        rows = sanitise(text).split("\n")
        self._put([((INDENT, ""), *line) for row in rows for line in hard_wrap(row.expandtabs(4), self.columns - 6)])

    def new_fold(self) -> bool:
        """Was anything folded since this was asked last?"""
        fresh, self._fold_count = len(self.folds) != self._fold_count, len(self.folds)
        return fresh

    def stopped(self, text: str) -> None:
        """The run was stopped by the person: said once everything is dead."""
        self._calls.clear()
        self._note, self._asked_since = "", None
        self._mark(STOPPED, text)

    def work(self, text: str, now: float) -> None:
        """Something of the program's own runs; "" when it is over."""
        self._work, self._work_since = text, now

    def fitted(self, lines: list[Line]) -> None:
        """Ready lines of any width, wrapped to ours."""
        self._put([part for line in lines for part in wrap(line, self.columns, rest=(("      ", ""),))])

    def put(self, lines: list[Line]) -> None:
        """Lines that are ready, settled as they are."""
        self._put(lines)

    def waiting(self, call_id: str, waiting: bool, now: float) -> None:
        """The person is being asked about this call: its seconds stand still. May come before the call's own start."""
        (self._asked.add if waiting else self._asked.discard)(call_id)
        for calls in (self._calls, *(view.busy_children for view in self._calls.values())):
            if call_id in calls:
                calls[call_id].wait(waiting, now)

    def refused(self, call_id: str) -> None:
        """The person's no stands on the paper with its reason: the call's own line would only repeat it."""
        self._refused.add(call_id)

    def _put(self, lines: list[Line]) -> None:
        for line in lines:
            if not line and self._last_blank:
                continue
            self._settled.append(line)
            self._last_blank = not line

    def _close_thinking(self, now: float) -> None:
        if not self._thinking:
            return
        text = "".join(self._thinking).strip()
        self._thinking = []
        self._thinking_clean = Sanitiser()
        self._thought = True
        if not text:
            return
        took = max(0.0, now - self._thinking_since)
        done = self.words("think.done", seconds=amounts.seconds(took) if took < 1 else amounts.whole_seconds(took))
        said = " ".join(text.split())
        self.folds.append((done, text))
        key: Line = ((self.words("fold.key"), DIM),)
        self._put([sides(((f"{THINKING} {done} — {said}", DIM),), key, self.columns)])

    def _close_text(self, now: float) -> None:
        self._close_thinking(now)
        if self._markdown is not None:
            self._put([*self._markdown.feed(self._clean.close()), *self._markdown.close()])
            self._markdown = None

    # -- what to show

    def take(self) -> list[Line]:
        """What settled since the last time."""
        lines, self._settled = self._settled, []
        return lines

    @property
    def animated(self) -> bool:
        """Does anything on the screen move by itself?"""
        running = any(c.running and c.waiting_since is None for c in self._calls.values())
        return (
            running
            or bool(self._work)
            or bool(self._thinking)
            or self._asked_since is not None
            or bool(self._writing_call)
        )

    @property
    def running(self) -> int:
        return sum(1 for c in self._calls.values() if c.running)

    @property
    def verb(self) -> str:
        """What is going on now, one word."""
        return "think" if self._thinking else "write" if self._markdown else "run" if self._calls else "wait"

    def live(self, now: float, limit: int, *, asking: bool = False) -> list[Line]:
        """At most `limit` lines: what is open of the reply, then running and waiting calls.

        While the question itself is shown (`asking`) the calls that wait for its answer are not shown twice.
        """
        spinner = int(now * 4)
        lines: list[Line] = []
        if self._markdown is not None:
            lines += self._markdown.live()[-max(1, limit - 1) :]
        if self._work:
            lines.append(self._spinning(self._work, now - self._work_since, spinner))
        if self._thinking:
            lines += self._live_thinking(now, spinner)
        elif self._note:
            body: Line = ((self._note, YELLOW),)
            lines += wrap(body, self.columns, first=(("◌ ", DIM),), rest=(("  ", ""),))[:2]
        elif self._asked_since is not None:
            text = self.words("run.waiting", model=self.model or "…")
            lines.append(self._spinning(text, now - self._asked_since, spinner))
        elif self._writing_call and not self._calls:
            lines.append(self._spinning(sanitise(self._writing_call, keep_newlines=False), 0.0, spinner))
        views = [c for c in self._calls.values() if not (asking and (c.asks or c.waiting_since is not None))]
        return (lines + self._live_calls(views, now, spinner, limit - len(lines)))[:limit]

    def _live_calls(self, views: list[CallView], now: float, spinner: int, limit: int) -> list[Line]:
        views = sorted(views, key=lambda c: (not c.running, c.began))
        blocks = [view.live(self.columns, now, self.words, spinner) for view in views]
        shown = blocks[: max(1, min(MOST_LIVE, limit - (len(blocks) > limit)))]
        spare = limit - len(shown) - (1 if len(shown) < len(blocks) else 0)
        lines: list[Line] = []
        for block in shown:
            extra = block[1:][-spare:] if spare > 0 else []
            spare -= len(extra)
            lines += [block[0], *extra]
        if len(shown) < len(blocks):
            lines.append(((INDENT[:2] + self.words("run.more_waiting", n=len(blocks) - len(shown)), DIM),))
        return lines

    def _spinning(self, text: str, elapsed: float, spinner: int) -> Line:
        right: Line = ((amounts.whole_seconds(elapsed), DIM),) if elapsed >= 1 else ()
        return sides(((SPINNER[spinner % len(SPINNER)] + " ", CYAN), (text, DIM)), right, self.columns)

    def _live_thinking(self, now: float, spinner: int) -> list[Line]:
        rows = [row for row in "".join(self._thinking[-200:])[-2000:].split("\n") if row.strip()]
        tail = [line for row in rows[-THINKING_LINES:] for line in wrap(((row.strip(), "2;3"),), self.columns - 2)]
        first = self._spinning(self.words("think.live"), now - self._thinking_since, spinner)
        return [first, *((("  ", ""), *line) for line in tail[-THINKING_LINES:])]
