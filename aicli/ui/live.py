"""LiveTaskListRenderer: a run as a list of calls that settles line by line, with approvals and a stop key."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

from aicli.clean import sanitise
from aicli.content.events import AgentEvent
from aicli.content.run_result import ResultFold, RunResult
from aicli.ui import amounts
from aicli.ui.cells import Line, wrap
from aicli.ui.keys import Key
from aicli.ui.prompts import TerminalHost
from aicli.ui.stage import Stage
from aicli.ui.terminal import interactive
from aicli.ui.theme import DIM, DONE, FAILED, STOPPED, STYLE_OF
from aicli.ui.words import Words


def closing_lines(result: RunResult, words: Words, columns: int) -> list[Line]:
    """`✓ finished · 9 calls, 1 failed · 41 s · 31k tokens · $0.05`, or how else it ended and why."""
    why = sanitise(words.said(result.error.message if result.error else result.reason), keep_newlines=False)
    mark, said = {
        "completed": (DONE, words("run.finished")),
        "cancelled": (STOPPED, words("run.stopped", seconds=amounts.seconds(result.seconds))),
        "limited": (FAILED, words("run.limited", why=why)),
    }.get(result.status, (FAILED, words("run.failed", why=why)))
    calls = words("run.calls", n=result.tool_calls)
    if result.failed_calls:
        calls += (", " if words.language == "en" else "，") + words("run.calls_failed", n=result.failed_calls)
    parts = [said, calls]
    if result.status != "cancelled":
        parts.append(amounts.seconds(result.seconds))
    if result.usage.total:
        parts.append(words("run.tokens", n=amounts.tokens(result.usage.total)))
    if result.cost_usd:
        parts.append(amounts.money(result.cost_usd))
    if result.unchecked:
        parts.append(words("run.unchecked"))
    lines: list[Line] = []
    if result.checked:
        lines.append((("  " + sanitise(words.check(result.checked), keep_newlines=False), DIM),))
    text = " · ".join(parts)
    style = STYLE_OF[mark]
    lines += wrap(((text, ""),), columns, first=((mark + " ", style),), rest=(("  ", ""),))
    if result.error and result.error.hint:
        hint = sanitise(words.said(result.error.hint), keep_newlines=False)
        lines += wrap(((hint, DIM),), columns, first=(("  ", ""),), rest=(("  ", ""),))
    return lines


class LiveTaskListRenderer:
    """Shows one run on the terminal. `host` is whom the run may ask; `on_stop` is called for Esc and Ctrl-C.

    Feed every event of the run in order, then `close`; or `await show(agent.stream(task))`, which does both.
    Needs a running loop. `usable` says whether this terminal can be drawn on at all.
    """

    def __init__(
        self,
        *,
        language: str = "auto",
        host: TerminalHost | None = None,
        bell: str = "bell",
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self.words = Words(language)
        self.stage = Stage(self.words, bell=bell)
        self.host = host or TerminalHost()
        self.host.bind(self.stage)
        self.on_stop = on_stop
        self.stage.on_key = self._key
        self.stage.terminal.on_gone = lambda: self.on_stop()
        self._fold = ResultFold()
        self._began = time.monotonic()
        self._opened = False

    @staticmethod
    def usable(*, plain: bool = False) -> bool:
        return interactive(plain=plain)

    def feed(self, event: AgentEvent) -> None:
        """Shows one event; never blocks longer than the terminal does."""
        if not self._opened:
            self._opened = True
            self._began = time.monotonic()
            self.stage.open()
        self._fold.feed(event)
        self.stage.feed(event)

    def close(self) -> RunResult:
        """The last lines: rule, how it ended, calls, seconds, tokens, cost. Gives the terminal back."""
        result = self._fold.result(time.monotonic() - self._began)
        columns = self.stage.screen.width
        transcript = self.stage.transcript
        transcript.work("", 0.0)
        if result.status == "completed" and not result.text.strip():
            transcript.say(self.words("run.no_text"))
        transcript.put([(("─" * min(40, columns), DIM),)])
        transcript.put(closing_lines(result, self.words, columns))
        self.stage.close()
        return result

    async def show(self, events: AsyncIterator[AgentEvent]) -> RunResult:
        """Shows a whole run. The terminal is given back whatever happens."""
        try:
            async for event in events:
                self.feed(event)
        except BaseException:
            self.stage.close()
            raise
        return self.close()

    def _key(self, key: Key) -> None:
        if key.name in ("esc", "ctrl-c"):
            self.stage.transcript.work(self.words("chat.stopping"), self.stage.now)
            self.stage.frames.changed(at_once=True)
            self.on_stop()
