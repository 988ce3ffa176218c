"""Conversation: one chat on the screen. Binds session, agent and screen; a turn is one task that can be stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aicli.agents.context import request_tokens
from aicli.commands._mentions import typed
from aicli.commands._options import RunFlags, run_options, settings_flags
from aicli.content.events import AgentEvent, MessageAdded, ModelChanged, RunFinished
from aicli.content.kinds import PermissionMode
from aicli.content.messages import Message
from aicli.content.parts import TextPart
from aicli.content.results import TasksDisplay
from aicli.content.run_result import ResultFold
from aicli.errors import AicliError
from aicli.ui import amounts
from aicli.ui.chat_screen import Calls, ChatScreen
from aicli.ui.completion import ChatCompleter, FileIndex
from aicli.ui.display import task_lines
from aicli.ui.interrupts import Interrupts
from aicli.ui.live import closing_lines
from aicli.ui.prompts import TerminalHost

if TYPE_CHECKING:
    from aicli.agents.agent import Agent
    from aicli.runtime import RunOptions, Session
    from aicli.sessions.store import Restored

THINK_FROM = 1_500
"""Characters from which a message goes to the thinking role."""
MODES = (PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS, PermissionMode.PLAN)


class Conversation:
    """`run` gets the session ready on a screen that is open and takes keys already. `first` is a message to begin with."""

    def __init__(
        self, flags: RunFlags, screen: ChatScreen, interrupts: Interrupts, agent: str = "general", first: str = ""
    ) -> None:
        self.flags, self.agent_name, self.first = flags, agent, first
        self.screen, self._interrupts = screen, interrupts
        self.words = screen.words
        self.host = TerminalHost()
        self.files = FileIndex((flags.cwd or Path.cwd()).expanduser())
        self.total = ResultFold()
        self.turns: list[int] = []  # length of the history before each turn
        self.tasks: list[str] = []  # each message's name in the checkpoints
        self.told: list[str] = []  # what the person ran with !, for the next message
        self.switch = not flags.model  # may a long message go to the thinking role?
        self.session: Session
        self._over: asyncio.Future[int]
        self._task: asyncio.Task[object] | None = None
        self._ready = self._turning = False

    @property
    def agent(self) -> Agent:
        return self.session.agent

    async def run(self) -> int:
        """Blocks until the person leaves. Raises AicliError when the session can't be made."""
        self._over = asyncio.get_running_loop().create_future()
        screen = self.screen
        screen.editor.complete = ChatCompleter(self.files, self._names)
        self.files.grown = partial(screen.may_know_more, asyncio.get_running_loop())
        self.host.bind(screen.stage)
        screen.calls = Calls(self.submit, self._queue, self._take_back, self._stop, self.quit, self._next_mode)
        screen.stage.terminal.on_gone = lambda: self.quit(129)
        self._interrupts.cancel = self._signal
        try:
            self._start(self._prepare())
            return await self._over
        finally:
            await self._end()

    # -- tasks

    def _start(self, work: Coroutine[Any, Any, object]) -> None:
        """One thing at a time: a turn, a command, or the preparation."""
        self._task = asyncio.create_task(work)
        self._task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[object]) -> None:
        if task is self._task:
            self._task = None
        error = None if task.cancelled() else task.exception()
        if self._over.done():
            return
        if error is not None and not (self._ready and isinstance(error, Exception)):
            self._over.set_exception(error)
            return
        if error is not None:
            self.screen.end()
            self.screen.error(self.words("chat.fault", what=f"{type(error).__name__}: {error}"))
        elif not self._ready:
            self.quit(130)  # getting ready was stopped
        self._go_on(stopped=error is not None or task.cancelled())

    def quit(self, code: int = 0) -> None:
        if not self._over.done():
            self._over.set_result(code)

    def _signal(self, code: int) -> None:
        """SIGINT stops what runs, or is the idle line's Ctrl-C; the others end the program."""
        if code != 130:
            self.quit(code)
        elif self.screen.state.busy:
            self._stop()
        else:
            self._interrupts.done()
            self.screen.calls.quit() if self.screen.interrupt() else None

    async def _end(self) -> None:
        """Ends what runs, says goodbye, closes the session."""
        task = self._task
        if task is not None and not task.done():
            if not (self._ready and self.agent.cancel(143)):
                task.cancel()
            await asyncio.wait({task})
        self.files.close()
        if self._ready:
            self._ready = False
            self._goodbye()
            await self.session.close()

    # -- getting ready

    async def _prepare(self) -> None:
        from aicli.commands._setup import prepare

        self.session = await prepare(self)
        self._ready = self.screen.state.ready = True
        self.screen.stage.transcript.model = self.model
        self.show_model()
        if self.session.restored is not None:
            self._show_restored(self.session.restored)
        if self.agent.name != "general":
            self.screen.dim(self.words("models.agent", name=self.agent.name, model=self.model))
        if self.first:
            asyncio.get_running_loop().call_soon(self.submit, self.first)

    def options(self, **more: Any) -> RunOptions:
        return replace(run_options(self.flags, self.flags.session_id, agent=self.agent_name), **more)

    def settings(self) -> dict[str, object]:
        return settings_flags(self.flags)

    def show_model(self) -> None:
        """Footer: model, window, mode."""
        footer = self.screen.footer
        model = self.agent.model
        first = model[0] if isinstance(model, (list, tuple)) else model
        info = getattr(first, "info", None)
        footer.model = info.id if info else str(model)
        footer.window = self.session.loaded.settings.models.num_ctx or (info.window if info else None)
        footer.mode = self.words(f"mode.{self.session.policy.mode.value}")
        self.screen.stage.frames.changed(at_once=True)

    @property
    def model(self) -> str:
        model = self.agent.model
        first = model[0] if isinstance(model, (list, tuple)) else model
        return first.info.id if hasattr(first, "info") else str(first)

    def _show_restored(self, restored: Restored) -> None:
        """The last exchange of a resumed session, and the tasks that were open."""
        history = restored.history
        users = [i for i, m in enumerate(history) if m.role == "user"]
        if not users:
            return
        self.turns = users
        used = request_tokens(self.agent.instructions, [t.spec() for t in self.agent.executor.tools], history)
        self.screen.dim(self.words("chat.resumed", n=len(users), tokens=amounts.tokens(used), model=self.model))
        self.screen.say_user(typed(history[users[-1]]))
        answers = [m.text for m in history[users[-1] :] if m.role == "model" and m.text.strip()]
        if answers:
            self.screen.say(answers[-1])
        if any(task.status in ("pending", "in_progress") for task in restored.tasks):
            stage = self.screen.stage
            stage.print(task_lines(TasksDisplay(tasks=restored.tasks), stage.screen.width))
        self.screen.footer.turn = len(users)
        self.screen.footer.used = used

    async def reopen(self, **more: Any) -> None:
        """Another session in this one's place: `more` are RunOptions. Raises what building it raises."""
        from aicli import runtime

        options = self.options(**more)
        fresh = await runtime.build(self.session.loaded, self.host, options)
        old, self.session = self.session, fresh
        await old.close()
        self.turns.clear()
        self.show_model()
        if fresh.restored is not None:
            self._show_restored(fresh.restored)

    # -- messages

    def submit(self, text: str) -> None:
        """A message or a command, while nothing runs."""
        if self._task is not None and not self._task.done():
            self._queue(text)
            return
        from aicli.commands import _slash

        self.files.refresh()
        command = _slash.parse(text)
        if command is not None:
            self.screen.say_user(text)
            self._start(_slash.run(self, *command))
        elif text.startswith("!") and text[1:].strip():
            self._start(self._shell(text[1:].strip()))
        else:
            self._turning = True
            self._start(self.turn(text))

    async def turn(self, text: str, *, shown: str | None = None) -> RunFinished | None:
        """One message to the agent and everything until its end; `shown` stands for it on the screen ("": nothing)."""
        from aicli.commands._mentions import expand

        screen = self.screen
        began = screen.stage.now
        screen.begin(text if shown is None else shown)
        self.turns.append(len(self.agent.history))
        kept = self.session.state.checkpoints
        self.tasks.append(kept.new_task() if kept is not None else "")
        finished: RunFinished | None = None
        fold = ResultFold()
        self._turning = True
        try:
            await self._choose(text)
            parts = [*(TextPart(text=said) for said in self.told), *expand(text, self.session)]
            self.told.clear()
            joined = False
            async for event in self.agent.stream(parts):
                fold.feed(event)
                self._event(event, joined)
                joined = joined or isinstance(event, MessageAdded)
                if isinstance(event, RunFinished):
                    finished = event
        except AicliError as error:
            screen.error(str(error), error.hint)
        finally:
            self._after(finished, fold, screen.stage.now - began)
        return finished

    def _event(self, event: AgentEvent, joined: bool) -> None:
        self.total.feed(event)
        screen = self.screen
        if isinstance(event, MessageAdded):
            if event.usage is not None:
                screen.footer.used = event.usage.total
                screen.footer.cost = self.total.result().cost_usd
            if event.message.role == "user" and joined and (said := typed(event.message)) in screen.state.queued:
                screen.state.queued.remove(said)
                screen.say_user(said)
        screen.stage.feed(event)
        if isinstance(event, ModelChanged):
            self.show_model()

    def _after(self, finished: RunFinished | None, fold: ResultFold, seconds: float) -> None:
        screen = self.screen
        self._interrupts.done()
        if finished is None or finished.status == "cancelled":
            line = self.words("run.stopped", seconds=amounts.seconds(seconds))
            screen.stage.transcript.stopped(line)
        elif finished.status != "completed":
            self.turns = [t for t in self.turns if t < len(self.agent.history)]
            screen.stage.print(closing_lines(fold.result(seconds), self.words, screen.stage.screen.width))
        elif finished.checked:
            screen.dim(self.words.check(finished.checked))
        screen.end()
        self._turning = False
        if finished is None or finished.status != "completed":
            self._go_on(stopped=True)

    async def _choose(self, text: str) -> None:
        """Fast, or thinking for a long message; the model is named each time."""
        if self.switch:
            role = "thinking" if len(text) > THINK_FROM else "fast"
            if role != self.agent.role:
                await self.session.use_model(role)
                self.show_model()
        key = "chat.model_long" if self.switch and self.agent.role == "thinking" else "chat.model"
        self.screen.dim(self.words(key, model=self.model, role=self.agent.role, n=f"{THINK_FROM:,}"))
        self.screen.stage.transcript.model = self.model

    # -- while busy

    def _queue(self, text: str) -> None:
        """A message joins the turn that runs; a command, and whatever comes while one runs, waits for the end."""
        from aicli.commands import _slash
        from aicli.commands._mentions import expand

        self.screen.state.queued.append(text)
        if self._turning and not text.startswith("!") and _slash.parse(text) is None:
            self.agent.steer(Message(role="user", parts=tuple(expand(text, self.session))))

    def _take_back(self) -> str:
        """The last queued text leaves the queue again; "" when it has just joined."""
        text = self.screen.state.queued.pop()
        waiting = self.agent.unqueue() if self._ready else []
        mine = [m for m in waiting if typed(m) == text]
        for message in waiting:
            if not mine or message is not mine[-1]:
                self.agent.steer(message)
        return text

    def _go_on(self, *, stopped: bool) -> None:
        """Nothing runs any more: what waits is next, or is given back unsent."""
        screen = self.screen
        waiting = list(screen.state.queued)
        screen.state.queued.clear()
        if self._ready:
            self.agent.unqueue()
        if stopped:
            screen.to_draft(self._apart(waiting))
        else:
            for text in waiting:
                self.submit(text)

    def _apart(self, waiting: list[str]) -> list[str]:
        """What may stand in one draft: a command beside a message would take it for its arguments, so Up has it."""
        from aicli.commands import _slash

        commands = [text for text in waiting if text.startswith("!") or _slash.parse(text) is not None]
        if not commands or len(waiting) + (not self.screen.editor.empty) == 1:
            return waiting
        for text in commands:
            self.screen.editor.history.add(text)
        self.screen.dim(self.words("chat.unsent", texts=" · ".join(commands)))
        return [text for text in waiting if text not in commands]

    def _stop(self) -> None:
        self.screen.stopping()
        if not (self._ready and self.agent.cancel()) and self._task is not None:
            self._task.cancel()

    def _next_mode(self) -> None:
        if self._ready:
            now = self.session.policy.mode
            at = MODES.index(now) if now in MODES else -1
            self.set_mode(MODES[(at + 1) % len(MODES)])

    def set_mode(self, mode: PermissionMode) -> None:
        self.session.set_mode(mode)
        self.show_model()

    # -- the rest

    def _names(self) -> list[tuple[str, str]]:
        from aicli.commands import _slash

        return _slash.names(self.words, self.session if self._ready else None)

    async def _shell(self, command: str) -> None:
        """!command: run by the person, shown, and told to the model with the next message."""
        from aicli.commands._mentions import run_command

        screen = self.screen
        screen.begin("!" + command)
        began = screen.stage.now
        try:
            said = await run_command(command, self.session, screen.stage)
            self.told.append(said)
        except asyncio.CancelledError:
            line = self.words("run.stopped", seconds=amounts.seconds(screen.stage.now - began))
            screen.stage.transcript.stopped(line)
            self._go_on(stopped=True)
        finally:
            self._interrupts.done()
            screen.end()

    def _goodbye(self) -> None:
        """At most two lines: totals, and how to go on."""
        result = self.total.result()
        if not result.turns:
            return
        words, turns, calls = self.words, len(self.turns), result.tool_calls
        parts = [
            words("chat.turns", n=turns),
            words("run.calls", n=calls),
            words("run.tokens", n=amounts.tokens(result.usage.total)),
            amounts.money(result.cost_usd) if result.cost_usd else "",
        ]
        lines = [" · ".join(p for p in parts if p)]
        if self.session.log is not None:
            lines.append(self.words("chat.resume", id=self.session.state.session_id))
        self.screen.stage.print([(), *(((line, "2"),) for line in lines)])
