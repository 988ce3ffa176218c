"""The shell tool with real processes: output, endings, the whole tree, folders, spellings."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from aicli.content.events import AgentEvent, ToolFinished, ToolProgress, Warned
from aicli.content.results import CommandDisplay, ToolResult
from aicli.safety import landlock
from aicli.safety.confined import Confined, Unconfined
from aicli.safety.landlocked import Landlocked
from aicli.safety.masks import Untidy
from aicli.safety.sandbox import Sandbox, detect
from aicli.safety.sandbox_paths import view
from aicli.settings import ShellSettings
from aicli.tools.builtin.shell import shell
from aicli.tools.builtin.shell_jobs import shell_jobs
from aicli.tools.launch import Command
from aicli.tools.process import run
from aicli.tools.state import RunState
from tests.support.counts import count
from tests.tools.calling import acall, call, state_in
from tests.tools.processes import alive

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shell tool needs POSIX")


@pytest.fixture
def state(isolated: Path) -> RunState:
    return state_in(isolated)


def display(result: ToolResult) -> CommandDisplay:
    assert isinstance(result.display, CommandDisplay)
    return result.display


def test_a_failed_command_says_why(state: RunState) -> None:
    result = call(shell, state, command="echo out; echo err >&2; exit 3")
    assert result.is_error and "out\nerr\n" in result.text and "exit code 3" in result.text
    assert display(result).exit_code == 3 and display(result).summary == "exit code 3"


def test_a_pipeline_ends_as_its_last_program(state: RunState) -> None:
    result = call(shell, state, command="false | true")
    assert not result.is_error and "exit code 0" in result.text


def test_a_signal_is_named(state: RunState) -> None:
    result = call(shell, state, command="kill -9 $$")
    assert result.is_error and "signal 9" in result.text and "SIGKILL" in result.text
    assert display(result).exit_code is None and display(result).signal == "SIGKILL"
    assert "signal 15, SIGTERM" in call(shell, state, command="sh -c 'kill -15 $$'; exit $?").text


def test_an_unknown_command_shows_the_shells_message(state: RunState) -> None:
    result = call(shell, state, command="no_such_cmd_x")
    assert result.is_error and "127" in result.text and "no_such_cmd_x: command not found" in result.text


def test_output_that_is_no_utf8(state: RunState) -> None:
    result = call(shell, state, command=r"printf 'ok \377\360 \351 end\n'; printf '\201' >&2")
    assert not result.is_error and "ok" in result.text and "end" in result.text and "exit code 0" in result.text


def test_chinese_passes_whole(state: RunState) -> None:
    assert call(shell, state, command="echo 你好，世界; printf '最后'").text.startswith("你好，世界\n最后\n")


def test_a_gigabyte_of_output_keeps_memory_flat(state: RunState) -> None:
    size = count(150_000_000, 1_000_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = call(shell, state, command=f"yes | head -c {size}; echo the end")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000
    assert len(result.text) < 60_000 and "cut" in result.text and f"{size + 8:,} bytes" in result.text
    assert result.text.startswith("y\n") and "the end\nexit code 0" in result.text


def test_what_was_cut_can_be_read(state: RunState) -> None:
    result = call(shell, state, command="seq 1 100000")
    assert 'shell_jobs(action="read", id="1")' in result.text
    assert "\n50000\n" not in result.text
    assert "\n50000\n" in call(shell_jobs, state, action="read", id="1", offset=280_000).text
    assert "exit code 0" in call(shell_jobs, state, action="list").text
    assert state.jobs is not None
    kept = state.jobs.get("1")
    assert kept is not None and kept.capture.path is not None and kept.capture.path.stat().st_mode & 0o777 == 0o600
    assert kept.capture.path.stat().st_size == kept.capture.total == sum(len(str(n)) + 1 for n in range(1, 100_001))
    state.jobs.close()
    assert not kept.capture.path.exists()


def test_time_is_limited_and_the_output_so_far_kept(state: RunState) -> None:
    start = time.monotonic()
    result = call(shell, state, command="echo begun; sleep 60", timeout=0.3)
    assert time.monotonic() - start < 3
    assert result.is_error and "begun" in result.text and "timed out after 0.3 s" in result.text
    assert result.data["timed_out"] is True
    assert not alive("sleep 60")


def test_a_background_child_does_not_hold_the_call(state: RunState) -> None:
    start = time.monotonic()
    result = call(shell, state, command="sleep 61 & echo started")
    assert time.monotonic() - start < 3 and "started" in result.text
    assert not alive("sleep 61")


HOSTILE = [
    "setsid sleep {n} & echo ok",
    "(setsid sleep {n} >/dev/null 2>&1 &) ; echo ok",
    "nohup sleep {n} >/dev/null 2>&1 & disown; echo ok",
    "trap '' TERM HUP INT; (trap '' TERM HUP INT; setsid sleep {n} &) ; echo ok",
    "env -i setsid sh -c 'sleep {n} & sleep {n}' & echo ok",
    "setsid sh -c 'while :; do sleep {n}; done' & sleep {n}",
    "python3 -c \"import os\nos.fork() or os.setsid() and 0 or os.fork() or os.execvp('sleep', ['sleep', '{n}'])\"; echo ok",
    "kill -STOP $$ & setsid sleep {n} & sleep {n}",
    "setsid sleep {n} & kill -9 $PPID; sleep {n}",
    "(sleep {n} & kill -STOP $!) ; exec sleep {n}",
]


@pytest.mark.parametrize("box", ["none", "landlock", "bubblewrap"])
def test_hostile_children_leave_no_process_behind(isolated: Path, box: str) -> None:
    state = state_in(isolated, sandbox=sandbox_named(box, isolated))
    runs = count(len(HOSTILE) if box == "none" else 4, 100 if box == "none" else 30)
    for i in range(runs):
        seconds = str(4000 + i)
        line = HOSTILE[-1 - i % len(HOSTILE)].replace("{n}", seconds)
        call(shell, state, command=line, timeout=0.4)
        assert not alive(f"sleep {seconds}"), line


def sandbox_named(name: str, root: Path) -> Sandbox | None:
    if name == "none":
        return None
    if name == "bubblewrap":
        found = detect("auto", root)
        if found.kind != "bubblewrap":
            pytest.skip("bubblewrap does not work here")
        return found
    if landlock.version() < landlock.LEAST:
        pytest.skip("this kernel has no Landlock")
    return Landlocked(view(root, (), (), os.environ))


def test_own_children_of_the_caller_are_left_alone(state: RunState) -> None:
    import subprocess

    mine = subprocess.Popen(["sleep", "62"])
    try:
        call(shell, state, command="setsid sleep 63 & sleep 63", timeout=0.3)
        assert mine.poll() is None
    finally:
        mine.kill()
        assert mine.wait() == -9


def test_cancelling_ends_the_tree(state: RunState) -> None:
    async def go() -> None:
        events: list[AgentEvent] = []
        task = asyncio.create_task(acall(shell, state, events=events, command="echo up; setsid sleep 64 & sleep 64"))
        while not any(isinstance(e, ToolProgress) for e in events):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    start = time.monotonic()
    asyncio.run(go())
    assert time.monotonic() - start < 5 and not alive("sleep 64")


def test_output_is_streamed(state: RunState) -> None:
    async def go() -> None:
        events: list[AgentEvent] = []
        fifo = os.path.join(os.getcwd(), "go")
        os.mkfifo(fifo)
        task = asyncio.create_task(acall(shell, state, events=events, command="echo first; read x < go; echo second"))
        while not any(isinstance(e, ToolProgress) and "first" in e.text for e in events):
            await asyncio.sleep(0.01)
        assert not any(isinstance(e, ToolFinished) for e in events)
        with open(fifo, "w") as file:
            file.write("x\n")
        assert "second" in (await task).text

    asyncio.run(go())


def test_nothing_waits_for_input(state: RunState) -> None:
    start = time.monotonic()
    result = call(shell, state, command="cat; read x; echo read gave $?; read y </dev/tty || echo no terminal")
    assert time.monotonic() - start < 3 and "read gave 1" in result.text and "no terminal" in result.text


def test_programs_are_told_not_to_ask_or_page(state: RunState) -> None:
    text = call(shell, state, command="env").text
    for line in ("GIT_TERMINAL_PROMPT=0", "PAGER=cat", "GIT_PAGER=cat", "CI=1", "TERM=dumb"):
        assert f"{line}\n" in text


def test_keys_stay_out(state: RunState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "ABC-SECRET-1")
    monkeypatch.setenv("MY_TOKEN", "ABC-SECRET-1")
    monkeypatch.setenv("BASH_ENV", "/tmp/x")
    result = call(shell, state, command="env; cat /proc/self/environ | tr '\\0' '\\n'")
    assert "ABC-SECRET-1" not in result.text and "BASH_ENV" not in result.text


def test_allowed_variables_pass(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILD_KIND", "fast")
    state = state_in(isolated, shell=ShellSettings(env_allow=("BUILD_KIND",)))
    assert "fast" in call(shell, state, command="echo $BUILD_KIND").text


def test_control_bytes_are_cleaned(state: RunState) -> None:
    result = call(shell, state, command=r"printf '\033[31mred\033[0m \033]0;title\007 a\033[2Kb\a\nx\bxy\n'")
    assert "red" in result.text and "title" not in result.text and "ab" in result.text
    for text in (result.text, display(result).tail):
        assert not any(c in text for c in "\x1b\x07\x08")


def test_a_progress_bar_shows_its_last_state(state: RunState) -> None:
    line = r"for i in $(seq 1 500); do printf '\rdone %s%%' $i; done; printf '\n'; printf 'a\r\nb\r\n'"
    assert call(shell, state, command=line).text.startswith("done 500%\na\nb\n")


def test_folders(state: RunState, isolated: Path) -> None:
    (isolated / "sub dir").mkdir()
    assert f"{isolated}/sub dir\n" in call(shell, state, command="/bin/pwd; true #", cwd="sub dir").text
    for cwd in ("missing", "/etc", "../..", "~"):
        assert call(shell, state, command="pwd", cwd=cwd).is_error
    (isolated / "file").write_text("x")
    assert "not a folder" in call(shell, state, command="pwd", cwd="file").text
    (isolated / "out").symlink_to("/etc")
    assert call(shell, state, command="pwd", cwd="out").is_error


def test_a_sibling_is_not_inside(tmp_path: Path) -> None:
    (tmp_path / "w" / "project").mkdir(parents=True)
    (tmp_path / "w" / "project-other").mkdir()
    state = state_in(tmp_path / "w" / "project")
    for cwd in (str(tmp_path / "w" / "project-other"), "../project-other"):
        assert "outside the workspace" in call(shell, state, command="pwd", cwd=cwd).text


def test_a_folder_is_kept_on_request(state: RunState, isolated: Path) -> None:
    (isolated / "a" / "b").mkdir(parents=True)
    assert "a" in call(shell, state, command="cd a").text
    assert call(shell, state, command="pwd -P #").text == f"{isolated}/a\nexit code 0 (in a)"
    assert f"{isolated}/a/b\n" in call(shell, state, command="pwd -P #", cwd="b").text
    assert call(shell, state, command="pwd", cwd="a").is_error
    call(shell, state, command="cd b")
    assert f"{isolated}/a/b\n" in call(shell, state, command="pwd -P #").text
    assert call(shell, state, command="cd /etc").is_error and call(shell, state, command="cd nowhere").is_error
    assert f"{isolated}/a/b\n" in call(shell, state, command="pwd -P #").text
    call(shell, state, command="cd / && pwd")
    assert f"{isolated}/a/b\n" in call(shell, state, command="pwd -P #").text
    call(shell, state, command="rm -r ../b")
    gone = call(shell, state, command="ls")
    assert gone.is_error and "a/b is gone" in gone.text
    call(shell, state, command="cd a")
    call(shell, state, command="cd")
    assert call(shell, state, command="pwd -P #").text == f"{isolated}\nexit code 0"


@pytest.mark.parametrize("name", ["bash", "run_shell_command", "execute_command", "terminal", "sh"])
def test_other_names(state: RunState, name: str) -> None:
    assert "hello" in call(shell, state, name=name, command="echo hello").text


def test_other_spellings(state: RunState, isolated: Path) -> None:
    (isolated / "d").mkdir()
    (isolated / "a b").write_text("inside\n")
    assert "two words\n" in call(shell, state, command="printf", args=["%s\n", "two words"]).text
    assert "inside" in call(shell, state, command=["cat", "a b"]).text
    assert "via lc" in call(shell, state, command=["bash", "-lc", "echo via lc"]).text
    assert f"{isolated}/d\n" in call(shell, state, command="pwd -P #", working_dir="d", stream_output=True).text
    assert "cmd" in call(shell, state, cmd="echo cmd").text
    assert "it's x" in call(shell, state, command="echo $A $B", env={"A": "it's", "B": "x"}).text
    assert call(shell, state, command="echo", env={"A;B": "x"}).is_error


def test_bad_commands(state: RunState) -> None:
    assert "empty" in call(shell, state, command="  ").text
    assert "NUL" in call(shell, state, command="echo a\0b").text
    assert "Argument list too long" in call(shell, state, command="echo " + "x" * 3_000_000).text


def test_lines_that_only_read_run_without_a_shell(state: RunState, isolated: Path) -> None:
    (isolated / "f").write_text("b\na\n")
    (isolated / "sub").mkdir()
    (isolated / "sub" / "g").write_text("deep\n")
    assert call(shell, state, command="cat f | sort | head -n 1").text == "a\nexit code 0"
    assert call(shell, state, command="cat f && echo yes || echo no").text == "b\na\nyes\nexit code 0"
    assert call(shell, state, command="cat none || echo no").text.endswith("no\nexit code 0")
    assert call(shell, state, command="cd sub && cat g").text == "deep\nexit code 0"
    assert "exit code 1" in call(shell, state, command="grep nothing f").text
    assert "No such file" in call(shell, state, command="cat none | wc -l").text


def test_the_terminal_state_of_the_caller_is_untouched(state: RunState) -> None:
    session, own = call(shell, state, command="ps -o sid= -p $$; echo $$").text.split()[:2]
    assert session == own  # a session of its own; the caller's can be 0, in a fresh pid namespace


@pytest.fixture
def confined(isolated: Path) -> RunState:
    sandbox = detect("auto", isolated)
    if sandbox.status not in ("full", "reduced"):
        pytest.skip("no sandbox on this machine")
    return state_in(isolated, sandbox=sandbox)


def test_a_confined_command_behaves_the_same(confined: RunState, isolated: Path) -> None:
    result = call(shell, confined, command="echo out; echo err >&2; touch made; exit 3")
    assert "out\nerr\nexit code 3" in result.text and (isolated / "made").exists()
    assert "signal 9" in call(shell, confined, command="kill -9 $$").text
    assert call(shell, confined, command="cat made | wc -c; ls").text == "0\nmade\nexit code 0"
    start = time.monotonic()
    assert "begun" in call(shell, confined, command="echo begun; setsid sleep 65 & sleep 65", timeout=0.3).text
    assert "done" in call(shell, confined, command="setsid sleep 66 & echo done").text
    assert time.monotonic() - start < 5 and not alive("sleep 65") and not alive("sleep 66")


def test_a_line_that_only_reads_can_not_write_even_if_it_tried(confined: RunState, isolated: Path) -> None:
    """The same confinement as for such lines, around a program that writes."""
    command = Command(("/usr/bin/touch", "made"), isolated, {}, confined.sandbox, writable=False)
    result = asyncio.run(run(command, timeout=5))
    assert result.exit_code != 0 and not (isolated / "made").exists()


class Untidied(Unconfined):
    """A sandbox that can't put right what the command left."""

    def confine(self, argv: Sequence[str], **how: Any) -> Confined:
        def close() -> None:
            raise Untidy("Do not use git in 工作: hooks.")

        found = super().confine(argv, **how)
        return Confined(found.argv, found.env, close=close)


def test_what_the_sandbox_could_not_put_right_is_told_to_the_model_and_the_person(state: RunState) -> None:
    state.sandbox = Untidied()
    events: list[AgentEvent] = []
    result = asyncio.run(acall(shell, state, command="echo x > y; echo done", events=events))
    assert result.text == "done\n\n[aicli: Do not use git in 工作: hooks.]\nexit code 0"
    assert [e.text for e in events if isinstance(e, Warned)] == ["Do not use git in 工作: hooks."]
