"""LocalExecutor: look up, validate, permit, time out, run, truncate. Every call is answered, whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aicli.content.events import AgentEvent, Outcome, ToolFinished, ToolProgress, ToolStarted
from aicli.content.kinds import ToolKind
from aicli.content.messages import refusal
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, InlineDataPart, TextPart
from aicli.content.results import ToolResult
from aicli.late import dataclass
from aicli.tools.base import Tool, ToolContext, ToolFailed
from aicli.tools.bounded import Bounded
from aicli.tools.host import HeadlessHost, Host
from aicli.tools.permit import Permit, Policy, Refused, StopTurn
from aicli.tools.registry import ToolRegistry
from aicli.tools.schema import context_parameter
from aicli.tools.state import RunState
from aicli.tools.validate import BadArguments, Ready, prepared, told
from aicli.tools.validate import arguments as arguments_of

Emit = Callable[[AgentEvent], None]
CANCELLED = "cancelled: the person stopped the run before this call finished"
RESULT_LIMIT = 60_000
TASK_GRACE = 5.0


class Interrupted(asyncio.CancelledError):
    """A cancel that carries the answers so far: one for every call."""

    def __init__(self, answers: tuple[FunctionResponsePart, ...]) -> None:
        super().__init__()
        self.answers = answers


@dataclass(frozen=True)
class _Asked:
    """A call as the model wrote it, and what it is once validated, or why it can't be run."""

    call: FunctionCallPart
    tool: Tool | None
    made: Ready | Exception

    @property
    def ready(self) -> Ready:
        """Raises what stands in the way."""
        if isinstance(self.made, Exception):
            raise self.made
        return self.made

    @property
    def parallel(self) -> bool:
        return isinstance(self.made, Exception) or self.made.kind.parallel

    def begun(self) -> ToolStarted:
        tool, made, call = self.tool, self.made, self.call
        kind = tool.kind.value if tool and isinstance(tool.kind, ToolKind) else "other"
        name = tool.name if tool else ""
        if isinstance(made, Exception):
            return ToolStarted(call=call, title=tool.title_of(call.args) if tool else call.name, kind=kind, tool=name)
        return ToolStarted(call=made.call, title=made.title, kind=kind, tool=name)


