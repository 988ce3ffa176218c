"""ChatScreen: the stage with an input line, a queue and a footer. Knows nothing of agents: it calls back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from aicli.clean import sanitise
from aicli.ui import amounts
from aicli.ui.cells import Line, cut, hard_wrap, sides, width, wrap
from aicli.ui.history import History
from aicli.ui.keys import Key
from aicli.ui.line_editor import Completer, LineEditor
from aicli.ui.stage import Caret, Stage
from aicli.ui.theme import DIM, RED, USER, YELLOW, YOU
from aicli.ui.words import Words

QUIT_WITHIN = 2.0
WARN_AT = 80


@dataclass
class Footer:
    """What the last line tells. `window` None: unknown, shown as "?"."""

    mode: str = ""
    model: str = ""
    used: int = 0
    window: int | None = None
    turn: int = 0
    seconds: float = 0.0
    cost: float | None = None

    @property
    def share(self) -> int | None:
        return None if not self.window else min(999, round(100 * self.used / self.window))


@dataclass
class Calls:
    """Whom to call. `submit` gets a whole message while idle, `queue` one while busy; `take_back` returns the last."""

    submit: Callable[[str], None] = lambda text: None
    queue: Callable[[str], None] = lambda text: None
    take_back: Callable[[], str] = lambda: ""
    stop: Callable[[], None] = lambda: None
    quit: Callable[[], None] = lambda: None
    next_mode: Callable[[], None] = lambda: None


@dataclass
class ChatState:
    busy: bool = False
    stopping: bool = False
    ready: bool = False
    queued: list[str] = field(default_factory=list)


class ChatScreen:
    """Open it in a running loop. `calls` may be set at any time; what is typed before `ready` stays in the line."""

    def __init__(
        self, words: Words, *, history: Path | None = None, complete: Completer | None = None, bell: str = "bell"
    ) -> None:
        self.words = words
        self.stage = Stage(words, bell=bell)
        self.editor = LineEditor(History(history), complete)
        self.footer = Footer()
        self.state = ChatState()
        self.calls = Calls()
        self._hint = ""
        self._reader: asyncio.Future[str] | None = None
        self._empty_counts = False
        self._quit_before = 0.0
        self._began = 0.0
        self.stage.on_key = self._key
        self.stage.bottom = self._bottom
        self.stage.draft = lambda: self.editor.text
        self.stage.to_draft = self._to_draft

    # -- what happens

    def begin(self, text: str) -> None:
        """A turn starts: the message settles, if it has not yet ("")."""
        if text:
            self.say_user(text)
        self.state.busy, self.state.stopping = True, False
        self._began = self.stage.now
        self.footer.turn += 1
        self.stage.frames.changed(at_once=True)

    def working(self, text: str) -> None:
        """Something of ours runs that Esc stops."""
        self.state.busy, self.state.stopping = True, False
        self._began = self.stage.now
        self.stage.transcript.work(text, self.stage.now)
        self.stage.frames.changed(at_once=True)

    def end(self) -> None:
        self.stage.transcript.work("", self.stage.now)
        self.footer.seconds += self.stage.now - self._began
        self.state.busy = self.state.stopping = False
        self.stage.frames.changed(at_once=True)

    def stopping(self) -> None:
        """Stop was asked for; said so at once, and only later that it happened."""
        self.state.stopping = True
        self.stage.frames.changed(at_once=True)

    def say_user(self, text: str) -> None:
        columns = self.stage.screen.width
        lines: list[Line] = [()]
        for i, row in enumerate(sanitise(text).split("\n")):
            first: Line = ((f"{YOU} " if i == 0 else "  ", USER),)
            lines += wrap(((row.expandtabs(4), USER),), columns, first=first, rest=(("  ", ""),))
        if len(lines) > 13:
            rest = self.words("fold.more", n=len(lines) - 11)
            lines = [*lines[:11], (("  " + rest, DIM),)]
        self.stage.print(lines)

    def say(self, markdown: str) -> None:
        self.stage.transcript.say(markdown)
        self.stage.frames.changed(at_once=True)

    def note(self, text: str) -> None:
        self.stage.transcript.note(text)
        self.stage.frames.changed(at_once=True)

    def dim(self, text: str) -> None:
        self.stage.transcript.say_dim(text)
        self.stage.frames.changed(at_once=True)

    def error(self, text: str, hint: str = "") -> None:
        columns = self.stage.screen.width
        lines = wrap(((sanitise(self.words.said(text)), ""),), columns, first=(("✗ ", "1;" + RED),), rest=(("  ", ""),))
        if hint:
            lines += wrap(((sanitise(self.words.said(hint)), DIM),), columns, first=(("  ", ""),), rest=(("  ", ""),))
        self.stage.print(lines)

    def raw(self, text: str) -> None:
        """Text of a program, as it is, indented."""
        rows = sanitise(text).rstrip("\n").split("\n")
        room = self.stage.screen.width - 2
        self.stage.print([(("  ", ""), *part) for row in rows for part in hard_wrap(row.expandtabs(4), room, DIM)])

    async def read(self, *, allow_empty: bool = False) -> str:
        """The next line that is entered, instead of a message. Blocks; cancelling gives the line back to messages."""
        self._reader, self._empty_counts = asyncio.get_running_loop().create_future(), allow_empty
        try:
            return await self._reader
        finally:
            self._reader = None

    async def read_answer(self, question: str) -> str:
        """An answer to a question of ours, possibly empty."""
        self.stage.print([((f"? {question}", "1;33"),)])
        return (await self.read(allow_empty=True)).strip()

    def to_draft(self, texts: list[str]) -> None:
        """Unsent messages come back before what is in the line."""
        kept = [t for t in (*texts, self.editor.text) if t]
        self.editor.set("\n".join(kept))
        self.state.queued.clear()

    # -- keys

    def may_know_more(self, loop: asyncio.AbstractEventLoop) -> None:
        """Completion may have more to offer. May be called in any thread; nothing happens once the loop is closed."""
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._refresh)

    def _refresh(self) -> None:
        if not self.editor.searching and "@" in self.editor.text:
            first = not self.editor.candidates
            self.editor.refresh()
            self.stage.frames.changed(at_once=first)

    def _to_draft(self, text: str) -> None:
        self.editor.key(Key("char", text))

    def _key(self, key: Key) -> None:
        self._hint = ""
        if key.name == "ctrl-c" or (key.name == "esc" and self.state.busy and not self.editor.searching):
            self._stop_or_quit(key)
        elif key.name == "ctrl-d" and self.editor.empty:
            self.calls.quit()
        elif key.name == "ctrl-g" and not self.editor.searching:
            from aicli.ui.external import edit_text

            edited = edit_text(self.stage, self.editor.text)
            if edited is not None:
                self.editor.set(edited)
        elif key.name == "up" and self.editor.empty and self.state.queued:
            self.editor.set(self.calls.take_back())
        elif key.name == "shift-tab" and not self.editor.candidates:
            self.calls.next_mode()
        elif key.name == "ctrl-o":
            if not self.editor.buffer.open_token():
                self._hint = self.words("fold.nothing")
        elif self.editor.key(key) == "submit":
            self._submit()

    def _stop_or_quit(self, key: Key) -> None:
        if self.editor.searching:
            self.editor.key(key)
        elif self.state.busy:
            self.calls.stop()
        elif self.interrupt():
            self.calls.quit()

    def interrupt(self) -> bool:
        """Ctrl-C while idle: clears the draft, then hints; True when it was the second within two seconds."""
        now = self.stage.now
        if not self.editor.empty:
            self.editor.history.add(self.editor.text)
            self.editor.clear()
        elif now < self._quit_before:
            return True
        else:
            self._quit_before = now + QUIT_WITHIN
            self._hint = self.words("chat.quit_hint")
        self.stage.frames.changed(at_once=True)
        return False

    def _submit(self) -> None:
        if self._reader is not None and (self._empty_counts or not self.editor.empty):
            if not self._reader.done():
                self._reader.set_result(self.editor.take())
        elif not self.editor.text.strip():
            self.editor.clear()
        elif not self.state.ready:
            self._hint = self.words("chat.not_ready")
        elif self.state.busy:
            self.calls.queue(self.editor.take())
        else:
            self.calls.submit(self.editor.take())

    # -- lines

    def _bottom(self, columns: int, limit: int) -> tuple[list[Line], Caret]:
        head: list[Line] = []
        if self.state.stopping:
            head.append(((f"⊘ {self.words('chat.stopping')}", YELLOW),))
        for text in self.state.queued[-2:]:
            said = self.words("chat.queued", text=" ".join(sanitise(text).split()))
            head.append(sides((("  " + said, DIM),), ((self.words("chat.edit_queued"), DIM),), columns))
        room = max(1, limit - len(head) - 1 - (3 if self.stage.animated else 0))
        lines, caret = self.editor.view(columns, room)
        return [*head, *lines, self._footer(columns)][-limit:], (len(head) + caret[0], caret[1])

    def _footer(self, columns: int) -> Line:
        f, words = self.footer, self.words
        key = self._hint or words("chat.key_stop" if self.state.busy else "chat.key_help")
        share = f.share
        style = DIM
        if share is not None and share >= WARN_AT:
            style = YELLOW
            key = self._hint or (words("chat.key_stop") if self.state.busy else "/compact")
        seconds = f.seconds + (self.stage.now - self._began if self.state.busy else 0)
        window = amounts.tokens(f.window) if f.window else "?"
        context = f"{amounts.tokens(f.used)}/{window}" + (f" {share}%" if share is not None else "")
        parts = [
            f.mode,
            _short(f.model),
            context if f.model else "",
            words("chat.turn", n=f.turn, seconds=amounts.whole_seconds(seconds)) if f.turn else "",
            amounts.money(f.cost) if f.cost else "",
        ]
        short = f"{share}%" if share is not None else context
        for kept in ([0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 1, 2], [0, 2]):
            text = " " + " · ".join(p for i, p in enumerate(parts) if p and i in kept)
            if width(text) + width(key) + 3 <= columns:
                return sides(((text, style),), ((key, DIM if not self._hint else YELLOW),), columns)
        text = " " + " · ".join(p for p in (f.mode, short) if p)
        return sides(((text, style),), ((key, DIM),), columns) if columns > 24 else cut(((text, style),), columns)


def _short(model: str) -> str:
    """The model without its provider."""
    return model.partition(":")[2] or model
