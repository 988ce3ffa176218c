"""Hand-made event lists for the tests of logs, stores and projections."""

from __future__ import annotations

from aicli.content.events import AgentEvent, MessageAdded, Outcome, RunFinished, RunStarted, ToolFinished, ToolStarted
from aicli.content.events import TurnStarted as Turn
from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, TextPart
from aicli.content.request import FinishReason, Usage
from aicli.content.results import ToolResult


def call(call_id: str = "c1", name: str = "read_file", **args: object) -> FunctionCallPart:
    return FunctionCallPart(id=call_id, name=name, args=dict(args))


def answer(made: FunctionCallPart, text: str, *, is_error: bool = False) -> Message:
    part = FunctionResponsePart(id=made.id, name=made.name, content=(TextPart(text=text),), is_error=is_error)
    return Message(role="tool", parts=(part,))


def started(session_id: str = "s1", task: str = "修好它", **more: object) -> RunStarted:
    fields = {"agent": "general", "model": "ollama:q", "cwd": "/w", "permission_mode": "default", **more}
    return RunStarted(session_id=session_id, task=task, **fields)  # type: ignore[arg-type]


def said(message: Message) -> MessageAdded:
    if message.role != "model":
        return MessageAdded(message=message)
    finish = FinishReason.TOOL_CALLS if message.calls else FinishReason.STOP
    usage = Usage(input_tokens=10, output_tokens=5)
    return MessageAdded(message=message, model="ollama:q", usage=usage, cost_usd=0.001, finish=finish, seconds=0.5)


def a_run(session_id: str = "s1", task: str = "修好它", final: str = "done ✓") -> list[AgentEvent]:
    """One call, one answer, the end."""
    made = call(path="文件.txt")
    result = ToolResult.of("1\tcontents\u2028of it")
    return [
        started(session_id, task),
        said(Message.user(task)),
        Turn(n=1),
        said(Message(role="model", parts=(TextPart(text="I look."), made))),
        ToolStarted(call=made, title="Read 文件.txt", kind="read", tool="read_file"),
        ToolFinished(call_id=made.id, name="read_file", result=result, outcome=Outcome.OK, seconds=0.01),
        said(answer(made, result.text)),
        Turn(n=2),
        said(Message.model(final)),
        RunFinished(status="completed", text=final),
    ]
