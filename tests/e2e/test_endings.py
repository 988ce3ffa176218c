"""Every way a run can end: the right subtype, exit code, last line and stderr line, in each format, and no hang."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import Ran, aicli
from tests.support.counts import soaking
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, cut, error, finish, text, usage, wait

FORMS = ("stream-json", "json", "text")
LOOK = [call("ls", path=".")]


@dataclass(frozen=True)
class Ending:
    """`replies` of the server, more `args`, what must come of it; `requests` None: any number."""

    subtype: str
    code: int
    replies: Sequence[Any] = ()
    args: tuple[str, ...] = ()
    says: str = ""
    requests: int | None = None
    models: tuple[str, ...] | None = None
    env: dict[str, str] = field(default_factory=dict)
    task: tuple[str, ...] = ("do it",)
    agent: str = "general"
    before: Callable[[Path], object] = lambda work: None


def broken_config(work: Path) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "aicli" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[limits]\nmax_turn = 3\n")


def failing_check(work: Path) -> None:
    (work / "Makefile").write_text("test:\n\tfalse\n")


NOTHING_SET = {"AICLI_BASE_URL": "", "AICLI_MODELS__FAST": ""}
WITH_ANSWER = ("error_permission", "error_during_execution")
PRICED = ("--model", "openai:gpt-5-mini")
ENDINGS = {
    "success": Ending("success", 0, ["the answer"], requests=1),
    "success after calls": Ending("success", 0, [LOOK, "the answer"], requests=2),
    "wrong key": Ending("error_auth", 41, [[error(401, "bad key")]], says="bad key", requests=1),
    "forbidden": Ending("error_auth", 41, [[error(403, "no access")]], requests=1),
    "no key": Ending(
        "error_auth", 41, args=("-m", "deepseek:deepseek-chat"), says="DEEPSEEK_API_KEY", requests=0, env=NOTHING_SET
    ),
    "no such model": Ending("error_model", 1, models=("other",), says="test-model", requests=0),
    "bad request": Ending("error_model", 1, [[error(400, "unknown field")]], says="unknown field"),
    "429 until give-up": Ending("error_network", 75, [[error(429, "slow down", retry_after=0)]] * 2, requests=2),
    "500 until give-up": Ending("error_network", 75, [[error(500, "oops", retry_after=0)]] * 2, says="oops"),
    "cut stream": Ending("error_network", 75, [[text("Hello wor"), cut()]] * 2),
    "nobody there": Ending("error_network", 75, args=("--base-url", "http://127.0.0.1:9/v1"), requests=0),
    "empty reply": Ending("error_model", 1, [[]] * 4),
    "filtered": Ending("error_model", 1, [[text("I"), finish("content_filter")]] * 4),
    "too long": Ending("error_context", 1, [[error(400, "maximum context length is 4096 tokens")]] * 4),
    "max turns": Ending("error_max_turns", 53, [LOOK] * 2, ("--max-turns", "1"), says="--max-turns", requests=1),
    "max tokens": Ending("error_max_tokens", 53, [[*LOOK, usage(90, 20)]] * 2, ("--max-tokens", "100"), requests=1),
    "max budget": Ending(
        "error_max_budget", 53, [[*LOOK, usage(9_000_000, 1)]] * 2, (*PRICED, "--max-budget-usd", "0.5"), requests=1
    ),
    "max tool calls": Ending(
        "error_max_tool_calls", 53, [LOOK, LOOK, "no"], ("--max-tool-calls", "1"), says="--max-tool-calls"
    ),
    "max wall time": Ending("error_max_wall_time", 53, [[wait(30)]], ("--max-wall-time", "1s"), says="--max-wall-time"),
    "loop": Ending("error_loop", 53, [LOOK] * 20, says="repeats"),
    "denied": Ending("success", 0, [[call("write_file", path="a", content="x")], "I could not"], requests=2),
    "denied, strict": Ending(
        "error_permission", 54, [[call("write_file", path="a", content="x")], "I could not"], ("--strict",)
    ),
    "denied by a rule": Ending(
        "error_permission",
        54,
        [[call("ls", path="."), call("write_file", path="a", content="x")], "I could not"],
        ("--strict", "--yolo", "--disallowed-tools", "write_file"),
    ),
    "the project's check fails": Ending(
        "error_during_execution",
        1,
        [[call("write_file", path="a.py", content="x = 1\n")], *["I could not"] * 9],
        ("--yolo",),
        says="check",
        agent="code",
        before=failing_check,
    ),
    "refused by the model": Ending("error_model", 1, [[text("I"), finish("refusal")]] * 4),
    "schema": Ending("error_schema", 1, ["no JSON"] * 6, ("--json-schema", '{"type": "object"}')),
    "bad schema": Ending("error_input", 42, args=("--json-schema", '{"type": "objekt"}'), requests=0),
    "schema file missing": Ending("error_input", 42, args=("--output-schema", "none.json"), requests=0),
    "unwritable output": Ending("error_input", 42, args=("-o", "/nonexistent/x"), says="/nonexistent/x", requests=0),
    "broken config": Ending("error_config", 52, says="config.toml:2", requests=0, before=broken_config),
    "model not pulled": Ending("error_config", 52, args=("-m", "embedded:qwen2.5-coder-1.5b"), requests=0),
    "unknown agent": Ending("error_usage", 2, agent="generel", says="Did you mean general?", requests=0),
    "empty task": Ending("error_usage", 2, task=("",), says="no task", requests=0),
    "no such folder": Ending("error_usage", 2, args=("-C", "/nonexistent"), says="/nonexistent", requests=0),
    "wrong flag value": Ending(
        "error_usage", 2, args=("--max-turns", "0"), says="--max-turns should be at least 1", requests=0
    ),
    "unknown mode": Ending("error_usage", 2, args=("--permission-mode", "free"), says="bypass", requests=0),
    "bad model name": Ending("error_input", 42, args=("-m", "nope:x"), says="nope", env=NOTHING_SET),
    "no such session": Ending("error_input", 42, args=("--resume", "zz"), says="zz", requests=0),
}
CASES = [
    pytest.param(name, form, soaking() or n % 4 == m == n % 3, id=f"{name}-{form}")
    for n, name in enumerate(ENDINGS)
    for m, form in enumerate(FORMS)
]


@pytest.mark.parametrize(("name", "form", "own_process"), CASES)
def test_ending(name: str, form: str, own_process: bool, isolated: Path, here: Callable[..., Ran]) -> None:
    """Some in a process of their own; with the long counts, all."""
    ending = ENDINGS[name]
    aicli_ = aicli if own_process else here
    ending.before(isolated)
    with ModelServer(ending.replies, models=ending.models) as server:
        ran = aicli_(
            *("agent", "run", ending.agent, *ending.task, "--output-format", form, *ending.args),
            server=server,
            env=ending.env,
        )
    assert server.violations == [] or ending.models, server.violations
    assert ran.code == ending.code, ran
    if ending.requests is not None:
        assert len(server.requests) == ending.requests
    assert "Traceback" not in ran.err and "\x1b" not in ran.err
    complaints = [line for line in ran.err.splitlines() if line.startswith("aicli: ")]
    assert len(complaints) == (ending.code != 0), ran.err
    assert ending.says in ran.err, ran.err
    if form == "text":
        check_text(ran, ending)
    else:
        check_object(ran, ending, form)


def check_text(ran: Ran, ending: Ending) -> None:
    """Only a whole final message, or nothing."""
    last = ending.replies[-1] if ending.replies else ""
    assert ran.text in ("", f"{last}\n"), ran
    assert (ran.text != "") == (ending.code == 0 or ending.subtype in WITH_ANSWER), ran


def check_object(ran: Ran, ending: Ending, form: str) -> None:
    result = ran.result(form)
    assert result["subtype"] == ending.subtype
    assert result["session_id"] and result["schema_version"] == 1
    if ending.code:
        assert result["error"]["message"] and ending.says in result["error"]["message"] + result["error"]["hint"]
    if ending.replies and ending.replies[-1] == "I could not" and ending.agent == "general":
        assert [d["tool_name"] for d in result["permission_denials"]] == ["write_file"]


def test_a_command_line_that_cannot_be_parsed_is_one_line() -> None:
    ran = aicli("agent", "run", "general", "x", "--no-such-flag")
    assert (ran.code, ran.out) == (2, b"") and "--no-such-flag" in ran.err and ran.err.count("\n") == 1


def test_a_format_that_does_not_exist() -> None:
    ran = aicli("prompt", "x", "--output-format", "yaml")
    assert (ran.code, ran.out) == (2, b"") and "stream-json" in ran.err


@pytest.mark.skipif(os.name == "nt", reason="a folder in use can't be removed there")
def test_a_current_folder_that_is_gone(
    isolated: Path, here: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = isolated / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with ModelServer(["x"]) as server:
        ran = here("prompt", "x", "--output-format", "stream-json", server=server)
        monkeypatch.chdir(isolated)
        assert ran.code == 2 and ran.result("stream-json")["subtype"] == "error_usage", ran
        assert here("agent", "list").code == 0


def test_a_command_line_that_cannot_be_read_has_its_result_too(here: Callable[..., Ran]) -> None:
    for form in ("json", "stream-json"):
        for words in (("prompt", "hi", "--bogus"), ("agent", "run", "--max-turns", "many", "general", "x")):
            ran = here(*words, "--output-format", form)
            result = ran.result(form)
            assert ran.code == 2 and result["subtype"] == "error_usage" and "--help" in result["error"]["hint"], ran
            assert ran.err.startswith("aicli: ") and ran.err.count("\n") == 1, ran
    assert here("prompt", "--json", "--bogus").result("json")["subtype"] == "error_usage"
    for words in (("prompt", "hi", "--bogus"), ("sessions", "list", "--json", "--bogus")):
        ran = here(*words)
        assert (ran.code, ran.out) == (2, b"")


def test_what_is_unreachable_is_explained_by_where_it_is(here: Callable[..., Ran]) -> None:
    env = {"AICLI_BASE_URL": "", "OPENAI_API_KEY": "none", "AICLI_MODELS__RETRIES": "0"}
    for url, says in (("https://models.invalid/v1", "HTTPS_PROXY"), ("http://127.0.0.1:9/v1", "Is the server running")):
        ran = here("prompt", "hi", "-m", "openai:q", "--base-url", url, env=env)
        assert ran.code == 75 and says in ran.err, ran
