"""The main job from end to end: a real process, real HTTP in both local wire formats, real files, a real shell."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import Ran, aicli, finish, start
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, error, raw_call, usage

TASK = ("agent", "run", "general", "create hello.py that prints hello, then run it", "--permission-mode", "bypass")
JOB = [
    [call("write_file", path="hello.py", content="print('hello')\n"), usage(9_000, 20)],
    [call("shell", command="python3 hello.py"), usage(9_000, 20)],
    ["It prints hello.", usage(9_000, 5)],
]


def model(server: ModelServer, wire: str) -> tuple[str, ...]:
    base = server.url if wire == "ollama" else f"{server.url}/v1"
    return ("-m", f"{wire}:test-model", "--base-url", base)


def results(body: dict[str, Any]) -> list[str]:
    return [str(m["content"]) for m in body["messages"] if m["role"] == "tool"]


@pytest.mark.parametrize("wire", ["ollama", "openai"])
def test_the_file_exists_the_shell_ran_and_the_results_went_back(wire: str, isolated: Path) -> None:
    with ModelServer(JOB) as server:
        done = aicli(*TASK, *model(server, wire))
        assert server.violations == []
        bodies = server.bodies
    assert done.code == 0 and done.text == "It prints hello.\n"
    assert (isolated / "hello.py").read_text() == "print('hello')\n"
    assert "hello.py" in results(bodies[1])[0]
    assert "hello" in results(bodies[2])[1] and "exit code 0" in results(bodies[2])[1]
    assert "2 calls" in done.err and "fail" not in done.err.lower()
    if wire == "ollama":
        assert all(body["options"]["num_ctx"] >= 8_192 for body in bodies)
    else:
        made = [c["id"] for m in bodies[2]["messages"] for c in m.get("tool_calls", ())]
        assert [m["tool_call_id"] for m in bodies[2]["messages"] if m["role"] == "tool"] == made


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_what_goes_wrong_on_the_way_does_not_end_the_run(form: str, here: Callable[..., Ran], isolated: Path) -> None:
    replies = [
        [call("no_such_tool"), raw_call("write_file", "{path: ")],
        error(500),
        error(500),
        [call("read_file", path="missing.txt"), call("shell", command="exit 3")],
        "All the same.",
    ]
    with ModelServer([r if isinstance(r, (list, str)) else [r] for r in replies]) as server:
        done = here(*TASK, "--output-format", form, server=server, env={"AICLI_MODELS__RETRIES": "3"})
        assert server.violations == []
        texts = results(server.bodies[-1])
    assert done.code == 0
    assert "no tool named" in texts[0] and "JSON" in texts[1] and "exit code 3" in texts[3]
    if form == "text":
        assert done.text == "All the same.\n"
    else:
        result = done.result(form)
        assert (result["result"], result["num_tool_calls"]) == ("All the same.", 4)


def test_a_turn_cap_and_an_absent_server_end_in_their_own_ways(here: Callable[..., Ran]) -> None:
    with ModelServer([[call("ls", path=".", depth=n)] for n in (1, 2, 3)]) as server:
        done = here(*TASK, "--max-turns", "2", "--json", server=server)
        assert (done.code, done.result("json")["subtype"]) == (53, "error_max_turns")
    gone = here(*TASK, "--json", "-m", "openai:x", "--base-url", "http://127.0.0.1:9/v1")
    assert (gone.code, gone.result("json")["subtype"]) == (75, "error_network")
    assert "127.0.0.1:9" in gone.err


def every_tool() -> list[list[Any]]:
    """Twenty replies that together call every tool."""
    steps: list[list[Any]] = [
        [call("tasks", tasks=[{"text": "look", "status": "in_progress"}])],
        [call("ls"), call("glob", pattern="**/*")],
        [call("write_file", path="包/a.py", content="x = 1\n"), call("write_file", path="包/b.py", content="y = 2\n")],
        [call("read_file", path="包/a.py"), call("read_file", path="包/b.py")],
        [call("read_many_files", paths=["包/*.py"])],
        [call("grep", pattern="= [0-9]")],
        [call("edit", path="包/a.py", old_string="x = 1", new_string="x = 10")],
        [call("edit", path="包/a.py", edits=[{"old_string": "10", "new_string": "11"}])],
        [call("shell", command="python3 包/a.py && echo fine")],
        [call("shell", command="sleep 30", background=True)],
        [call("shell_jobs", action="list")],
        [call("memory", action="save", text="the project counts from eleven")],
        [call("memory", action="list")],
        [call("ask_user", question="Which one?")],
        [call("web_fetch", url="http://127.0.0.1:9/")],
        [call("web_search", query="aicli")],
        [call("agent", task="what is in 包?", type="explore")],
        ["It holds two files."],
        [call("shell", command="cat 包/a.py 包/b.py")],
        [call("tasks", tasks=[{"text": "look", "status": "completed"}])],
    ]
    return [[*step, usage(9_000, 5)] for step in steps]


def test_twenty_turns_over_all_tools(isolated: Path) -> None:
    with ModelServer([*every_tool(), "Done with all of it."]) as server:
        done = aicli(*TASK, "--json", server=server)
        assert server.violations == []
        texts = results(server.bodies[-1])
    result = done.result("json")
    assert done.code == 0, done.err
    assert (isolated / "包/a.py").read_text() == "x = 11\n"
    assert result["num_tool_calls"] == 22 and set(result["files_changed"]) >= {"包/a.py", "包/b.py"}
    assert "x = 1" in texts[5] and "y = 2" in texts[6]
    assert any("It holds two files." in t for t in texts) and any("x = 11" in t for t in texts)
    assert any("Nobody" in t for t in texts)
    assert not any("Traceback" in t for t in texts)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads the process table under /proc")
def test_ctrl_c_in_a_long_command_ends_the_tree_and_answers_the_call(isolated: Path, tmp_path: Path) -> None:
    marker = "61.7302"  # seconds nobody else sleeps
    with ModelServer([[call("shell", command=f"touch begun; sleep {marker}")]]) as server:
        process = start(*TASK, "--output-format", "stream-json", server=server)
        until = time.monotonic() + 20
        while not (isolated / "begun").exists():
            assert time.monotonic() < until and process.poll() is None
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        done = finish(process)
        assert time.monotonic() - begin < 6
    assert done.code == 130
    assert done.result("stream-json")["subtype"] == "cancelled"
    commands = [p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if p.exists()]
    assert not any(marker.encode() in line and b"sleep\0" in line for line in commands)
    kept = next((tmp_path / "home" / "state").rglob("sessions/*.jsonl")).read_text("utf-8").splitlines()
    events = [json.loads(line).get("event", {}) for line in kept]
    answered = [p for e in events if e.get("type") == "message_added" for p in e["message"]["parts"]]
    assert [p["type"] for p in answered][-2:] == ["function_call", "function_response"]


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("agent", "run", "genral", "x"), 2, "general"),
        (("agent", "run", "general", " "), 2, "task"),
        (("agent", "run", "general", "x", "-C", "no/such/folder"), 2, "no/such/folder"),
        (("agent", "run", "general", "x", "-m", "nothing:x"), 42, "ollama"),
        (("agent", "run", "general", "x", "-o", "no/such/dir/out.txt"), 42, "out.txt"),
        (("agnet",), 2, "agent"),
        (("agent", "run", "general", "x", "--max-turn", "3"), 2, "--max-turn"),
    ],
)
def test_bad_input_gets_one_line_and_its_code(
    here: Callable[..., Ran], args: tuple[str, ...], code: int, words: str
) -> None:
    done = here(*args)
    assert done.code == code and words in done.err and done.text == ""
    assert (
        len([line for line in done.err.splitlines() if line.startswith("aicli:")]) == 1 and "Traceback" not in done.err
    )