class LocalExecutor:
    """Runs the calls of one reply. `before_effect` is awaited before anything that changes the world.

    `policy` None allows everything: the tools were passed by the program itself. `grace`: seconds that a stopped call
    of an async tool has to come back (it may have processes to end); an agent, whose own calls come first, has thrice.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        state: RunState | None = None,
        *,
        policy: Policy | None = None,
        host: Host | None = None,
        before_effect: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.registry = ToolRegistry(tools)
        self.state = state or RunState()
        self.policy = policy
        self.host: Host = host or HeadlessHost()
        self.before_effect = before_effect
        self.grace = TASK_GRACE
        self._permit = Permit(policy, self.host, self.state)

    def on_always(self, save_rule: Callable[[str, str], None]) -> None:
        """`save_rule(rule, scope)` is called when the person allows something for good."""
        self._permit.save_rule = save_rule

    @property
    def tools(self) -> list[Tool]:
        return list(self.registry)

    async def execute_all(self, calls: Sequence[FunctionCallPart], emit: Emit) -> tuple[FunctionResponsePart, ...]:
        """Answers in call order. Reading calls that stand together run together; the others one at a time, in order.

        Raises Interrupted (with all answers) on cancellation or when the person stops the turn.
        """
        answers = {call.id: refusal(call, CANCELLED) for call in calls}
        started: dict[str, tuple[FunctionCallPart, _Clock]] = {}
        try:
            for batch in self._batches(calls):
                if len(batch) == 1:
                    await self._answer(batch[0], answers, started, emit)
                    continue
                async with asyncio.TaskGroup() as group:
                    for asked in batch:
                        group.create_task(self._answer(asked, answers, started, emit))
        except BaseExceptionGroup as e:
            stop = e.subgroup((StopTurn, asyncio.CancelledError))
            if stop is None:
                raise
            self._close_open(started, answers, emit)
            raise Interrupted(tuple(answers[c.id] for c in calls)) from e
        except (StopTurn, asyncio.CancelledError) as e:
            self._close_open(started, answers, emit)
            raise Interrupted(tuple(answers[c.id] for c in calls)) from e
        return tuple(answers[c.id] for c in calls)

    def _batches(self, calls: Sequence[FunctionCallPart]) -> list[list[_Asked]]:
        batches: list[list[_Asked]] = []
        together = False
        for asked in map(self._validated, calls):
            if asked.parallel and together:
                batches[-1].append(asked)
            else:
                batches.append([asked])
            together = asked.parallel
        return batches

    def _validated(self, call: FunctionCallPart) -> _Asked:
        """Once for each call: what it is judged by, shown as and run with."""
        tool = self.registry.get(call.name)
        if tool is None:
            return _Asked(call, None, BadArguments(self.registry_hint(call.name)))
        try:
            return _Asked(call, tool, prepared(tool, call))
        except Exception as e:
            return _Asked(call, tool, e)

    def _close_open(
        self, started: dict[str, tuple[FunctionCallPart, _Clock]], answers: dict[str, FunctionResponsePart], emit: Emit
    ) -> None:
        for call, clock in started.values():
            result = ToolResult.of(answers[call.id].text or CANCELLED, is_error=True)
            emit(
                ToolFinished(
                    call_id=call.id, name=call.name, result=result, outcome=Outcome.CANCELLED, seconds=clock.seconds
                )
            )

    async def _answer(
        self,
        asked: _Asked,
        answers: dict[str, FunctionResponsePart],
        started: dict[str, tuple[FunctionCallPart, _Clock]],
        emit: Emit,
    ) -> None:
        call = asked.call
        emit(asked.begun())
        clock = _Clock()
        started[call.id] = (call, clock)
        try:
            result, outcome = await self._outcome(asked, emit, clock)
        except StopTurn as stop:
            answers[call.id] = refusal(call, stop.why)
            raise
        result = truncated(result)
        answers[call.id] = response(call, result)
        del started[call.id]
        emit(ToolFinished(call_id=call.id, name=call.name, result=result, outcome=outcome, seconds=clock.seconds))
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # the tool kept the news of it to itself
            raise asyncio.CancelledError

    async def _outcome(self, asked: _Asked, emit: Emit, clock: _Clock) -> tuple[ToolResult, Outcome]:
        call, ready = asked.call, None
        try:
            with clock.paused():
                ready = await self._permit.ask(asked.ready, emit)
            if ready.kind.effect and self.before_effect:
                await self.before_effect()
            result = await self._run(ready, emit, clock)
            outcome = Outcome.FAILED if result.is_error else Outcome.OK
            if result.is_error and result.data.get("timed_out"):
                outcome = Outcome.TIMED_OUT
        except (BadArguments, ToolFailed) as e:
            display = getattr(e, "display", None)
            result, outcome = ToolResult.of(str(e), is_error=True, display=display), Outcome.FAILED
        except Refused as e:
            result, outcome = ToolResult.of(str(e), is_error=True), Outcome.DENIED
        except StopTurn:
            raise
        except TimeoutError:
            text = f"{call.name} took longer than its limit and was stopped"
            result, outcome = ToolResult.of(text, is_error=True), Outcome.TIMED_OUT
        except Exception as e:
            text = f"{call.name} failed: {type(e).__name__}: {_message(e)}"
            result, outcome = ToolResult.of(text, is_error=True), Outcome.FAILED
        return (told(result, asked.ready, ready) if ready else result), outcome

    def registry_hint(self, name: str) -> str:
        names = ", ".join(t.name for t in self.registry)
        return f"there is no tool named {name!r}. Tools: {names or 'none'}"

    async def _run(self, ready: Ready, emit: Emit, clock: _Clock) -> ToolResult:
        call_id = ready.call.id
        loop = asyncio.get_running_loop()

        def progress(text: str) -> None:
            event = ToolProgress(call_id=call_id, text=text)
            try:
                same = asyncio.get_running_loop() is loop
            except RuntimeError:
                same = False
            if same:
                emit(event)
            else:
                loop.call_soon_threadsafe(emit, event)

        host = _ClockedHost(self.host, clock)
        context = ToolContext(state=self.state, host=host, call_id=call_id, progress=progress, emit=emit)
        arguments = arguments_of(ready.tool, ready.params)
        name = context_parameter(ready.tool.run)
        if name:
            arguments[name] = context
        async with asyncio.timeout(ready.tool.timeout):
            value = await _called(ready.tool.run, arguments, self.grace * (3 if ready.kind is ToolKind.AGENT else 1))
        return (
            value if isinstance(value, ToolResult) else ToolResult.of(value if isinstance(value, str) else str(value))
        )


async def _called(run: Callable[..., Any], arguments: dict[str, Any], grace: float) -> Any:
    """What the tool gives. What it raises to end a program, a loop or a task is a failure of the tool alone."""
    try:
        if inspect.iscoroutinefunction(run):
            return await Bounded(run(**arguments), grace)
        value = await _in_thread(run, arguments)
        if inspect.iscoroutine(value):
            return await Bounded(value, grace)
        return await value if inspect.isawaitable(value) else value
    except TimeoutError as e:
        raise ToolFailed(f"Something that the tool waited for gave no answer in time ({_message(e)}).") from e
    except SystemExit as e:
        raise RuntimeError(f"it called sys.exit({e.code!r})") from e
    except asyncio.CancelledError as e:
        task = asyncio.current_task()
        if task is not None and task.cancelling() == 0:  # nobody stopped the call
            raise RuntimeError("something that it waited for was cancelled") from e
        raise


GRACE = 1.0
"""Seconds that a stopped call has to come back from its thread, so that no file is left half told of."""


async def _in_thread(run: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Runs it in a thread that holds up neither a cancellation nor the end of the program, however long it blocks."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    future.add_done_callback(lambda f: f.cancelled() or f.exception())  # nobody may be left to take it
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if not future.done():
            future.set_result(value) if error is None else future.set_exception(error)

    def work() -> None:
        value, error = context.run(_contained, run, arguments)
        with contextlib.suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, name=getattr(run, "__name__", "tool"), daemon=True).start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait((future,), timeout=GRACE)
        raise


def _contained(run: Callable[..., Any], arguments: dict[str, Any]) -> tuple[Any, BaseException | None]:
    try:
        return run(**arguments), None
    except StopIteration as e:
        return None, RuntimeError(f"StopIteration, as of next() on something used up ({e})")
    except SystemExit as e:
        return None, e
    except Exception as e:
        return None, e
    except BaseException as e:  # no signal reaches a thread: the tool itself raised it
        return None, RuntimeError(f"{type(e).__name__}: {e}")


class _Clock:
    """Seconds of work, without the time that a person was waited for."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._waited = 0.0

    @property
    def seconds(self) -> float:
        return max(0.0, time.monotonic() - self._begin - self._waited)

    def paused(self) -> _Pause:
        return _Pause(self)

    def add(self, seconds: float) -> None:
        self._waited += seconds


