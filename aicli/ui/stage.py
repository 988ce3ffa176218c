"""Stage: transcript above, what is alive below, one screen. Takes keys, draws frames, shows the question that waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from aicli.ui.cells import Line, cut
from aicli.ui.frames import Frames
from aicli.ui.keys import Key
from aicli.ui.screen import Screen
from aicli.ui.terminal import Terminal, colours, reflows
from aicli.ui.theme import DIM
from aicli.ui.words import Words

if TYPE_CHECKING:
    from aicli.content.events import AgentEvent
    from aicli.ui.transcript import Transcript

Caret = tuple[int, int] | None
AWAY_WAIT = 5.0
"""Seconds a question waits without the window's focus before a sign is given."""


class Panel(Protocol):
    """A question that takes the keys once it is open."""

    def is_open(self, now: float) -> bool: ...
    @property
    def deadline(self) -> float | None: ...
    def typed(self, now: float) -> None: ...
    def tick(self, now: float) -> None: ...
    def key(self, key: Key, now: float) -> tuple[str, bool]: ...
    def lines(self, columns: int, limit: int, draft: str = "") -> tuple[list[Line], Caret]: ...
    def whole(self, columns: int) -> tuple[str, list[Line]]: ...


class Stage:
    """Owns the terminal while open. `on_key` gets the keys that no question took; `on_stop` Esc or Ctrl-C."""

    def __init__(self, words: Words, *, bell: str = "bell") -> None:
        self.words = words
        self.terminal = Terminal(self._keys, self._resized)
        self.terminal.on_resume = self.redraw
        columns, rows = self.terminal.size
        self.screen = Screen(self.terminal.write, columns, rows, colour=colours(), reflows=reflows())
        self._transcript: Transcript | None = None
        self.frames = Frames(self._draw)
        self.panels: list[Panel] = []
        self.last_key = -1.0
        self.on_key: Callable[[Key], None] = lambda key: None
        self.on_stop: Callable[[], None] = lambda: None
        self.bottom: Callable[[int, int], tuple[list[Line], Caret]] = lambda columns, limit: ([], None)
        self.draft: Callable[[], str] = lambda: ""
        self.to_draft: Callable[[str], None] = lambda text: None
        self.bell = bell
        self._away = False
        self._asked_at: float | None = None
        self._signed = False
        self._panel_timer: asyncio.TimerHandle | None = None
        self._folds_shown = 0
        self._tail = ""
        self._task: asyncio.Task[object] | None = None
        self._fault: Exception | None = None

    @property
    def transcript(self) -> Transcript:
        """What was said and done. Made when first needed: the input line is on the screen before."""
        if self._transcript is None:
            from aicli.ui.transcript import Transcript

            self._transcript = Transcript(self.words, self.screen.width)
        return self._transcript

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def open(self) -> None:
        """Takes the terminal. A fault in what the loop calls from now on ends the task that opened it, not silently."""
        self._task = asyncio.current_task()
        asyncio.get_running_loop().set_exception_handler(self._failed)
        self.terminal.open()
        self.frames.changed(at_once=True)

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if "handle" not in context or not isinstance(error, Exception) or self._task is None:
            loop.default_exception_handler(context)
        elif self._fault is None:
            self._fault = error
            self.frames.stop()
            self._task.cancel()

    def close(self) -> None:
        """Settles what is there, takes the live region away, gives the terminal back. Raises the fault that ended it."""
        try:
            self._close()
        finally:
            asyncio.get_running_loop().set_exception_handler(None)
            self.terminal.close()
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def _close(self) -> None:
        self.frames.stop()
        if self._panel_timer:
            self._panel_timer.cancel()
        self.panels.clear()
        self.bottom = lambda columns, limit: ([], None)
        if not self.terminal.gone and self.terminal.is_open:
            self.screen.frame(self._transcript.take() if self._transcript else ())
            self.screen.close()

    def restore(self) -> None:
        """The terminal back at once, without a loop: for the last resort."""
        if self.terminal.is_open:
            self.screen.close()
            self.terminal.restore()

    # -- what comes in

    def feed(self, event: AgentEvent) -> None:
        self.transcript.feed(event, self.now)
        self.frames.changed()

    def print(self, lines: list[Line]) -> None:
        self.transcript.put(lines)
        self.frames.changed(at_once=True)

    def ask(self, panel: Panel) -> None:
        """Puts a question; it opens when the input has been still."""
        if panel not in self.panels:
            self.panels.append(panel)
        if self._asked_at is None:
            self._asked_at, self._signed = self.now, False
        self._watch_panel()
        self.frames.changed(at_once=True)

    def answered(self, panel: Panel) -> None:
        if panel in self.panels:
            self.panels.remove(panel)
        if not self.panels:
            self._asked_at = None
            self._tail += self.terminal.untitle()
        self._watch_panel()
        self.frames.changed(at_once=True)

    @property
    def panel(self) -> Panel | None:
        """The question in front, if it is open."""
        return self.panels[0] if self.panels and self.panels[0].is_open(self.now) else None

    # -- keys

    def _keys(self, keys: list[Key]) -> None:
        for key in _joined(keys):
            self._key(key)
        self._watch_panel()
        self.frames.changed(at_once=True)

    def _key(self, key: Key) -> None:
        if key.name in ("focus-in", "focus-out"):
            self._away = key.name == "focus-out"
            return
        now = self.now
        panel = self.panel
        self.last_key = now
        if key.name == "ctrl-z":
            self.suspend()
            return
        if key.name == "ctrl-o" and self.open_fold(panel):
            return
        if panel is None:
            for waiting in self.panels:
                waiting.typed(now)
            self.on_key(key)
            return
        text, for_others = panel.key(key, now)
        if text:
            self.to_draft(text)
        if for_others:
            self.on_key(key)

    def _watch_panel(self) -> None:
        """Time alone opens a question and lets a lone letter decide."""
        if self._panel_timer:
            self._panel_timer.cancel()
            self._panel_timer = None
        if not self.panels:
            return
        times = [t for t in (self.panels[0].deadline, self._sign_time()) if t is not None]
        if times:
            self._panel_timer = asyncio.get_running_loop().call_at(min(times) + 0.001, self._panel_due)

    def _sign_time(self) -> float | None:
        if self._asked_at is None or self._signed or self.bell == "off" or not self._away:
            return None
        return self._asked_at + AWAY_WAIT

    def _panel_due(self) -> None:
        self._panel_timer = None
        now = self.now
        if self.panels:
            if self.panels[0].is_open(now):
                self.panels[0].tick(now)
            self._sign(now)
        self._watch_panel()
        self.frames.changed(at_once=True)

    def _sign(self, now: float) -> None:
        """Somebody is waited for and looks elsewhere: title and one sound, once a question."""
        if self._asked_at is None or self._signed or not self._away or now - self._asked_at < AWAY_WAIT:
            return
        self._signed = True
        text = self.words("title.waiting")
        self._tail += self.terminal.title(text) + (f"\x1b]9;{text}\x07" if self.bell == "osc9" else "\a")

    def open_fold(self, panel: Panel | None) -> bool:
        """Prints the newest fold that was not opened yet, or all of the question in front. False when there is none."""
        if panel is not None:
            title, lines = panel.whole(self.screen.width)
            self.print(lines)
            return True
        folds = self._transcript.folds if self._transcript else []
        at = len(folds) - 1 - self._folds_shown
        if at < 0:
            return False
        self._folds_shown += 1
        title, text = folds[at]
        self.transcript.unfold(title, text)
        return True

    # -- drawing

    def _draw(self) -> bool:
        if not self.terminal.is_open:
            return False
        self._fit()  # the signal of a new size may still be on its way
        now = self.now
        columns, limit = self.screen.width, self.screen.live_limit
        spoken = self._transcript
        if spoken is not None and spoken.new_fold():
            self._folds_shown = 0
        panel = self.panel
        caret: Caret = None
        if panel is not None:
            low, caret = panel.lines(columns, limit, self.draft())
        else:
            low, caret = self.bottom(columns, limit)
            if self.panels:
                note: Line = cut((("? " + self.words("approval.soon", n=len(self.panels)), DIM),), columns)
                low = [note, *low]
                caret = (caret[0] + 1, caret[1]) if caret else None
        room, asking = limit - len(low), panel is not None
        upper = spoken.live(now, room, asking=asking) if spoken is not None and room > 0 else []
        tail, self._tail = self._tail, ""
        settled = spoken.take() if spoken is not None else ()
        place = (caret[0] + len(upper), caret[1]) if caret else None
        self.screen.frame(settled, [*upper, *low], place, tail)
        return spoken is not None and spoken.animated

    @property
    def animated(self) -> bool:
        return self._transcript is not None and self._transcript.animated

    def redraw(self) -> None:
        """After fg or an editor: the live region is drawn anew below what is there."""
        columns, rows = self.terminal.size
        self.screen.restart(columns, rows)
        self._resize_transcript()
        self.frames.changed(at_once=True)

    def _resized(self) -> None:
        if self._fit():
            self.frames.changed(at_once=True)

    def _fit(self) -> bool:
        """Takes the terminal's size; True when it is another one."""
        columns, rows = self.terminal.size
        if (columns, rows) == (self.screen.columns, self.screen.rows):
            return False
        self.screen.resized(columns, rows)
        self._resize_transcript()
        return True

    def _resize_transcript(self) -> None:
        if self._transcript is not None:
            self._transcript.resize(self.screen.width)

    def suspend(self) -> None:
        """Ctrl-Z."""
        self.screen.close()
        self.terminal.suspend()


def _joined(keys: list[Key]) -> list[Key]:
    """Characters of one read that stand together are one key: typing faster than we read is no lone letter."""
    joined: list[Key] = []
    for key in keys:
        if key.name == "char" and joined and joined[-1].name == "char":
            joined[-1] = Key("char", joined[-1].text + key.text)
        else:
            joined.append(key)
    return joined
