"""Network for one command, as the shell tool runs and shows it."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from aicli.content.events import AgentEvent, Denied, ToolFinished, ToolStarted
from aicli.content.kinds import PermissionMode
from aicli.content.parts import FunctionCallPart, JsonObject
from aicli.safety.policy import Policy
from aicli.safety.sandbox import detect
from aicli.tools.builtin.shell import shell
from aicli.tools.executor import LocalExecutor
from aicli.tools.host import HeadlessHost, Host
from aicli.tools.state import RunState
from tests.support.hosts import SaysYes
from tests.tools.calling import call, state_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a sandbox so far")
FAILS = "echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6"


@pytest.fixture
def state(isolated: Path) -> RunState:
    sandbox = detect("auto", isolated)
    if sandbox.status not in ("full", "reduced"):
        pytest.skip("no sandbox can be had here")
    return state_in(isolated, sandbox=sandbox)


def test_a_command_that_fails_for_want_of_it_is_told_how_to_ask(state: RunState) -> None:
    text = call(shell, state, command=FAILS).text
    assert "network=true" in text and "a rule of the user" in text and text.endswith("exit code 6")
    assert "the person is asked" in call(shell, state, command=FAILS, host=SaysYes()).text
    for other in ("echo Could not resolve host", "echo no such file; exit 1"):
        assert "network=true" not in call(shell, state, command=other).text
    assert "network=true" not in call(shell, state, command=FAILS, network=True).text


def test_a_real_program_says_what_is_recognised(state: RunState) -> None:
    script = "import urllib.request as u; u.urlopen('http://example.org')"
    assert "network=true" in call(shell, state, command=f'"{os.path.realpath(sys.executable)}" -c "{script}"').text


def test_offline_keeps_it_closed(state: RunState) -> None:
    state.offline = True
    assert "offline" in call(shell, state, command="true", network=True).text
    assert "offline" in call(shell, state, command=FAILS).text


def one(state: RunState, host: Host, args: JsonObject, mode: str = "bypass") -> list[AgentEvent]:
    policy = Policy(PermissionMode(mode), None, state.workspace, sandbox_status="full")
    seen: list[AgentEvent] = []
    executor = LocalExecutor([shell], state, policy=policy, host=host)
    asyncio.run(executor.execute_all([FunctionCallPart(id="c", name="shell", args=args)], seen.append))
    return seen


@pytest.mark.parametrize("given", [True, "true", "True"])
def test_the_question_and_the_title_name_it(state: RunState, given: object) -> None:
    host = SaysYes()
    seen = one(state, host, {"command": "true && echo ran", "network": given})
    request = host.requests[0]
    assert request.network and request.title == "$ (network on) true && echo ran"
    assert next(e.title for e in seen if isinstance(e, ToolStarted)) == request.title
    assert "ran" in next(e.result.text for e in seen if isinstance(e, ToolFinished))
    closed = one(state, SaysYes(), {"command": "echo ran", "network": False})
    assert next(e.title for e in closed if isinstance(e, ToolStarted)) == "$ echo ran"


def test_without_it_the_question_says_that_it_is_closed(state: RunState) -> None:
    host = SaysYes()
    one(state, host, {"command": "make"}, mode="default")
    assert not host.requests[0].network


def test_nobody_there(state: RunState) -> None:
    for mode in ("bypass", "default", "dont-ask"):
        seen = one(state, HeadlessHost(), {"command": "npm install", "network": True}, mode)
        assert any(isinstance(e, Denied) for e in seen)
