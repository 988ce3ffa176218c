"""A run as a list of events, for renderers: every kind of line once, with Chinese names."""

from __future__ import annotations

from aicli.content.events import (
    AgentEvent,
    ContextCompacted,
    Delegated,
    MessageAdded,
    ModelDelta,
    Outcome,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
    Warned,
)
from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, TextPart
from aicli.content.request import Usage
from aicli.content.results import CommandDisplay, DiffDisplay, Task, TasksDisplay, TextDisplay, ToolResult
from aicli.content.stream import TextDelta, ThinkingDelta

Timed = tuple[float, AgentEvent]


def call(call_id: str, name: str, **args: object) -> FunctionCallPart:
    return FunctionCallPart(id=call_id, name=name, args=args)


def started(part: FunctionCallPart, title: str, kind: str = "read") -> ToolStarted:
    return ToolStarted(call=part, title=title, kind=kind, tool=part.name)


def finished(part: FunctionCallPart, result: ToolResult, outcome: Outcome, seconds: float) -> ToolFinished:
    return ToolFinished(call_id=part.id, name=part.name, result=result, outcome=outcome, seconds=seconds)


READ = call("1", "read_file", path="源码/购物车.py")
GREP = call("2", "grep", pattern="round(")
TEST = call("3", "shell", command="pytest -q tests/cart")
EDIT = call("4", "edit", path="源码/购物车.py")
FETCH = call("5", "web_fetch", url="https://example.org/")
AGENT = call("6", "delegate", task="找出影响")
TODO = call("7", "tasks")
DIFF = (
    "--- a/源码/购物车.py\n+++ b/源码/购物车.py\n@@ -41,2 +41,3 @@\n def total(self):\n"
    "-    return sum(i.price for i in self.items)\n"
    "+    cents = sum(round(i.price * 100) for i in self.items)\n+    return cents / 100\n"
)
TABLE = "The sum is kept in floats. I will keep cents as integers:\n\n| 文件 | lines | change |\n|---|--:|---|\n"


def opening() -> list[Timed]:
    """Up to a running command with output, one call waiting."""
    reply = Message(role="model", parts=(TextPart(text="Let me look."), READ, GREP, TEST, EDIT))
    return [
        (0.0, RunStarted(session_id="s", agent="general", model="ollama:qwen3-coder")),
        (0.0, TurnStarted(n=1)),
        (1.0, ModelDelta(ThinkingDelta("total() adds floats, rounding comes last. "))),
        (2.0, ModelDelta(ThinkingDelta("So cents get lost."))),
        (4.0, ModelDelta(TextDelta("Let me **look**."))),
        (4.2, MessageAdded(message=reply, usage=Usage(input_tokens=24_000, output_tokens=800), cost_usd=0.04)),
        (4.2, started(READ, "Read 源码/购物车.py")),
        (4.2, started(GREP, 'Grep "round(" in 源码', "search")),
        (4.3, finished(READ, _text("212 lines"), Outcome.OK, 0.04)),
        (4.4, finished(GREP, _text("3 hits"), Outcome.OK, 0.12)),
        (4.4, started(TEST, "$ pytest -q tests/cart", "execute")),
        (6.0, ToolProgress(call_id="3", text="\n" * 14 + "tests/cart/test_总额.py .....\n")),
        (6.1, ToolProgress(call_id="3", text="tests/cart/test_total.py ..")),
    ]


def _text(summary: str) -> ToolResult:
    return ToolResult.of("x", display=TextDisplay(summary=summary))


def ending() -> list[Timed]:
    """The rest: failure, diff, refusal, a sub-agent, tasks, table and answer."""
    tail = "FAILED test_总额.py::test_cents - 10.07 != 10.08\n1 failed in 5.9s\n"
    failed = CommandDisplay(command="pytest", exit_code=1, tail=tail, lines=41)
    changed = DiffDisplay(path="源码/购物车.py", diff=DIFF, added=2, removed=1)
    tasks = TasksDisplay(tasks=(Task(text="cents", status="completed"), Task(text="更新日志", status="in_progress")))
    inner = call("61", "grep", pattern="总额")
    return [
        (10.6, finished(TEST, ToolResult.of("x\n" * 41, is_error=True, display=failed), Outcome.FAILED, 6.2)),
        (10.6, started(EDIT, "Edit 源码/购物车.py", "edit")),
        (10.7, finished(EDIT, ToolResult.of("done", display=changed), Outcome.OK, 0.02)),
        (10.7, started(FETCH, "Fetch https://example.org/", "fetch")),
        (10.8, finished(FETCH, ToolResult.of("refused by rule web_fetch", is_error=True), Outcome.DENIED, 0.0)),
        (10.8, started(AGENT, "Delegate explore: 找出影响", "agent")),
        (10.9, Delegated(call_id="6", event=started(inner, 'Grep "总额"', "search"))),
        (12.0, Delegated(call_id="6", event=finished(inner, _text("2 hits"), Outcome.OK, 1.1))),
        (12.1, finished(AGENT, _text("2 files"), Outcome.OK, 1.3)),
        (12.1, started(TODO, "Tasks", "plan")),
        (12.1, finished(TODO, ToolResult.of("ok", display=tasks), Outcome.OK, 0.0)),
        (12.2, Warned(text="the disk is nearly full")),
        (12.3, ContextCompacted(before=24_800, after=6_100)),
        (12.4, TurnStarted(n=2)),
        (13.0, ModelDelta(TextDelta(TABLE))),
        (13.1, ModelDelta(TextDelta("| 源码/购物车.py | 42 | 整数分 |\n\n完成。"))),
        (
            13.2,
            MessageAdded(
                message=Message.model(TABLE), usage=Usage(input_tokens=6_000, output_tokens=300), cost_usd=0.01
            ),
        ),
        (13.2, RunFinished(status="completed", text="完成。")),
    ]
