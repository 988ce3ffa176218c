"""RunResult: a run in one value, folded from its events; result line, final list line and exit code all come from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aicli.content.events import (
    AgentEvent,
    CallRecovered,
    Delegated,
    Denied,
    ErrorInfo,
    MessageAdded,
    Outcome,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Warned,
)
from aicli.content.parts import JsonObject, Value
from aicli.content.request import Usage


class Denial(Value):
    tool_name: str
    tool_use_id: str
    tool_input: JsonObject = {}
    why: str = ""


class RunResult(Value):
    """`reason` is the subtype of the result object; `cost_usd` is None when any reply's price is unknown.

    `recovered_calls` counts the calls that were read out of the model's text.
    """

    session_id: str = ""
    status: str = "failed"
    reason: str = "error_during_execution"
    exit_code: int = 1
    text: str = ""
    structured_output: Any = None
    error: ErrorInfo | None = None
    stop_reason: str = ""
    usage: Usage = Usage()
    model_usage: dict[str, Usage] = {}
    cost_usd: float | None = None
    turns: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    recovered_calls: int = 0
    denials: tuple[Denial, ...] = ()
    files_changed: tuple[str, ...] = ()
    checked: str = ""
    seconds: float = 0.0
    api_seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def unchecked(self) -> bool:
        """The project's own check was wanted and did not run."""
        return self.checked.startswith("not checked")

    @property
    def is_error(self) -> bool:
        return self.exit_code != 0


class ResultFold:
    """Feed every event of one run, in order; `result(seconds)` may be asked at any time, also of a run cut short."""

    def __init__(self) -> None:
        self._started: RunStarted | None = None
        self._finished: RunFinished | None = None
        self._usage = Usage()
        self._by_model: dict[str, Usage] = {}
        self._cost: float | None = 0.0
        self._turns = self._calls = self._failed = self._recovered = 0
        self._api = 0.0
        self._stop = ""
        self._denials: list[Denial] = []
        self._files: dict[str, None] = {}
        self._warnings: list[str] = []

    def feed(self, event: AgentEvent) -> None:
        match event:
            case RunStarted():
                self._started = event
                self._warnings += event.warnings
            case TurnStarted():
                self._turns += 1
            case ToolStarted():
                self._calls += 1
            case CallRecovered():
                self._recovered += 1
            case MessageAdded():
                self._count(event)
            case ToolFinished():
                self._tool(event)
            case Denied():
                denial = Denial(tool_name=event.name, tool_use_id=event.call_id, tool_input=event.args, why=event.why)
                self._denials.append(denial)
            case Warned():
                self._warnings.append(event.text)
            case Delegated():
                self._nested(event.event)
            case RunFinished():
                self._finished = event
            case _:
                pass

    def _nested(self, event: AgentEvent) -> None:
        """A sub-agent spends of the same budget and changes the same files; its turns and calls are its own."""
        if isinstance(event, MessageAdded):
            stop = self._stop
            self._count(event)
            self._stop = stop
        elif isinstance(event, ToolFinished):
            failed = self._failed
            self._tool(event)
            self._failed = failed
        elif isinstance(event, Denied | Delegated):
            self.feed(event)

    def _tool(self, event: ToolFinished) -> None:
        if event.outcome is not Outcome.OK:
            self._failed += 1
        for path in event.result.data.get("files_changed", ()):
            self._files[str(path)] = None

    def _count(self, event: MessageAdded) -> None:
        if event.usage is None:
            return
        self._usage += event.usage
        self._by_model[event.model] = self._by_model.get(event.model, Usage()) + event.usage
        self._cost = None if self._cost is None or event.cost_usd is None else self._cost + event.cost_usd
        self._api += event.seconds
        self._stop = event.finish_raw or (event.finish.value if event.finish else "")

    def result(self, seconds: float = 0.0) -> RunResult:
        end = self._finished or RunFinished(status="failed", reason="error_during_execution", exit_code=1)
        return RunResult(
            session_id=self._started.session_id if self._started else "",
            status=end.status,
            reason=end.reason,
            exit_code=end.exit_code,
            text=end.text,
            structured_output=end.structured_output,
            error=end.error,
            stop_reason=self._stop,
            usage=self._usage,
            model_usage=self._by_model,
            cost_usd=self._cost if self._by_model else None,
            turns=self._turns,
            tool_calls=self._calls,
            failed_calls=self._failed,
            recovered_calls=self._recovered,
            denials=tuple(self._denials),
            files_changed=tuple(self._files),
            checked=end.checked,
            seconds=seconds,
            api_seconds=self._api,
            warnings=tuple(self._warnings),
        )


def fold(events: Iterable[AgentEvent], seconds: float = 0.0) -> RunResult:
    state = ResultFold()
    for event in events:
        state.feed(event)
    return state.result(seconds)
