from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from aicli import Agent, tool
from aicli.errors import AicliError
from aicli.testing import ModelServer, ScriptedModel, call_tool, steps
from aicli.testing.__main__ import main as serve


def test_one_call_as_the_program_makes_it(isolated: Path) -> None:
    (isolated / "f").write_text("hello\n")
    read = call_tool("read_file", {"path": "f"}, isolated)
    assert "hello" in read.text and not read.is_error and not read.asked
    no = call_tool("write_file", {"path": "g", "content": "x"}, isolated)
    assert no.is_error and no.asked and not (isolated / "g").exists() and len(no.questions) == 1
    yes = call_tool("write_file", {"path": "g", "content": "x"}, isolated, answers=[True])
    assert not yes.is_error and yes.asked and (isolated / "g").read_text() == "x"
    edits = call_tool("write_file", {"path": "h", "content": "x"}, isolated, "acceptEdits")
    assert not edits.is_error and not edits.asked
    headless = call_tool("write_file", {"path": "i", "content": "x"}, isolated, "dont-ask", [True])
    assert headless.is_error and not headless.asked


def test_what_is_wrong_comes_back_as_the_model_would_see_it(isolated: Path) -> None:
    assert call_tool("no_such_tool", {}, isolated).is_error
    assert call_tool("read_file", {"nonsense": 1}, isolated).is_error
    with pytest.raises(AicliError):
        call_tool("read_file", {"path": "f"}, isolated, "no-such-mode")
    with pytest.raises(AicliError):
        call_tool("read_file", {"path": "f"}, isolated / "nothere")


def test_a_question_of_the_model_gets_the_answer(isolated: Path) -> None:
    told = call_tool("ask_user", {"question": "Which?"}, isolated, answers=["the blue one"])
    assert told.asked and "the blue one" in told.text


def test_it_works_where_a_loop_runs(isolated: Path) -> None:
    async def inside() -> bool:
        return call_tool("ls", {"path": "."}, isolated).is_error

    assert asyncio.run(inside()) is False
    assert ScriptedModel(["hi"]).info.provider == "scripted"


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"Regen in {city}."


@pytest.mark.parametrize("provider", ["ollama", "openai", "responses", "anthropic", "gemini"])
def test_an_agent_over_real_http(provider: str) -> None:
    with ModelServer([[steps.think("hm"), steps.call("weather", city="北京")], "好"]) as server:
        result = Agent(model=server.model(provider), tools=[weather]).run_sync("雨?")
        server.check()
    assert (result.text, result.tool_calls, result.error) == ("好", 1, None)
    assert "Regen in 北京." in json.dumps(server.bodies[1], ensure_ascii=False)


def test_what_was_not_as_scripted_is_said() -> None:
    with ModelServer(["never", "never"], models=["a"]) as server:
        wrong = [
            {"messages": []},
            {"model": "a", "messages": [{"content": "x"}]},
            {"model": "a", "messages": ["x"]},
            {"model": "a", "messages": 1},
            {"model": "a", "messages": [], "tools": [{"type": "function", "function": {"name": "f"}}]},
        ]
        for body in wrong:
            request = urllib.request.Request(server.url + "/v1/chat/completions", json.dumps(body).encode())
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10)
            refused.value.close()
    with pytest.raises(AssertionError) as said:
        server.check()
    lines = str(said.value).splitlines()
    assert [line.removeprefix("/v1/chat/completions: ") for line in lines[1:]] == [
        "messages[0]: the field 'role' is missing",
        "messages[0] is no object",
        "a value is of the wrong kind: 'int' object is not iterable",
        "tool.function: the field 'parameters' is missing",
        "2 replies were scripted, 0 were asked for",
    ]


def test_the_program_finds_the_server_by_its_variables(isolated: Path) -> None:
    with ModelServer(["hello 世界"]) as server:
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), **server.environ("anthropic")}
        command = [sys.executable, "-m", "aicli", "prompt", "hi", "--tools", "none"]
        env["ANTHROPIC_API_KEY"] = "none"
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        server.check()
    assert (done.returncode, done.stdout.decode()) == (0, "hello 世界\n"), done.stderr


def test_a_script_is_served_to_any_program(isolated: Path) -> None:
    command = [sys.executable, "-m", "aicli.testing"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as served:
        assert served.stdin and served.stdout
        try:
            served.stdin.write(b'[["a", {"text": "b"}]]')
            served.stdin.close()
            url = served.stdout.readline().decode().strip()
            body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
            request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode())
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(request, timeout=30) as answer:
                assert b'"a"' in answer.read()
        finally:
            served.kill()


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (None, "can't be read: No such file"),
        ("{", "this is not JSON"),
        ('{"text": "x"}', "a script is a list of replies"),
        ('[["a"], [7]]', "reply 2 can't be read: a step is a text or an object"),
        ('[[{"call": {"args": {}}}]]', "reply 1 can't be read: 'name' is missing"),
    ],
)
def test_a_script_that_cannot_be_read_is_one_clear_line(
    script: str | None, says: str, isolated: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = isolated / "脚本.json"
    if script is not None:
        file.write_text(script, "utf-8")
    monkeypatch.setattr(sys, "argv", ["aicli.testing", str(file)])
    with pytest.raises(SystemExit) as ended:
        serve()
    last = capsys.readouterr().err.splitlines()[-1]
    assert ended.value.code == 2 and last.startswith("python -m aicli.testing: error: ") and says in last, last


def test_the_server_program_shows_the_form_of_its_script(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["aicli.testing", "--help"])
    with pytest.raises(SystemExit) as ended:
        serve()
    out = capsys.readouterr().out
    assert ended.value.code == 0
    example = next(line for line in out.splitlines() if line.strip().startswith("[["))
    assert len(steps.from_json(example)) == 2
