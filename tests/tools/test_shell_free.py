"""What passes unasked runs nothing of the workspace: not the repository's programs, not those that its PATH names."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aicli.content.events import ToolFinished
from aicli.content.kinds import PermissionMode
from aicli.content.parts import FunctionCallPart
from aicli.safety.policy import Policy
from aicli.safety.rules import parse_rules
from aicli.safety.sandbox import detect
from aicli.tools.base import ToolContext
from aicli.tools.builtin.shell import jobs_of, shell
from aicli.tools.executor import LocalExecutor
from aicli.tools.host import HeadlessHost
from aicli.tools.state import RunState
from tests.tools.calling import state_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a sandbox so far")
NAMES = ("ls", "cat", "tail", "git", "timeout")


@pytest.fixture
def state(isolated: Path) -> RunState:
    """A trusted folder with programs of its own first on PATH, and a repository that names one for git to run."""
    sandbox = detect("auto", isolated)
    if sandbox.status not in ("full", "reduced"):
        pytest.skip("no sandbox can be had here")
    programs = isolated / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in (*NAMES, "monitor"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >> {isolated}/PWN\n")
        (programs / name).chmod(0o755)
    git = ["git", "-C", str(isolated)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "config", "core.fsmonitor", str(programs / "monitor")], check=True)
    (isolated / "a").write_text("one\n")
    environ = dict(os.environ) | {"PATH": f"{programs}:{os.environ['PATH']}"}
    return state_in(isolated, sandbox=sandbox, environ=environ, extra={"trusted": True})


def run(state: RunState, mode: str, *allow: str, **args: Any) -> str:
    policy = Policy(PermissionMode(mode), parse_rules(allow=allow), state.workspace, sandbox_status="full")
    executor = LocalExecutor([shell], state, policy=policy, host=HeadlessHost())
    seen: list[Any] = []
    asyncio.run(executor.execute_all([FunctionCallPart(id="c", name="shell", args=args)], seen.append))
    for job in jobs_of(ToolContext(state=state, host=HeadlessHost(), call_id="c")).list():
        assert job.running is None or job.running.ended.wait(20)
    return next(e.result.text for e in seen if isinstance(e, ToolFinished))


@pytest.mark.parametrize("mode", ["plan", "default", "dont-ask"])
def test_reading_lines(mode: str, state: RunState, isolated: Path) -> None:
    for command in ("git status", "ls", "cat a | tail -1"):
        assert "exit code 0" in run(state, mode, command=command), command
        assert "not permitted" in run(state, mode, command=command, background=True), command
        assert "not permitted" in run(state, mode, command=command, network=True), command
    assert not (isolated / "PWN").exists()


def test_reading_beside_what_a_rule_allows(state: RunState, isolated: Path) -> None:
    said = run(state, "dont-ask", "shell(true)", command="true && timeout 9 cat a 2>&1 | tail -1; ls >/dev/null")
    assert said.startswith("one\n") and "exit code 0" in said
    assert "Job 1" in run(state, "dont-ask", "shell(true)", command="true; ls", background=True)
    for more in ({}, {"background": True}):
        assert "not permitted" in run(state, "dont-ask", "shell(true)", command="true && git status", **more)
    network = {"command": "git status && true", "network": True}
    assert "not permitted" in run(state, "dont-ask", "network(true)", "shell(true)", **network)
    assert not (isolated / "PWN").exists()


def test_the_traps_are_real(state: RunState, isolated: Path) -> None:
    run(state, "dont-ask", "shell", command="/usr/bin/git status && ls; true")
    run(state, "dont-ask", "shell", command="command ls; true")
    assert {"monitor", "ls"} <= set((isolated / "PWN").read_text().split())


def test_a_line_that_passed_as_reading_runs_as_that_or_not_at_all(state: RunState, isolated: Path) -> None:
    """As when a link is turned to the outside between the verdict and the run."""
    (isolated / "link").symlink_to(isolated.parent / "elsewhere")
    state.only_reads.add("c")
    executor = LocalExecutor([shell], state)
    seen: list[Any] = []
    call = FunctionCallPart(id="c", name="shell", args={"command": "cat link"})
    asyncio.run(executor.execute_all([call], seen.append))
    assert "no longer" in next(e.result.text for e in seen if isinstance(e, ToolFinished))
    assert not (isolated / "PWN").exists()
    run(state, "bypass", command="cat link")
    assert state.only_reads == set()
