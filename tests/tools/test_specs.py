"""What the tools cost a model, and that each of them is complete."""

from __future__ import annotations

import json

import pytest

from aicli.agents.delegate import delegate_tool
from aicli.agents.registry import AgentRegistry
from aicli.tools.base import Tool
from aicli.tools.registry import ToolRegistry
from tests.support.readme import README


def every_tool() -> list[Tool]:
    registry = ToolRegistry()
    registry.load_builtin()
    assert registry.problems == []

    def make(name: str) -> None:
        raise AssertionError(name)

    return [*registry, delegate_tool(make, [s.name for s in AgentRegistry()])]  # type: ignore[arg-type]


def size(compact: bool) -> int:
    offered = [t for t in every_tool() if not (compact and t.full_only)]
    return sum(len(json.dumps(t.spec(compact).model_dump(exclude={"strict", "examples"}))) for t in offered)


def test_all_specs_fit_their_budget() -> None:
    assert size(compact=False) <= 5_000
    assert size(compact=True) <= 2_500


def test_descriptions_are_short() -> None:
    words = [len(t.description.split()) for t in every_tool()]
    assert sum(words) / len(words) < 40 and max(words) < 60


@pytest.mark.parametrize("tool", every_tool(), ids=lambda t: t.name)
def test_each_tool_has_all_that_people_and_models_need(tool: Tool) -> None:
    assert tool.title and tool.description and tool.compact
    assert f"`{tool.name}`" in README
    properties = tool.spec().parameters["properties"]
    assert all({"type", "anyOf", "enum"} & p.keys() for p in properties.values())


def test_no_two_tools_answer_to_one_name() -> None:
    names = [n for t in every_tool() for n in (t.name, *t.aliases)]
    assert sorted(names) == sorted(set(names))


def test_the_names_that_models_use_are_known() -> None:
    registry = ToolRegistry(every_tool())
    for alias, name in {
        "bash": "shell",
        "run_shell_command": "shell",
        "list_directory": "ls",
        "edit_file": "edit",
        "str_replace": "edit",
        "search_file_content": "grep",
        "save_memory": "memory",
    }.items():
        found = registry.get(alias)
        assert found is not None and found.name == name
