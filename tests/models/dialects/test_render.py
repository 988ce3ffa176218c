"""What goes back to a model in its own dialect is what `parse` reads, and the prompt names every tool."""

from __future__ import annotations

from typing import Any

import pytest

from aicli.content.request import ToolSpec
from aicli.models.dialects import names, parse, render_call, render_result, tools_prompt
from tests.models.dialects.cases import TOOLS

ARGS: list[tuple[str, dict[str, Any]]] = [
    ("get_weather", {"city": '北京 "x" </b>', "days": 2}),
    ("get_time", {}),
    ("write_file", {"path": "a.py", "content": "def f():\n    return 1\n\n"}),
    ("calc", {"x": 1.5, "flag": True, "items": [1, "a"], "config": {"k": None}, "text": "42"}),
]


@pytest.mark.parametrize("dialect", names())
@pytest.mark.parametrize("name, args", ARGS, ids=[name for name, _ in ARGS])
def test_a_rendered_call_is_read_back(dialect: str, name: str, args: dict[str, Any]) -> None:
    parsed = parse(f"So.\n{render_call(name, args, dialect)}", TOOLS, dialect)
    assert [(c.name, c.args) for c in parsed.calls] == [(name, args)]
    assert parsed.content == "So."


@pytest.mark.parametrize("dialect", names())
def test_a_result_names_its_text_and_error(dialect: str) -> None:
    assert "12:00" in render_result("get_time", "12:00", dialect)
    assert "error" in render_result("get_time", "no clock", dialect, is_error=True)


def test_the_prompt_describes_every_tool_and_its_own_example_is_no_call() -> None:
    tools = (*TOOLS, ToolSpec(name="grep", description="Finds text.", examples=({"pattern": "x"},)))
    prompt = tools_prompt(tools)
    assert all(f"### {t.name}" in prompt for t in tools) and "Finds text." in prompt and '"pattern": "x"' in prompt
    assert "$tools" not in prompt and tools_prompt(()) == ""
