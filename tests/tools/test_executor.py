"""Tools that fail in odd ways: each is a failed call, and the run goes on."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from aicli import Agent
from aicli.content.events import AgentEvent, ToolFinished, ToolStarted
from aicli.content.kinds import ToolKind, Verdict
from aicli.content.run_result import RunResult
from aicli.models.scripted import ScriptedModel, call
from aicli.tools.base import tool
from aicli.tools.bounded import Bounded
from aicli.tools.host import Approval, ApprovalRequest, Question
from aicli.tools.registry import ToolRegistry
from tests.tools.calling import call as tool_call
from tests.tools.calling import state_in


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def used_up() -> str:
    return str(next(iter(())))


def exits() -> str:
    sys.exit(3)


async def exits_later() -> str:
    await asyncio.sleep(0)
    sys.exit(3)


def waits_in_vain() -> str:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(0.01)
        silent.accept()
    return "never"


async def waits_for_something_cancelled() -> str:
    other = asyncio.ensure_future(asyncio.sleep(60))
    other.cancel()
    await other
    return "never"


def mute() -> str:
    raise Mute


def interrupts() -> str:
    raise KeyboardInterrupt


def ends_a_generator() -> str:
    raise GeneratorExit


ODD = [
    (used_up, "StopIteration"),
    (exits, "sys.exit(3)"),
    (exits_later, "sys.exit(3)"),
    (waits_in_vain, "no answer in time"),
    (waits_for_something_cancelled, "was cancelled"),
    (mute, "Mute"),
    (interrupts, "KeyboardInterrupt"),
    (ends_a_generator, "GeneratorExit"),
]


@pytest.mark.parametrize(("run", "says"), ODD, ids=lambda v: getattr(v, "__name__", ""))
def test_a_tool_that_fails_oddly_is_a_failed_call(run: Callable[..., Any], says: str) -> None:
    odd = tool(kind=ToolKind.READ, name="odd")(run)
    agent = Agent("x", instructions="", model=ScriptedModel([[call("odd")], "done"]), tools=[odd])
    result = agent.run_sync("go")
    assert (result.status, result.text, result.failed_calls) == ("completed", "done", 1)
    answer = agent.history[2].responses[0]
    assert answer.is_error and says in answer.text


def test_run_sync_inside_a_loop_is_refused_without_a_trace() -> None:
    async def inside() -> RunResult:
        return Agent("x", instructions="", model=ScriptedModel(["hi"])).run_sync("go")

    with pytest.raises(RuntimeError, match="running event loop"):
        asyncio.run(inside())


def test_a_tool_that_blocks_holds_up_neither_the_end_of_the_run_nor_of_the_loop() -> None:
    entered, never = threading.Event(), threading.Event()

    def block() -> str:
        entered.set()
        never.wait(60)
        return "late"

    blocking = tool(kind=ToolKind.READ, name="block")(block)
    agent = Agent("x", instructions="", model=ScriptedModel([[call("block")], "done"]), tools=[blocking])

    async def stopped() -> RunResult:
        task = asyncio.ensure_future(agent.run("go"))
        await asyncio.to_thread(entered.wait)
        agent.cancel()
        return await task

    began = time.monotonic()
    result = asyncio.run(stopped())
    assert time.monotonic() - began < 20
    never.set()
    assert result.status == "cancelled" and agent.history[-1].responses[0].is_error


class Stops:
    """A person who says: stop."""

    present = True
    untrusted = False

    async def approve(self, request: ApprovalRequest) -> Approval:
        return Approval("stop", reason="not now")

    async def ask(self, question: Question) -> str:
        return ""

    def note(self, text: str) -> None:
        pass

    def verdict(self, name: str, kind: ToolKind, args: dict[str, Any]) -> Verdict:
        return Verdict("ask", "it changes something")

    def suggest(self, name: str, kind: ToolKind, args: dict[str, Any]) -> str:
        return ""

    def allow_for_session(self, rule: str) -> None:
        pass


def test_a_person_who_stops_at_a_question_ends_the_turn() -> None:
    done: list[str] = []
    act = tool(kind=ToolKind.EDIT, name="act")(lambda: done.append("act") or "done")
    model = ScriptedModel([[call("act"), call("act")], "never said"])
    agent = Agent("x", instructions="", model=model, tools=[act], host=Stops(), policy=Stops())
    result = agent.run_sync("go")
    assert (result.status, result.text, done) == ("cancelled", "", [])
    assert len(result.denials) == 1 and len(model.requests) == 1
    assert [r.is_error for r in agent.history[-1].responses] == [True, True]
    assert "not now" in agent.history[-1].responses[0].text


async def stubborn() -> str:
    """Takes no cancellation for an answer."""
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass


async def tidies_up() -> str:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(0.01)
        return "put away"
    return ""


def test_work_that_will_not_end_is_left() -> None:
    async def stopped() -> tuple[bool, int]:
        task = asyncio.ensure_future(_bounded(stubborn()))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=20)
        return task.cancelled(), task.cancelling()

    assert asyncio.run(stopped()) == (True, 1)


async def _bounded(work: Coroutine[Any, Any, str]) -> str:
    return str(await Bounded(work, 0.05))


def test_a_time_limit_holds_for_it_too() -> None:
    async def limited() -> None:
        async with asyncio.timeout(0.01):
            await Bounded(stubborn(), 0.05)

    with pytest.raises(TimeoutError):
        asyncio.run(limited())


def test_what_tidies_up_is_believed_and_the_run_ends_all_the_same() -> None:
    model = ScriptedModel([[call("tidies_up")], "never said"])
    agent = Agent("x", instructions="", model=model, tools=[tool(kind=ToolKind.EXECUTE)(tidies_up)])
    seen: list[AgentEvent] = []

    def on_event(event: AgentEvent) -> None:
        seen.append(event)
        if isinstance(event, ToolStarted):
            asyncio.get_running_loop().call_later(0.01, agent.cancel)

    result = asyncio.run(agent.run("go", on_event=on_event))
    assert result.status == "cancelled" and len(model.requests) == 1
    assert agent.history[-1].responses[0].text == "put away"
    assert sum(isinstance(e, ToolFinished) for e in seen) == 1


def test_a_stubborn_tool_does_not_hold_a_cancelled_run() -> None:
    for kind in (ToolKind.READ, ToolKind.EXECUTE):
        agent = Agent(
            "x",
            instructions="",
            model=ScriptedModel([[call("stubborn"), call("stubborn")], "never said"]),
            tools=[tool(kind=kind)(stubborn)],
        )
        agent.executor.grace = 0.05

        def on_event(event: AgentEvent, agent: Agent = agent) -> None:
            if isinstance(event, ToolStarted):
                asyncio.get_running_loop().call_later(0.01, agent.cancel)

        result = asyncio.run(agent.run("go", on_event=on_event))
        assert result.status == "cancelled"
        assert [r.is_error for r in agent.history[-1].responses] == [True, True]


@pytest.mark.parametrize(
    "path", ["\ud800", "a/\udfff.txt", "http://\ud800", "a" * 5000, "a/" * 3000 + "b", "na\nme", "a\0b"]
)
def test_paths_that_can_be_no_file_are_told_by_every_tool(isolated: Path, path: str) -> None:
    """In words of its own: none of them is an error of the program, and none takes long."""
    registry = ToolRegistry()
    registry.load_builtin()
    begin = time.process_time()
    for name, more in {
        "read_file": {"path": path},
        "write_file": {"path": path, "content": "x"},
        "edit": {"path": path, "old_string": "a", "new_string": "b"},
        "ls": {"path": path},
        "grep": {"pattern": "x", "path": path},
        "glob": {"pattern": path},
        "read_many_files": {"paths": [path]},
        "shell": {"command": "true", "cwd": path},
    }.items():
        found = registry.get(name)
        assert found is not None
        said = tool_call(found, state_in(isolated), **more).text
        assert "Error" not in said and said, (name, said)
    assert time.process_time() - begin < 3 * 2
