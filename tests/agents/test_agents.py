"""Agent files, their registry, the words that go to the model, sub-agents and the project's own check."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from aicli.agents.agent import Agent
from aicli.agents.delegate import delegate_tool
from aicli.agents.limits import Limits
from aicli.agents.prompt import context_files, snapshot, system_text
from aicli.agents.registry import AgentRegistry
from aicli.agents.spec import AgentSpec, parse_spec
from aicli.agents.verify import find_check, run_check
from aicli.content.events import AgentEvent, Delegated, RunFinished
from aicli.content.kinds import ToolKind
from aicli.content.messages import Message
from aicli.content.results import ToolResult
from aicli.content.run_result import RunResult
from aicli.errors import ConfigError, UsageError
from aicli.models.scripted import ScriptedModel, call
from aicli.tools.base import tool
from aicli.tools.executor import LocalExecutor


def test_the_four_agents_differ_by_words_and_hands() -> None:
    registry = AgentRegistry()
    assert [s.name for s in registry] == ["code", "explore", "general", "plan"]
    assert len({s.instructions for s in registry}) == 4 and all(s.description for s in registry)
    for name in ("explore", "plan"):
        assert registry.get(name).mode == "plan"
    assert registry.get("plan").model == "thinking" and registry.get("code").verify > 0
    assert registry.get("General-Purpose").name == "general"
    with pytest.raises(UsageError) as e:
        registry.get("exlpore")
    assert "explore" in e.value.line


def test_a_folder_of_files_adds_agents_and_a_broken_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "审查.md").write_text(
        '+++\ndescription = "审查代码"\ntools = ["kind:read"]\n+++\n你审查代码。', "utf-8"
    )
    (tmp_path / "bad.md").write_text("+++\ntools = 3\n+++\n", "utf-8")
    registry = AgentRegistry([tmp_path])
    assert registry.get("审查").instructions == "你审查代码。"
    assert any("bad.md" in p and "tools" in p for p in registry.problems)


@pytest.mark.parametrize("text", ["+++\nname = \n+++\nx", "+++\nx = 1\n", "+++\nmax_turns = 0\n+++\n"])
def test_a_wrong_agent_file_says_what_is_wrong(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_spec("x", text, "x.md")


def test_context_files_come_from_the_root_down_and_stay_in_their_budget(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "AGENTS.md").write_text("root rules " * 2_000)
    (tmp_path / "CLAUDE.md").write_text("not read beside AGENTS.md")
    (tmp_path / "a" / "GEMINI.md").write_text("middle rules")
    found = context_files(tmp_path, deep)
    assert [Path(f.path).as_posix() for f in found] == ["AGENTS.md", "a/GEMINI.md"]
    text = system_text(AgentSpec(name="x", instructions="Do {this}."), cwd="/w", files=found, files_budget=500)
    assert "Do {this}." in text and "cut here" in text and len(text) < 5_000


def test_the_snapshot_is_short_and_harmless(tmp_path: Path) -> None:
    for n in range(300):
        (tmp_path / f"f{n:03}").touch()
    assert "and more" in snapshot(tmp_path) and len(snapshot(tmp_path)) < 2_000
    assert snapshot(tmp_path / "missing") == ""


def test_sub_agents_run_in_parallel_and_spend_of_one_budget() -> None:
    together: list[str] = []
    both = asyncio.Event()

    @tool(kind=ToolKind.READ)
    async def meet(name: str) -> str:
        """Waits for the other."""
        together.append(name)
        if len(together) == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 5)
        return "met"

    scripts = iter([["a"], ["b"]])

    def make(kind: str) -> Agent:
        (name,) = next(scripts)
        model = ScriptedModel([[call("meet", name=name)], f"{kind} {name} done"])
        return Agent(name=kind, model=model, tools=[meet], budget=parent.spending.nested())

    events: list[AgentEvent] = []
    reply = [call("agent", type="explore", task="one"), call("agent", type="explore", task="two")]
    parent_model = ScriptedModel([reply, "both done"])
    parent = Agent(model=parent_model, tools=[delegate_tool(make, ["explore"])], sinks=[events.append])
    outcome = parent.run_sync("go")
    assert outcome.text == "both done" and outcome.tool_calls == 2
    assert sorted(r.text for r in parent_model.requests[1].messages[-1].responses) == [
        "explore a done",
        "explore b done",
    ]
    assert sum(isinstance(e, Delegated) and isinstance(e.event, RunFinished) for e in events) == 2
    assert outcome.usage.input_tokens == 10 * 6


def test_a_sub_agent_ends_at_its_parents_cap() -> None:
    def make(kind: str) -> Agent:
        model = ScriptedModel([[call("nothing", n=n)] for n in range(50)])
        return Agent(name=kind, model=model, budget=parent.spending.nested())

    model = ScriptedModel([[call("agent", type="x", task="t")], "never said"])
    parent = Agent(model=model, tools=[delegate_tool(make, ["x"])], limits=Limits(max_tokens=100))
    assert parent.run_sync("go").reason == "error_max_tokens"


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"Makefile": "all:\n\ttrue\ntest: all\n\ttrue\n"}, "make test"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python3 -m pytest -q"),
        ({"test_a.py": "def test_a(): pass"}, "python3 -m pytest -q"),
        ({"package.json": '{"scripts": {"test": "vitest"}}', "yarn.lock": ""}, "yarn test"),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\""}}'}, ""),
        ({"Cargo.toml": ""}, "cargo test --quiet"),
        ({"go.mod": ""}, "go test ./..."),
        ({"a.sln": ""}, "dotnet test"),
        ({"package.json": "{broken"}, ""),
        ({}, ""),
    ],
)
def test_the_projects_own_check_is_found(tmp_path: Path, files: dict[str, str], command: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert find_check(tmp_path) == command


def checked(text: str, *, is_error: bool, **data: Any) -> Any:
    @tool(kind=ToolKind.EXECUTE)
    def shell(command: str, timeout: float = 1) -> ToolResult:
        """Runs."""
        return ToolResult.of(text, is_error=is_error, **data)

    return asyncio.run(run_check("pytest -q", LocalExecutor([shell]), lambda e: None))


def test_a_check_that_could_not_run_is_not_a_failed_one() -> None:
    assert checked("1 passed", is_error=False).passed is True
    assert checked("1 failed\nexit code 1", is_error=True).passed is False
    assert checked("No module named pytest\nexit code 1", is_error=True).passed is None
    assert checked("exit code 127", is_error=True).line.startswith("not checked")


def test_rewind_and_clear_cut_the_history() -> None:
    agent = Agent(model=ScriptedModel(["a", "b"]))
    agent.run_sync("one")
    agent.run_sync("two")
    agent.rewind(2)
    assert [m.text for m in agent.history] == ["one", "a"]
    agent.clear()
    assert agent.history == []
    agent.steer(Message.user("later"))
    assert [m.text for m in agent.unqueue()] == ["later"] and agent.unqueue() == []


def test_a_small_window_is_told_short_instructions_whole_and_long_ones_cut() -> None:
    plan = AgentRegistry().get("plan")
    assert "in this form:\n\n# Plan: <" in system_text(plan, cwd="/w", profile="compact")
    long = system_text(AgentSpec(name="x", instructions="One rule.\n" * 500), cwd="/w", profile="compact")
    assert long.count("One rule.") == 4


def test_a_run_that_is_cancelled_before_its_first_step_says_so() -> None:
    @tool
    async def wait() -> str:
        await asyncio.sleep(60)
        return ""

    async def at_once() -> RunResult:
        agent = Agent("x", instructions="", model=ScriptedModel([[call("wait")], "never said"]), tools=[wait])
        run = asyncio.ensure_future(agent.run("go"))
        asyncio.get_running_loop().call_soon(agent.cancel, 143)
        return await run

    result = asyncio.run(at_once())
    assert (result.status, result.reason, result.exit_code) == ("cancelled", "cancelled", 143)
