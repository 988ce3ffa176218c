"""`prompt` and `agent run` as scripts use them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.e2e.process import BOUND, REPOSITORY, Ran, aicli, environment, start
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, cut, error, text, think, usage


def test_the_main_job_over_both_wires(isolated: Path) -> None:
    """The file is written, the command runs, each result goes back under its id."""
    for wire in ("openai", "ollama"):
        steps = [
            [call("write_file", path="hello.py", content="print('hello')\n"), usage(5_000)],
            [call("shell", command="python3 hello.py"), usage(5_000)],
            [text("Created and ran it."), usage(5_000)],
        ]
        with ModelServer(steps) as server:
            env = {"AICLI_BASE_URL": server.url if wire == "ollama" else f"{server.url}/v1"}
            env["AICLI_MODELS__FAST"] = f"{wire}:test-model"
            env["AICLI_SHELL__TIMEOUT"] = "20"
            ran = aicli("agent", "run", "general", "create hello.py", "--yolo", server=server, env=env)
            assert server.violations == []
            first, second = (body["messages"] for body in server.bodies[1:])
        assert (ran.code, ran.text) == (0, "Created and ran it.\n"), ran
        assert (isolated / "hello.py").read_text() == "print('hello')\n"
        assert "hello.py" in json.dumps(first[-1]) and second[-1]["role"] == "tool"
        assert "hello" in second[-1]["content"], second[-1]
        lines = ran.err.splitlines()
        assert [line[:4] for line in lines] == ["ok  ", "ok  ", "----", "fini"], ran.err
        assert not set(ran.err) & set("\x1b\r\b")
        (isolated / "hello.py").unlink()


def test_a_retried_stream_is_printed_once(here: Callable[..., Ran]) -> None:
    with ModelServer([[text("Hello wor"), cut()], "Hello world"]) as server:
        ran = here("prompt", "hi", server=server)
    assert (ran.code, ran.text) == (0, "Hello world\n"), ran


def test_a_failed_call_is_told_even_when_the_model_says_otherwise(here: Callable[..., Ran]) -> None:
    steps = [[call("write_file", path="a.txt", content="1")], "I wrote it."]
    with ModelServer(steps * 3) as server:
        ran = here("prompt", "write a.txt", server=server)
        quiet = here("prompt", "write a.txt", "-q", server=server)
        value = here("prompt", "write a.txt", "--json", server=server).result("json")
    assert (ran.code, ran.text, ran.err) == (0, "I wrote it.\n", "warn  1 tool call failed\n"), ran
    assert quiet.err == ""
    assert (value["num_tool_calls"], value["failed_calls"]) == (1, 1), value


def test_calls_that_came_as_text_are_told_once(isolated: Path, here: Callable[..., Ran]) -> None:
    (isolated / "a.txt").write_text("one")
    said = '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.txt"}}\n</tool_call>'
    again = said.replace("a.txt", "./a.txt")
    with ModelServer([said, again, "It says one."] * 2) as server:
        ran = here("agent", "run", "general", "read a.txt", server=server)
        value = here("prompt", "read a.txt", "--json", server=server).result("json")
    assert ran.err.count("tool calls are read out of the model's text (") == 1, ran
    assert value["recovered_calls"] == 2, value


def test_square_brackets_are_text(isolated: Path, here: Callable[..., Ran]) -> None:
    (isolated / "[red].txt").write_text("[/x]")
    with ModelServer([[call("read_file", path="[red].txt")], "a [/INST] [bold]b"]) as server:
        ran = here("agent", "run", "general", "[/x]", "--verbose", server=server)
    assert (ran.code, ran.text) == (0, "a [/INST] [bold]b\n")
    assert "[red].txt" in ran.err
    with ModelServer([[error(400, "bad [/'A', 1]")]] * 2) as server:
        ran = here("prompt", "x", server=server)
    assert ran.code == 1 and "[/'A', 1]" in ran.err


def test_structured_answers_are_asked_for_again(isolated: Path, here: Callable[..., Ran]) -> None:
    schema = {
        "type": "object",
        "required": ["n"],
        "properties": {"n": {"type": "integer"}},
        "additionalProperties": False,
    }
    (isolated / "schema.json").write_text(json.dumps(schema))
    with ModelServer(["no", '{"n": "x"}', '{"n": 3}']) as server:
        ran = here("prompt", "count", "--output-schema", "schema.json", "--json", "-o", "out.json", server=server)
    assert ran.result("json")["structured_output"] == {"n": 3}
    assert json.loads((isolated / "out.json").read_text()) == {"n": 3}
    with ModelServer(['{"n": 4}']) as server:
        ran = here("prompt", "count", "--json-schema", json.dumps(schema), server=server)
    assert json.loads(ran.text) == {"n": 4}


def test_the_answer_file(isolated: Path, here: Callable[..., Ran]) -> None:
    with ModelServer(["the\nanswer 中"]) as server:
        ran = here("prompt", "x", "-o", "a.txt", server=server)
    assert (ran.code, ran.text) == (0, "the\nanswer 中\n")
    assert (isolated / "a.txt").read_text(encoding="utf-8") == "the\nanswer 中\n"
    with ModelServer([[error(401)]] * 2) as server:
        assert here("prompt", "x", "-o", "a.txt", server=server).code == 41
        assert here("prompt", "x", "-o", "new.txt", server=server).code == 41
    assert "answer" in (isolated / "a.txt").read_text(encoding="utf-8")
    assert not (isolated / "new.txt").exists()
    with ModelServer([]) as server:
        assert here("prompt", "x", "-o", ".", server=server).code == 42
        assert server.requests == []
    with ModelServer(["x"]) as server:
        ran = here("prompt", "x", "-o", "/dev/full", "--json", server=server)
    assert ran.code == 42 and ran.result("json")["subtype"] == "error_input"


def test_partials_and_thinking_in_the_stream(here: Callable[..., Ran]) -> None:
    with ModelServer([[think("hm"), text("abcdef", pieces=3)]]) as server:
        ran = here("prompt", "x", "--output-format", "stream-json", "--include-partial-messages", server=server)
    ran.result("stream-json")
    pieces = [line["event"]["delta"] for line in ran.lines if line["type"] == "stream_event"]
    assert "".join(p.get("text", "") for p in pieces) == "abcdef"
    assert "".join(p.get("thinking", "") for p in pieces) == "hm"


def test_quiet_says_nothing_and_tools_can_be_chosen(here: Callable[..., Ran]) -> None:
    with ModelServer([[call("shell", command="touch x")], "no"]) as server:
        ran = here("prompt", "x", "-q", "--tools", "shell", server=server)
        tools = [tool["function"]["name"] for tool in server.bodies[0]["tools"]]
    assert (ran.code, ran.text, ran.err, tools) == (0, "no\n", "", ["shell"])
    with ModelServer(["x"]) as server:
        here("prompt", "x", "--tools", "none", server=server)
        assert not server.bodies[0].get("tools")


def test_allow_rules_and_folders(isolated: Path, here: Callable[..., Ran]) -> None:
    (isolated / "项目").mkdir()
    args = ("--allowed-tools", "edit", "-C", "项目", "--json")
    with ModelServer([[call("write_file", path="新.txt", content="x")], "done"]) as server:
        ran = here("agent", "run", "general", "x", *args, server=server)
    assert ran.result("json")["files_changed"] == ["新.txt"], ran
    assert (isolated / "项目" / "新.txt").read_text() == "x"


def test_help_needs_nothing_and_imports_little() -> None:
    code = (
        "import sys; from aicli.cli import run; code = run(['--help']);"
        "print(code, sorted({'httpx', 'pydantic', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True)
    assert done.stderr.endswith("0 []\n"), done.stderr
    assert "Ask one thing and get the answer" in done.stdout


def test_a_one_shot_run_imports_no_screen() -> None:
    code = (
        "import sys; from aicli.cli import run; code = run(['prompt', 'x', '-q']);"
        "bad = {'prompt_toolkit', 'questionary', 'rich', 'rich.markdown', 'tomlkit', 'jsonschema', 'bs4', 'markdownify',"
        " 'aicli.ui.markdown', 'aicli.ui.live', 'aicli.ui.screen'};"
        "print(code, sorted(bad & set(sys.modules)), file=sys.stderr)"
    )
    with ModelServer(["ok"]) as server:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment(server),
            stdin=subprocess.DEVNULL,
        )
    assert done.stdout == "ok\n" and done.stderr.endswith("0 []\n"), done


def test_where_stdin_and_stderr_are_a_terminal_it_asks(isolated: Path) -> None:
    """stdout may go to a file meanwhile."""
    for answer, there in ((b"y\n", True), (b"n no thanks\n", False)):
        master, slave = pty.openpty()
        path = f"f{there}.txt"
        with ModelServer([[call("write_file", path=path, content="x")], "done"]) as server:
            process = start("agent", "run", "general", "x", server=server, stdin=slave, stderr=slave)
            os.close(slave)
            seen = b""
            while b"once" not in seen:
                seen += os.read(master, 4096)
            os.write(master, answer)
            out = process.stdout.read() if process.stdout else b""
            assert (process.wait(BOUND), out) == (0, b"done\n"), seen
            told = json.dumps(server.bodies[1]["messages"][-1])
        os.close(master)
        assert (isolated / path).exists() == there
        assert ("no thanks" in told) != there
        assert b"ask   " in seen and b"\x1b" not in seen
