"""The tasks and ask_user tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from aicli.content.kinds import ToolKind
from aicli.content.results import Task, TasksDisplay
from aicli.tools.builtin.ask_user import ask_user
from aicli.tools.builtin.tasks import tasks
from aicli.tools.host import Approval, ApprovalRequest, HeadlessHost, Question
from aicli.tools.state import RunState
from tests.tools.calling import call


def test_the_list_is_replaced_and_shown() -> None:
    state = RunState()
    wanted = [{"text": "读文件", "status": "completed"}, {"text": "Write", "status": "in_progress"}, {"text": "Test"}]
    result = call(tasks, state, tasks=wanted)
    assert result.text == "Noted: 1 completed, 2 to do." and tasks.kind is ToolKind.PLAN
    assert state.tasks == (
        Task(text="读文件", status="completed"),
        Task(text="Write", status="in_progress"),
        Task(text="Test"),
    )
    assert isinstance(result.display, TasksDisplay) and result.display.tasks == state.tasks
    call(tasks, state, tasks=[])
    assert state.tasks == ()


@pytest.mark.parametrize(
    "args",
    [
        {
            "todos": [
                {"content": "a", "status": "done", "activeForm": "Doing a", "id": "1"},
                {"content": "b", "status": "todo"},
            ]
        },
        {"plan": [{"step": "a", "status": "Completed"}, {"step": "b", "status": "pending"}]},
        {"tasks": [{"title": "a", "state": "finished"}, "b"]},
    ],
)
def test_other_agents_spellings(args: dict[str, Any]) -> None:
    state = RunState()
    result = call(tasks, state, **args)
    assert not result.is_error, result.text
    assert state.tasks == (Task(text="a", status="completed"), Task(text="b"))


def test_bad_lists_are_errors() -> None:
    state = RunState(tasks=(Task(text="kept"),))
    for bad in ([{"text": " "}], [{"text": "a", "status": "maybe"}], [3], "text", [{"text": "x"}] * 101):
        assert call(tasks, state, tasks=bad).is_error
    assert state.tasks == (Task(text="kept"),)


@dataclass
class Person:
    answer: str | None
    asked: list[Question] = field(default_factory=list)
    present: bool = True

    async def approve(self, request: ApprovalRequest) -> Approval:
        return Approval("deny")

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        return self.answer


def test_the_answer_comes_back() -> None:
    person = Person("第二个")
    result = call(ask_user, RunState(), host=person, question="Which one?", options=[{"label": "first"}, "second"])
    assert result.text == "The person answers: 第二个" and result.data["answered"] is True
    assert person.asked == [Question("Which one?", ("first", "second"))]
    assert ask_user.kind is ToolKind.COMMUNICATE


def test_no_answer_and_nobody() -> None:
    assert "no answer" in call(ask_user, RunState(), host=Person(None), question="Which?").text
    host = HeadlessHost()
    result = call(ask_user, RunState(), host=host, question="Which?")
    assert not result.is_error and "Nobody is there" in result.text and len(host.asked) == 1
    assert call(ask_user, RunState(), host=Person("x"), question=" ").is_error
