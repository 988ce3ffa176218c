"""AgentEvent: what happened, in the past tense, for screen, log and library users alike."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from aicli.content.messages import Message
from aicli.content.parts import ByType, FunctionCallPart, JsonObject, Value
from aicli.content.request import FinishReason, Usage
from aicli.content.results import ToolResult
from aicli.content.stream import StreamEvent


class Outcome(StrEnum):
    """How one call ended."""

    OK = "ok"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    DENIED = "denied"
    CANCELLED = "cancelled"


class RunStarted(Value):
    """`models` maps each role to "provider:model" or None; `sandbox` is full, reduced, none or off.

    `base_url` is the address that was given for the model's server on the command line; "" for its usual one.
    """

    type: Literal["run_started"] = "run_started"
    session_id: str
    agent: str = ""
    task: str = ""
    model: str = ""
    models: dict[str, str | None] = {}
    base_url: str = ""
    tools: tuple[str, ...] = ()
    permission_mode: str = "default"
    sandbox: str = ""
    cwd: str = ""
    context_files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class TurnStarted(Value):
    type: Literal["turn_started"] = "turn_started"
    n: int


@dataclass(frozen=True, slots=True)
class ModelDelta:
    """A piece of a reply as it came. Never logged."""

    event: StreamEvent
    type: Literal["model_delta"] = "model_delta"


class MessageAdded(Value):
    """A whole message joined the history. For a model's message: its usage, model, end and seconds."""

    type: Literal["message_added"] = "message_added"
    message: Message
    model: str = ""
    usage: Usage | None = None
    cost_usd: float | None = None
    finish: FinishReason | None = None
    finish_raw: str = ""
    seconds: float = 0.0


class ToolStarted(Value):
    type: Literal["tool_started"] = "tool_started"
    call: FunctionCallPart
    title: str
    kind: str = "other"
    tool: str = ""


class ToolProgress(Value):
    """A piece of a running tool's output. Never logged."""

    type: Literal["tool_progress"] = "tool_progress"
    call_id: str
    text: str


class ToolFinished(Value):
    """`seconds` leaves out the time that a person was waited for."""

    type: Literal["tool_finished"] = "tool_finished"
    call_id: str
    name: str = ""
    result: ToolResult
    outcome: Outcome
    seconds: float = 0.0


class Approved(Value):
    """`by` is person, rule or mode; `scope` once, session or always.

    `args`: the arguments that run instead, when the person changed them, with the title they have then.
    """

    type: Literal["approved"] = "approved"
    call_id: str
    by: str
    why: str = ""
    scope: str = "once"
    rule: str = ""
    args: JsonObject | None = None
    title: str = ""


class Denied(Value):
    type: Literal["denied"] = "denied"
    call_id: str
    name: str = ""
    args: JsonObject = {}
    by: str
    why: str = ""


class RetryScheduled(Value):
    """The model will be asked again in `wait` seconds. `discard`: what came of the reply so far is void."""

    type: Literal["retry_scheduled"] = "retry_scheduled"
    wait: float
    why: str
    attempt: int = 1
    status: int | None = None
    discard: bool = False


class ContextCompacted(Value):
    """The first `replaced` messages of the history gave way to `messages`; `before` and `after` are tokens."""

    type: Literal["context_compacted"] = "context_compacted"
    before: int
    after: int
    replaced: int = 0
    summary: str = ""
    messages: tuple[Message, ...] = ()


class HistoryCut(Value):
    """The history was cut to its first `to` messages."""

    type: Literal["history_cut"] = "history_cut"
    to: int
    why: Literal["failed", "cleared", "rewound"]


class ModelChanged(Value):
    type: Literal["model_changed"] = "model_changed"
    role: str
    model: str
    why: str = ""


class CallRecovered(Value):
    """A call was read out of the model's text."""

    type: Literal["call_recovered"] = "call_recovered"
    dialect: str
    call_id: str
    name: str


class Warned(Value):
    """Something the person should know that does not end the run."""

    type: Literal["warned"] = "warned"
    text: str


class ErrorInfo(Value):
    type: str
    message: str
    hint: str = ""
    status: int | None = None

    def __str__(self) -> str:
        """In one line, for people."""
        return f"{self.message}. {self.hint}" if self.hint else self.message


class RunFinished(Value):
    """Always the last event of a run. `reason` is the subtype of the result object."""

    type: Literal["run_finished"] = "run_finished"
    status: Literal["completed", "cancelled", "failed", "limited"]
    reason: str = "success"
    text: str = ""
    structured_output: Any = None
    error: ErrorInfo | None = None
    exit_code: int = 0
    checked: str = ""


class Delegated(Value):
    """An event of a sub-agent, under the call that started it."""

    type: Literal["delegated"] = "delegated"
    call_id: str
    event: AgentEvent


AgentEvent = Annotated[
    RunStarted
    | TurnStarted
    | ModelDelta
    | MessageAdded
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | Approved
    | Denied
    | RetryScheduled
    | ContextCompacted
    | HistoryCut
    | ModelChanged
    | CallRecovered
    | Warned
    | RunFinished
    | Delegated,
    ByType(),
]
