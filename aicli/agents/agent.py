"""Agent: a spec, a model, hands and a history. run(), stream(), run_sync()."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing, suppress
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

from aicli.agents import answer
from aicli.agents.ask import Asker, Emit
from aicli.agents.context import Meter
from aicli.agents.limits import Budget, Limits
from aicli.agents.loop import Conversation, compact, run_loop
from aicli.agents.spec import AgentSpec
from aicli.agents.verify import Check, verified
from aicli.content.events import (
    AgentEvent,
    ContextCompacted,
    ErrorInfo,
    HistoryCut,
    ModelChanged,
    RunFinished,
    RunStarted,
    ToolFinished,
    TurnStarted,
)
from aicli.content.messages import Message
from aicli.content.parts import ContentPart, JsonObject, TextPart
from aicli.content.request import ModelRequest, Thinking
from aicli.content.run_result import ResultFold, RunResult
from aicli.content.stream import new_id
from aicli.errors import AicliError, LimitReached, LoopDetected, PermissionRefused
from aicli.late import dataclass
from aicli.models.base import Model
from aicli.tools.base import Tool
from aicli.tools.base import tool as as_tool
from aicli.tools.executor import LocalExecutor
from aicli.tools.host import Host
from aicli.tools.state import RunState

if TYPE_CHECKING:
    from pydantic import BaseModel

    from aicli.models.orchestrator import MultiModelOrchestrator

SUMMARISE = (
    "Summarise the conversation above for yourself, so that the work can go on without it: the person's task word for "
    "word, what was decided, which files were read or changed and what matters in them, what failed, what is left to do."
)


@dataclass(eq=False)
class Agent:
    """An agent that remembers. Two of them in one process share nothing.

    `model` is a Model, several (the later ones are asked when the first fails for good), or "provider:model", resolved
    on first use with keys from the environment. `tools` are Tools or plain functions; without a `policy` they may all
    run. `host` answers questions; without one, nobody is there. `sinks` get every event of every run, in order.
    `state` is what the tools share. `preface` goes before the first task of a conversation.
    """

    name: str = "agent"
    instructions: str = ""
    model: Model | Sequence[Model] | str = ""
    tools: Sequence[Tool | Callable[..., Any]] = ()
    spec: AgentSpec | None = None
    host: Host | None = None
    policy: Any = None
    state: RunState | None = None
    limits: Limits = Limits()
    budget: Budget | None = None
    history: list[Message] = field(default_factory=list)
    sinks: list[Emit] = field(default_factory=list)
    started: RunStarted | None = None
    preface: str = ""
    role: str = "fast"
    temperature: float | None = None
    thinking: Thinking | None = None
    num_ctx: int | None = None
    max_output_tokens: int | None = None
    paths: Callable[[], tuple[str, ...]] | None = None
    compact_at: float = 0.8
    strict: bool = False
    sync: Callable[[], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        self.spec = self.spec or AgentSpec(name=self.name, instructions=self.instructions)
        self.instructions = self.instructions or self.spec.instructions
        self.state = self.state or RunState()
        own = [t if isinstance(t, Tool) else as_tool(t) for t in self.tools]
        self.executor = LocalExecutor(
            [t for t in own if isinstance(t, Tool)],
            self.state,
            policy=self.policy,
            host=self.host,
            before_effect=self.sync,
        )
        self.session_id = self.started.session_id if self.started else new_id()
        self._queue: list[Message] = []
        self._meter = Meter()
        self._inner: asyncio.Task[None] | None = None
        self._cancel_code = 130
        self._named: tuple[MultiModelOrchestrator, str] | None = None
        self._emit: Emit = self._to_sinks
        self.spending = self.budget or Budget(self.limits)

    async def run(
        self,
        task: str | Sequence[ContentPart],
        *,
        output: type[BaseModel] | JsonObject | None = None,
        on_event: Emit | None = None,
    ) -> RunResult:
        """Carries out one task to its end; failures are in the result, not raised. `output` forces a structured answer.

        Cancelling the awaiting task cancels the run, which is closed first. `cancel()` ends it with a result instead.
        """
        fold = ResultFold()

        def emit(event: AgentEvent) -> None:
            fold.feed(event)
            self._to_sinks(event)
            if on_event:
                on_event(event)

        self._emit = emit
        begin, self._cancel_code = time.monotonic(), 130
        inner = self._inner = asyncio.create_task(self._run(task, answer.schema_of(output), emit))
        try:
            await asyncio.wait({inner})
        except asyncio.CancelledError:
            inner.cancel()
            await asyncio.wait({inner})
            raise
        finally:
            self._inner, self._emit = None, self._to_sinks
        if not inner.cancelled() and (error := inner.exception()):
            raise error
        return fold.result(time.monotonic() - begin)

    def run_sync(self, task: str, *, output: type[BaseModel] | JsonObject | None = None) -> RunResult:
        """`run` for code without an event loop. Blocks. Raises RuntimeError inside a running loop."""

        async def whole() -> RunResult:
            try:
                return await self.run(task, output=output)
            finally:
                await self.close()

        with closing(whole()) as work:
            return asyncio.run(work)

    async def close(self) -> None:
        """Closes the connections of a model that was named by a string; the next run opens them anew."""
        if self._named is not None:
            orchestrator, self.model = self._named
            self._named = None
            await orchestrator.close()

    async def stream(
        self, task: str | Sequence[ContentPart], *, output: type[BaseModel] | JsonObject | None = None
    ) -> AsyncIterator[AgentEvent]:
        """The events of one task as they happen, ending with RunFinished. Closing the iterator cancels the run."""
        waiting: list[AgentEvent] = []
        wake = asyncio.Event()

        def emit(event: AgentEvent) -> None:
            waiting.append(event)
            wake.set()

        running = asyncio.create_task(self.run(task, output=output, on_event=emit))
        running.add_done_callback(lambda _: wake.set())
        try:
            while not (running.done() and not waiting):
                await wake.wait()
                wake.clear()
                batch, waiting[:] = list(waiting), []
                for event in batch:
                    yield event
            await running
        finally:
            if not running.done():
                running.cancel()
                with suppress(asyncio.CancelledError):
                    await running

    def cancel(self, exit_code: int = 130) -> bool:
        """Ends the run under way, if there is one: calls are answered, processes killed, then RunFinished(cancelled)."""
        self._cancel_code = exit_code
        if (inner := self._inner) is not None:
            inner.get_loop().call_soon(inner.cancel)  # once it has begun: only then it can say how it ended
        return inner is not None

    def report(self, event: AgentEvent) -> None:
        """An event from outside the loop (a retry of the transport) joins the run under way, or the log between runs."""
        self._emit(event)

    def steer(self, text: str | Message) -> None:
        """A message for the run under way: it joins after the tools that run now, or starts another turn at the end."""
        self._queue.append(text if isinstance(text, Message) else Message.user(text))

    def unqueue(self) -> list[Message]:
        """Takes back what has not joined yet."""
        taken, self._queue = self._queue, []
        return taken

    def clear(self) -> None:
        self._cut(0, "cleared")

    def rewind(self, to: int) -> None:
        """Keeps the first `to` messages."""
        self._cut(to, "rewound")

    def set_model(self, model: Model | Sequence[Model], *, why: str = "") -> None:
        self.model = model
        first = model[0] if isinstance(model, Sequence) else model
        self._to_sinks(ModelChanged(role=self.role, model=first.info.id, why=why))

    async def compact(self) -> ContextCompacted:
        """Replaces old turns by a summary now. Raises ContextTooLong when nothing can be made smaller."""
        asker = Asker(await self.models(), self._to_sinks, self.budget or Budget(self.limits), self.role)
        talk = self._conversation(asker, self._to_sinks)
        return await compact(talk, self._meter.count(self.history) // 2)

    async def models(self) -> list[Model]:
        """The model and its fallbacks. Raises what resolving a name raises."""
        model = self.model
        if isinstance(model, str):
            from aicli.models.orchestrator import MultiModelOrchestrator  # only for agents named by a string

            orchestrator = MultiModelOrchestrator.from_environment()
            self._named = (orchestrator, model)
            model = self.model = [await orchestrator.resolve(model or self.role)]
        return [model] if not isinstance(model, Sequence) else [m for m in model if not isinstance(m, str)]

    def _to_sinks(self, event: AgentEvent) -> None:
        for sink in self.sinks:
            sink(event)

    def _cut(self, to: int, why: Any) -> None:
        del self.history[to:]
        self._to_sinks(HistoryCut(to=to, why=why))

    def _conversation(self, asker: Asker, emit: Emit, schema: JsonObject | None = None) -> Conversation:
        info = asker.model.info
        compact_tools = info.profile != "full"
        offered = [t for t in self.executor.tools if not (compact_tools and t.full_only)]
        specs = tuple(t.spec(compact_tools) for t in offered)
        native = schema if not specs or info.schema == "tools" or info.tools == "steps" else None
        request = ModelRequest(
            system=self.instructions + (answer.instruction(schema) if schema is not None else ""),
            tools=specs,
            output_schema=native,
            thinking=self.thinking,
            temperature=self.temperature,
            max_output_tokens=self.max_output_tokens,
            num_ctx=self.num_ctx,
        )

        async def summarise(old: Sequence[Message]) -> str:
            ask = ModelRequest(system=request.system, messages=(*old, Message.user(SUMMARISE)), num_ctx=self.num_ctx)
            try:
                return (await Asker(asker.models, lambda e: None, asker.budget).ask(ask)).message.text
            except AicliError:
                return ""

        return Conversation(
            history=self.history,
            request=request,
            emit=emit,
            budget=asker.budget,
            compact_at=self.compact_at,
            summarise=summarise,
            queued=self.unqueue,
            end_turn=self.sync,
            meter=self._meter,
            paths=self.paths,
        )

    async def _run(self, task: str | Sequence[ContentPart], schema: JsonObject | None, emit: Emit) -> None:
        start = len(self.history)
        effects: list[ToolFinished] = []

        def watched(event: AgentEvent) -> None:
            if isinstance(event, TurnStarted) and self.state:
                self.state.turn = event.n
            elif isinstance(event, ToolFinished) and event.result.data.get("files_changed"):
                effects.append(event)
            emit(event)

        if self.state and self.state.checkpoints:
            self.state.checkpoints.new_task()
        try:
            emit(self._run_started(task))
            finished = await self._work(task, schema, watched, effects)
        except asyncio.CancelledError:
            emit(
                RunFinished(status="cancelled", reason="cancelled", exit_code=self._cancel_code, text=self._last_text())
            )
            raise
        except AicliError as e:
            finished = self._ended(e)
            if finished.status == "failed" and not self._acted(start):
                del self.history[start:]
                emit(HistoryCut(to=start, why="failed"))
        except Exception as e:
            text = f"{type(e).__name__}: {e}"
            info = ErrorInfo(type="internal", message=text)
            finished = RunFinished(status="failed", reason=AicliError.subtype, exit_code=1, error=info)
            emit(finished)
            raise
        emit(finished)

    def _acted(self, start: int) -> bool:
        """Did any tool run in this task? Then the history keeps what was done."""
        return any(m.role == "tool" for m in self.history[start:])

    def _run_started(self, task: str | Sequence[ContentPart]) -> RunStarted:
        text = task if isinstance(task, str) else "".join(p.text for p in task if isinstance(p, TextPart))
        base = self.started or RunStarted(session_id=self.session_id, agent=self.name)
        return base.model_copy(update={"task": text, "tools": tuple(t.name for t in self.executor.tools)})

    async def _work(
        self, task: str | Sequence[ContentPart], schema: JsonObject | None, emit: Emit, effects: list[ToolFinished]
    ) -> RunFinished:
        assert self.spec is not None and self.state is not None
        start = len(self.history)
        self.spending = self.budget or Budget(self.limits)
        asker = Asker(await self.models(), emit, self.spending, self.role)
        talk = self._conversation(asker, emit, schema)
        parts: list[ContentPart] = [TextPart(text=task)] if isinstance(task, str) else list(task)
        if self.preface and not self.history:
            parts.insert(0, TextPart(text=self.preface))
        talk.add(Message(role="user", parts=tuple(parts)))
        reply = await run_loop(asker, self.executor, talk)
        check = await self._verified(asker, talk, emit, effects) if self.spec.verify else None
        if check is not None:
            reply = self.history[-1]
        value = None
        if schema is not None:
            again = partial(run_loop, asker, self.executor, talk)
            value = await answer.structured(reply, schema, talk, again)
        if self.strict and (fault := self._first_fault(start)):
            raise PermissionRefused(f"--strict: {fault}")
        if self.strict and check is not None and check.passed is None and not check.absent:
            raise PermissionRefused(f"--strict: {check.line}")
        text = self._last_text()
        if check is not None and check.passed is False:
            error = ErrorInfo(type="check", message=f"the project's own check still fails: {check.command}")
            return RunFinished(
                status="failed", reason=AicliError.subtype, text=text, exit_code=1, checked=check.line, error=error
            )
        return RunFinished(status="completed", text=text, structured_output=value, checked=check.line if check else "")

    def _first_fault(self, start: int) -> str:
        for message in self.history[start:]:
            for response in message.responses:
                if response.is_error:
                    return f"{response.name} was refused or failed: {response.text[:200]}"
        return ""

    async def _verified(
        self, asker: Asker, talk: Conversation, emit: Emit, effects: list[ToolFinished]
    ) -> Check | None:
        """Runs the project's check after changes and gives failures back, at most `spec.verify` rounds."""
        assert self.spec is not None and self.state is not None

        async def mend(words: str) -> None:
            talk.add(Message.user(words))
            await run_loop(asker, self.executor, talk)

        workspace = self.state.workspace if effects else None
        return await verified(workspace.root, self.spec.verify, self.executor, emit, mend) if workspace else None

    def _last_text(self) -> str:
        for message in reversed(self.history):
            if message.role == "model" and message.text.strip():
                return message.text
            if message.role == "user":
                break
        return ""

    def _ended(self, e: AicliError) -> RunFinished:
        limited = isinstance(e, LimitReached | LoopDetected)
        info = ErrorInfo(type=type(e).__name__, message=str(e), hint=e.hint, status=getattr(e, "status", None))
        return RunFinished(
            status="limited" if limited else "failed",
            reason=e.subtype,
            text=self._last_text(),
            exit_code=e.exit_code,
            error=info,
        )
