"""Each example as it stands, against the scripted server."""

from __future__ import annotations

import runpy
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, hang, text, usage

EXAMPLES = Path(__file__).parents[2] / "examples"
READ = usage(20_000)
"""More tokens than any prompt here holds, so that none counts as cut."""


def run(name: str, replies: Sequence[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    with ModelServer(replies) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        assert server.violations == []
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_weather(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = run("weather", [[call("weather", city="Paris"), READ], [text("Yes, it rains."), READ]], monkeypatch, capsys)
    assert out.startswith("Yes, it rains.\n1 call, ") and out.endswith("completed\n")


def test_structured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    good = '{"summary": "adds", "score": 4}'
    out = run("structured", [[text('{"score": 9}'), READ], [text(good), READ]], monkeypatch, capsys)
    assert out == "summary='adds' score=4 problems=[]\n"


def test_events(isolated: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (isolated / "notes.txt").write_text("一\n二\n", encoding="utf-8")
    replies = [[call("count_lines", path="notes.txt"), READ], [text("It has 2 lines.", pieces=3), READ]]
    out = run("events", replies, monkeypatch, capsys)
    assert "[count_lines {'path': 'notes.txt'}]\n[ok after 0.0 s]\nIt has 2 lines.\n[completed]\n" in out


def test_history(isolated: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def second(body: dict[str, Any]) -> list[Any]:
        seen = " ".join(m["content"] for m in body["messages"])
        return [text("小明" if "小明" in seen else "no idea"), READ]

    out = run("history", [[text("I will."), READ], second], monkeypatch, capsys)
    assert out == "I will.\n小明\n"
    assert not list(isolated.iterdir())


def test_own_model(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("own_model", [], monkeypatch, capsys).strip() == "hello 世界"


def test_own_host(isolated: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("old.log", "keep.txt"):
        (isolated / name).write_text("x")
    calls = [call("delete_file", path="old.log"), call("delete_file", path="keep.txt"), READ]
    out = run("own_host", [calls, [text("One is gone."), READ]], monkeypatch, capsys)
    assert out == "One is gone.\nasked: ['Delete old.log', 'Delete keep.txt']; refused: ['keep.txt']\n"
    assert [p.name for p in isolated.iterdir()] == ["keep.txt"]


def test_two_agents(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    slow_asked = threading.Event()

    def reply(body: dict[str, Any]) -> list[Any]:
        if body["model"] == "slow":
            slow_asked.set()
            return [hang()]
        assert slow_asked.wait(20)
        return [text("Paris"), READ]

    assert run("two_agents", [reply, reply], monkeypatch, capsys) == "quick: Paris (others: cancelled)\n"


def test_own_test(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = run("own_test", [], monkeypatch, capsys)
    assert out.splitlines() == [f"{n}: Take one." for n in ("ollama", "openai", "responses", "anthropic", "gemini")]


def test_every_example_is_run_here() -> None:
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {file.stem for file in EXAMPLES.glob("*.py")} <= tests


@pytest.mark.parametrize("name", ["weather", "events", "own_host", "two_agents", "structured", "history"])
def test_an_example_says_why_it_has_no_answer(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("AICLI_MODELS__RETRIES", "0")
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    out, err = capsys.readouterr()
    assert "cannot reach http://127.0.0.1:9 (" in out and err == ""
