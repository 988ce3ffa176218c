"""A conversation line by line: for pipes, for simple terminals, and where plain lines are wanted."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING, TextIO

from aicli import runtime
from aicli.commands import _slash
from aicli.commands._mentions import expand
from aicli.commands._options import RunFlags, run_options, settings_flags
from aicli.content.events import AgentEvent, RunFinished
from aicli.content.results import DiffDisplay
from aicli.content.run_result import ResultFold
from aicli.errors import AicliError
from aicli.tools.host import Approval, ApprovalRequest, HeadlessHost, Host, Question
from aicli.ui.cells import pad_right, plain
from aicli.ui.console import Console, ReaderGone, is_terminal
from aicli.ui.interrupts import Interrupts
from aicli.ui.pending import settings, what_runs
from aicli.ui.plain import PlainRenderer
from aicli.ui.terminal import drop_typed_ahead
from aicli.ui.words import Words

if TYPE_CHECKING:
    from aicli.runtime import Session

THINK_FROM = 1_500
WHOLE_LINES = 1_000_000
"""Cells: no line of a question is broken."""

SIMPLE = ("help", "clear", "quit", "model", "stats")


class LineReader:
    """Lines of a stream, read by a thread that never keeps the program from ending. None is the end."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, daemon=True, name="lines").start()

    def _read(self) -> None:
        held = b""
        while True:
            try:
                data = os.read(self._fd, 65536)
            except OSError:
                data = b""
            held += data
            *whole, held = held.split(b"\n")
            if not data:
                whole, held = ([held] if held else []), b""
            try:
                for row in whole:
                    text = row.decode("utf-8", "replace").rstrip("\r")
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, text)
                if not data:
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, None)
                    return
            except RuntimeError:
                return  # the loop has ended

    async def line(self) -> str | None:
        return await self._lines.get()

    def forget(self) -> None:
        """Drops what was typed before now."""
        drop_typed_ahead()
        while not self._lines.empty():
            self._lines.get_nowait()


def _target(request: ApprovalRequest) -> list[str]:
    """The file that a change is for, where the title names it otherwise."""
    change = request.preview
    return [change.path] if isinstance(change, DiffDisplay) and change.path not in request.title else []


class LineHost:
    """Somebody at a plain terminal: a question is text, the answer a line. Only a whole word counts."""

    def __init__(self, lines: LineReader, console: Console, words: Words) -> None:
        self._lines, self._console, self._words = lines, console, words

    @property
    def present(self) -> bool:
        return True

    async def approve(self, request: ApprovalRequest) -> Approval:
        words = self._words
        self._lines.forget()
        head = f"{pad_right(words('plain.ask'), 5)} {words.title(request.title)}"
        shown = "\n".join(plain(line) for line in what_runs(request, WHOLE_LINES))
        where = "".join(f"  {one}\n" for one in (*_target(request), *settings(request, words)))
        because = words("approval.because", why=words.said(request.why))
        self._console.complain(f"{head}\n{shown}\n{where}{because}")
        while True:
            rule = f", s {words('approval.session', rule=request.rule)}" if request.rule else ""
            self._console.complain(f"y {words('approval.once')}{rule}, n {words('approval.no')}: ")
            said = await self._lines.line()
            if said is None:
                return Approval("deny", reason="nobody answered")
            letter, _, reason = said.strip().partition(" ")
            if letter in ("y", "yes"):
                return Approval("once")
            if letter == "s" and request.rule:
                return Approval("session", rule=request.rule)
            if letter in ("n", "no"):
                return Approval("deny", reason=reason)

    async def ask(self, question: Question) -> str | None:
        self._lines.forget()
        choices = "".join(f"\n{n} {c}" for n, c in enumerate(question.choices, 1))
        self._console.complain(f"{pad_right(self._words('plain.ask'), 5)} {question.text}{choices}")
        said = await self._lines.line()
        if said and said.strip().isdigit() and 1 <= int(said) <= len(question.choices):
            return question.choices[int(said) - 1]
        return said or None


async def chat_by_lines(flags: RunFlags, agent: str, first: str, stdin: TextIO | None) -> int:
    """Each line is a message; answers go to stdout, everything else to stderr. Raises AicliError for the set-up."""
    if stdin is None:
        return 0
    talk = _Talk(flags, Console(), stdin)
    with Interrupts(talk.stop) as interrupts:
        talk.interrupts = interrupts
        try:
            return await talk.run(agent, first)
        except ReaderGone:
            return 0


