from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from aicli.errors import AicliError
from aicli.testing import ScriptedModel, call_tool


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
