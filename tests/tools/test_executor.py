"""Tools that fail in odd ways: each is a failed call, and the run goes on."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from typing import Any

import pytest

from aicli import Agent
from aicli.content.kinds import ToolKind
from aicli.content.run_result import RunResult
from aicli.models.scripted import ScriptedModel, call
from aicli.tools.base import tool


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


ODD = [
    (used_up, "StopIteration"),
    (exits, "sys.exit(3)"),
    (exits_later, "sys.exit(3)"),
    (waits_in_vain, "no answer in time"),
    (waits_for_something_cancelled, "was cancelled"),
    (mute, "Mute"),
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