class _Talk:
    def __init__(self, flags: RunFlags, console: Console, stdin: TextIO) -> None:
        self.flags, self.console = flags, console
        self.words = Words()
        self.typed = is_terminal(stdin)
        self.lines = LineReader(stdin.fileno())
        self.total = ResultFold()
        self.interrupts: Interrupts
        self._session: Session | None = None
        self._ended = asyncio.Event()
        self._code = 0

    def stop(self, code: int) -> None:
        running = self._session is not None and self._session.agent.cancel(code)
        if code != 130 or not running:
            self._code = code
            self._ended.set()

    async def run(self, agent: str, first: str) -> int:
        host: Host = LineHost(self.lines, self.console, self.words) if self.typed else HeadlessHost()
        options = run_options(self.flags, self.flags.session_id, agent=agent)
        loaded = runtime.load(settings_flags(self.flags), options)
        self.words.use(loaded.settings.ui.language)
        session = self._session = await runtime.build(loaded, host, options)
        self.console.redact = session.redact
        show = PlainRenderer(self.console.err, verbose=self.flags.verbose, words=self.words)
        failed = 0
        try:
            text: str | None = first or await self._next()
            while text is not None:
                code = await self._one(session, text, show)
                if code is None:
                    break
                failed = code
                text = await self._next()
        finally:
            await session.close()
        return self._code or (0 if self.typed else failed)

    async def _next(self) -> str | None:
        """The next line; None at the end and when a signal came."""
        if self._ended.is_set():
            return None
        if self.typed:
            sys.stderr.write("> ")
            sys.stderr.flush()
        line = asyncio.create_task(self.lines.line())
        ended = asyncio.create_task(self._ended.wait())
        await asyncio.wait({line, ended}, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if not line.done():
            line.cancel()
            return None
        return line.result()

    async def _one(self, session: Session, text: str, show: PlainRenderer) -> int | None:
        """One line; its exit code, None to leave."""
        if not text.strip():
            return 0
        command = _slash.parse(text)
        if command is None:
            return await self._turn(session, text, show)
        name, arguments = command
        known = {alias: slash.name for slash in _slash.TABLE for alias in (slash.name, *slash.aliases)}
        name = known.get(name, name)
        if name == "quit":
            return None
        if name == "clear":
            session.agent.clear()
        elif name == "help":
            rows = [f"/{n:<12} {self.words(f'slash.{n}')}" for n in SIMPLE]
            self.console.complain("\n".join(rows))
        elif name == "model":
            await self._model(session, arguments)
        elif name == "stats":
            result = self.total.result()
            said = (f"{self.words('stats.requests')} {result.turns}", self.words("run.tokens", n=result.usage.total))
            self.console.complain(self.words("plain.joint").join(said))
        elif name in known.values():
            self.console.complain(f"/{name}: {self.words('chat.not_terminal')}")
        else:
            error = _slash.unknown(self.words, name, ())
            self.console.complain(f"{error}. {error.hint}" if self.words.language == "en" else f"{error}。{error.hint}")
        return 0

    async def _model(self, session: Session, arguments: str) -> None:
        wanted = arguments.removeprefix("set ").removeprefix("show").strip()
        try:
            if wanted:
                await session.use_model(wanted)
            models = await session.agent.models()
            self.console.complain(models[0].info.id)
        except AicliError as error:
            self.console.error(self.words.error(str(error), error.hint))

    async def _turn(self, session: Session, text: str, show: PlainRenderer) -> int:
        finished: RunFinished | None = None

        def event(one: AgentEvent) -> None:
            nonlocal finished
            self.total.feed(one)
            show(one)
            if isinstance(one, RunFinished):
                finished = one

        try:
            if not self.flags.model:
                await self._choose(session, text)
            await session.agent.run(expand(text, session), on_event=event)
        except AicliError as error:
            self.console.error(self.words.error(str(error), error.hint))
            return error.exit_code
        self.interrupts.done()
        if finished is None:
            return 1
        if finished.text:
            self.console.out_text(finished.text)
        if finished.error is not None:
            self.console.error(self.words.error(finished.error.message, finished.error.hint))
        return finished.exit_code

    async def _choose(self, session: Session, text: str) -> None:
        role = "thinking" if len(text) > THINK_FROM else "fast"
        if role != session.agent.role:
            await session.use_model(role)
        models = await session.agent.models()
        self.console.err(self.words.said(f"model {models[0].info.id} ({role})"))
