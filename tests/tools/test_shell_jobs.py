"""Background jobs: started, listed, read, stopped, and gone at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aicli.tools.builtin.shell import shell
from aicli.tools.builtin.shell_jobs import shell_jobs
from aicli.tools.capture import Capture
from aicli.tools.jobs import Jobs
from aicli.tools.state import RunState
from tests.tools.calling import call, state_in
from tests.tools.processes import alive

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shell tool needs POSIX")


@pytest.fixture
def state(isolated: Path) -> RunState:
    return state_in(isolated)


def wait_for(state: RunState, id: str) -> None:
    assert state.jobs is not None
    job = state.jobs.get(id)
    assert job is not None and job.running is not None and job.running.ended.wait(10)


def test_a_job_outlives_its_call_and_is_read_bit_by_bit(state: RunState) -> None:
    os.mkfifo("go")
    assert "Job 1" in call(shell, state, command="echo one; read x < go; echo two; exit 4", background=True).text
    assert "running" in call(shell_jobs, state).text
    with open("go", "w") as file:
        file.write("x\n")
    wait_for(state, "1")
    text = call(shell_jobs, state, action="read", id="1").text
    assert text.startswith("one\ntwo\n") and "exit code 4" in text
    assert not call(shell_jobs, state, action="read", id="1").text.startswith("one")
    assert call(shell_jobs, state, action="read", id="1", offset=0).text.startswith("one")
    assert "exit code 4" in call(shell_jobs, state, action="list").text


def test_a_job_is_stopped_with_its_tree(state: RunState) -> None:
    call(shell, state, command="setsid sleep 71 & sleep 71", background=True)
    assert "stopped" in call(shell_jobs, state, action="stop", id="1").text
    assert not alive("sleep 71")
    assert "stopped" in call(shell_jobs, state, action="stop", id="#1").text


def test_unknown_jobs_and_offsets(state: RunState) -> None:
    assert "no job '7'" in call(shell_jobs, state, action="read", id="7").text
    call(shell, state, command="echo x", background=True)
    wait_for(state, "1")
    assert "Jobs: 1" in call(shell_jobs, state, action="stop", id="9").text
    assert "only 2 bytes" in call(shell_jobs, state, action="read", id="1", offset=500).text
    assert call(shell_jobs, state, action="read", id="1", offset=-1).is_error


def test_there_is_a_cap(state: RunState) -> None:
    for n in range(16):
        assert not call(shell, state, command="sleep 72", background=True).is_error, n
    assert "16 jobs" in call(shell, state, command="sleep 72", background=True).text
    assert state.jobs is not None
    state.jobs.close()
    assert not alive("sleep 72") and state.jobs.list() == ()


def test_old_outputs_make_room(state: RunState, isolated: Path) -> None:
    jobs = state.jobs = Jobs(isolated / "outputs")
    for n in range(25):
        capture = Capture(jobs.output_file(), always=True)
        capture.feed(b"x")
        jobs.keep(f"line {n}", capture, "exit code 0")
    assert len(list((isolated / "outputs").iterdir())) == 20
    assert jobs.get("5") is None and jobs.get("6") is not None and jobs.get("25") is not None


def test_close_removes_the_outputs(state: RunState) -> None:
    call(shell, state, command="echo x", background=True)
    wait_for(state, "1")
    assert state.jobs is not None
    path = state.jobs.list()[0].capture.path
    assert path is not None and path.read_bytes() == b"x\n" and path.stat().st_mode & 0o777 == 0o600
    state.jobs.close()
    assert not path.exists() and not path.parent.exists()


PROGRAM = """
import asyncio, os, sys
from aicli.tools.base import ToolContext
from aicli.tools.builtin.shell import shell
from aicli.tools.state import RunState
state = RunState()
asyncio.run(shell.run(ToolContext(state=state), "setsid sleep 73 & sleep 73", background=True))
print("up", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_nothing_outlives_the_program(how: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert child.stdin and child.stdout and child.stdout.readline() == b"up\n"
    marks = _reapers(child.pid)
    assert len(marks) == 2
    if how == "kill":
        child.send_signal(signal.SIGKILL)
    else:
        child.stdin.write(b"\n")
    child.communicate()
    for pid in marks:  # the reaper itself ends when its work is done
        _until_gone(pid)
    assert not alive("sleep 73")


def _reapers(parent: int) -> list[int]:
    """The program that starts them, and they."""
    starters = _children(parent)
    return [*starters, *(pid for starter in starters for pid in _children(starter))]


def _children(parent: int) -> list[int]:
    with open(f"/proc/{parent}/task/{parent}/children") as file:
        return [int(word) for word in file.read().split()]


def _until_gone(pid: int) -> None:
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    import select

    assert select.select([fd], [], [], 10)[0]
    os.close(fd)


def test_left_overs_of_killed_programs_are_removed_after_days(isolated: Path) -> None:
    jobs = Jobs()
    outputs = jobs.output_file().parent.parent
    old, new = outputs / "1-old", outputs / "2-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "x.txt").write_text("x")
    os.utime(old, (1, 1))
    Jobs().output_file()
    assert not old.exists() and new.exists()
