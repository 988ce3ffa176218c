"""`plan`: its verbs, and tasks that begin with the same words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from aicli.commands._planning import _meant, save
from tests.e2e.process import aicli as program
from tests.support.model_server import ModelServer

TASKS = ["list all endpoints", "show me the routes", "show nothing-like-it here", "exit the loop early", "listing"]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_may_begin_with_a_verb(isolated: Path, task: str) -> None:
    save(isolated, "# Plan: tidy up\n")
    assert _meant(isolated, task.split()) == ("enter", task.split())


def test_verbs_are_taken_where_the_words_fit(isolated: Path) -> None:
    save(isolated, "# Plan: tidy up\n")
    for words in (["list"], ["show"], ["show", "tidy"], ["show", "missing"], ["exit"], ["exit", "tidy-up"]):
        assert _meant(isolated, words) == (words[0], words[1:])
    assert _meant(isolated, ["enter", "list", "all"]) == ("enter", ["list", "all"]) and _meant(isolated, []) == (
        "enter",
        [],
    )


def test_an_unquoted_task_reaches_the_model(isolated: Path) -> None:
    with ModelServer(["# Plan: list them\n\n1. look"]) as server:
        ran = program("plan", "list", "all", "endpoints", server=server)
        assert "list all endpoints" in str(server.bodies[0]["messages"])
    assert ran.code == 0 and "Plan: list them" in ran.text, ran


def test_list_and_show_need_no_model(aicli: Callable, isolated: Path) -> None:
    assert "no plans here yet" in aicli("plan", "list").err
    file = save(isolated, "# Plan: tidy up\n")
    assert (
        aicli("plan", "list").out == f"{file.stem}  tidy up\n"
        and aicli("plan", "show", "tidy").out == "# Plan: tidy up\n"
    )
    assert aicli("plan", "show", "zz").code == 2