class _Pause:
    def __init__(self, clock: _Clock) -> None:
        self._clock = clock

    def __enter__(self) -> None:
        self._begin = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._clock.add(time.monotonic() - self._begin)


class _ClockedHost:
    """The host, with the time that a person takes kept off the tool's clock."""

    def __init__(self, host: Host, clock: _Clock) -> None:
        self._host, self._clock = host, clock

    @property
    def present(self) -> bool:
        return self._host.present

    async def approve(self, request: Any) -> Any:
        with self._clock.paused():
            return await self._host.approve(request)

    async def ask(self, question: Any) -> str | None:
        with self._clock.paused():
            return await self._host.ask(question)


def response(call: FunctionCallPart, result: ToolResult) -> FunctionResponsePart:
    return FunctionResponsePart(id=call.id, name=call.name, content=result.content, is_error=result.is_error)


def truncated(result: ToolResult, limit: int = RESULT_LIMIT) -> ToolResult:
    """At most `limit` characters of text for the model, head and tail kept, with a note on what was left out."""
    total = sum(len(p.text) for p in result.content if isinstance(p, TextPart))
    if total <= limit:
        return result
    left = limit
    parts: list[TextPart | InlineDataPart] = []
    for part in result.content:
        if not isinstance(part, TextPart):
            parts.append(part)
            continue
        if len(part.text) > left:
            head, tail = left * 2 // 3, left // 3
            cut = len(part.text) - head - tail
            note = f"\n[… {cut} characters left out; ask for a smaller part …]\n"
            part = TextPart(text=part.text[:head] + note + (part.text[-tail:] if tail else ""))
            left = 0
        else:
            left -= len(part.text)
        parts.append(part)
    return result.model_copy(update={"content": tuple(parts)})


def _message(error: Exception) -> str:
    try:
        text = str(error).strip().splitlines()
    except Exception:
        return "no message that could be read"
    return text[0][:300] if text else "no message"
