"""What a model may write for an argument, and what is refused in words that say what to write instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aicli.content.parts import FunctionCallPart
from aicli.content.value import Misfit
from aicli.settings import Settings
from aicli.tools.base import Tool, tool
from aicli.tools.builtin.shell import shell
from aicli.tools.builtin.write_file import write_file
from aicli.tools.validate import BadArguments, prepared


@tool(title="numbers")
def numbers(whole: int = 0, part: float | None = None, many: list[int] | None = None, both: bool | int = 0) -> str:
    """Takes numbers."""
    return f"{whole} {part} {many} {both}"


def refusal(of: Tool, **args: Any) -> str:
    with pytest.raises(BadArguments) as caught:
        prepared(of, FunctionCallPart(id="c", name=of.name, args=args))
    return str(caught.value)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"whole": True}, "whole should be a whole number"),
        ({"part": False}, "part should be a number"),
        ({"many": [1, True]}, "many.1 should be a whole number"),
    ],
)
def test_true_is_not_one(args: dict[str, Any], says: str) -> None:
    assert says in refusal(numbers, **args)
    assert prepared(numbers, FunctionCallPart(id="c", name="numbers", args={"both": True})).args == {"both": True}
    assert "timeout should be a number" in refusal(shell, command="ls", timeout=True)


@pytest.mark.parametrize("key", ["shell.timeout", "limits.max_turns", "shell.output_limit", "models.temperature"])
def test_nor_is_it_in_settings(key: str) -> None:
    section, _, name = key.partition(".")
    with pytest.raises(Misfit, match=f"^{key} should be a (whole )?number$") as caught:
        Settings.from_data({section: {name: True}})
    assert caught.value.given is True


@pytest.mark.parametrize("half", ["\ud800", "\udcff"])
def test_half_a_character_is_refused_by_every_tool_with_its_place(half: str, isolated: Path) -> None:
    shown = json.dumps(half).strip('"')
    assert f"shell: command holds {shown}" in refusal(shell, command=f"echo {half}")
    assert f"shell: command holds {shown}" in refusal(shell, command="echo", env={"A": half})
    assert f"write_file: content holds {shown}" in refusal(write_file, path="a", content=f"中{half}")
    assert f"holds {shown}" in refusal(numbers, **{f"x{half}": 1})
    whole = FunctionCallPart(id="c", name="shell", args={"command": "echo 中文 \U0001f600"})
    assert prepared(shell, whole).args == {"command": "echo 中文 \U0001f600"}
