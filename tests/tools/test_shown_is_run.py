"""What is judged, shown, told and run is one and the same, however the model spelled the call."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aicli.content.events import AgentEvent, Approved, Denied, ToolFinished, ToolStarted
from aicli.content.kinds import ToolKind, Verdict
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, JsonObject
from aicli.content.results import DiffDisplay
from aicli.safety.policy import Policy
from aicli.safety.rules import parse_rules
from aicli.tools.base import Tool
from aicli.tools.builtin.edit import edit
from aicli.tools.builtin.shell import shell
from aicli.tools.builtin.write_file import write_file
from aicli.tools.executor import LocalExecutor
from aicli.tools.host import Approval, ApprovalRequest, Question
from aicli.tools.state import RunState
from tests.tools.calling import state_in
from tests.tools.test_specs import every_tool


class AsksAlways:
    """A policy that wants a yes for everything, and keeps what it was asked to judge."""

    def __init__(self) -> None:
        self.untrusted = False
        self.judged: list[JsonObject] = []

    def verdict(self, name: str, kind: ToolKind, args: JsonObject) -> Verdict:
        self.judged.append(args)
        return Verdict("deny" if "forbidden" in str(args.values()) else "ask", "test", "")

    def suggest(self, name: str, kind: ToolKind, args: JsonObject) -> str:
        return ""

    def allow_for_session(self, rule: str) -> None: ...

    def covers(self, rule: str, name: str, kind: ToolKind, args: JsonObject) -> bool:
        return False


class Person:
    """Says yes, or what `answer` makes of the request."""

    def __init__(self, answer: Callable[[ApprovalRequest], Approval] = lambda r: Approval("once")) -> None:
        self.requests: list[ApprovalRequest] = []
        self.answer = answer
        self.present = True

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.requests.append(request)
        return self.answer(request)

    async def ask(self, question: Question) -> str | None:
        return None


def run(
    tool: Tool, args: JsonObject, host: Person, state: RunState, policy: Any = None, raw: str = ""
) -> tuple[FunctionResponsePart, list[AgentEvent]]:
    events: list[AgentEvent] = []
    executor = LocalExecutor([tool], state, policy=policy or AsksAlways(), host=host)
    call = FunctionCallPart(id="c", name=tool.name, args=args, raw=raw)
    return asyncio.run(executor.execute_all([call], events.append))[0], events


VALUES: dict[str, Any] = {"string": "a b", "integer": 3, "number": 2.5, "boolean": True, "array": ["x"], "object": {}}


def value_for(tool: Tool, name: str, of: JsonObject) -> Any:
    """Something that the parameter takes."""
    if (tool.name, name) == ("edit", "edits"):
        return [{"old_string": "x", "new_string": "y"}]
    if (tool.name, name) == ("tasks", "tasks"):
        return [{"text": "x", "status": "pending"}]
    if "enum" in of:
        return of["enum"][-1]
    kinds = [of.get("type"), *(o.get("type") for o in of.get("anyOf", ()))]
    return next(VALUES[kind] for kind in kinds if kind in VALUES)


SPECIAL: dict[str, list[JsonObject]] = {
    "shell": [
        {"command": "bash", "args": ["-c", "rm -rf victim; echo PWNED"]},
        {"command": "rm", "args": ["-rf", "victim"]},
        {"command": ["bash", "-lc", "echo x"], "background": "true"},
        {"cmd": ["git", "status", "a b"], "workdir": "sub"},
        {"command": "git status", "env": {"PATH": "/tmp/evil:/bin", "A": 1}, "timeout_seconds": "5"},
        {"command": "x", "env": {"A B": "1"}},
        {"command": "x", "args": "-rf victim"},
        {"command": "x", "cmd": "y"},
        {"command": "x", "run_in_background": True, "allow_network": "true", "description": "harmless"},
        {"arguments": {"command": "x", "cwd": "sub"}},
    ],
    "write_file": [
        {"command": "create", "path": "a.py", "file_text": "evil\n"},
        {"command": "create", "path": "a.py", "content": "evil\n"},
        {"command": "delete", "path": "a.py", "content": "evil\n"},
        {"input": '{"file_path": "a.py", "content": "evil"}'},
    ],
    "edit": [
        {"command": "str_replace", "path": "a.py", "old_str": "a", "new_str": "b"},
        {"command": "create", "path": "a.py", "file_text": "b"},
        {"path": "a.py", "edits": '[{"oldText": "a", "newText": "b"}]', "expected_replacements": 1},
        {"path": "a.py", "old_string": "a", "new_string": "b", "replace_count": "all"},
    ],
    "read_file": [{"command": "view", "path": "a.py", "view_range": [2, 5]}, {"path": "a", "start_line": 4}],
    "grep": [{"pattern": "x", "case_sensitive": False}, {"pattern": "x", "output_mode": "files_with_matches"}],
    "memory": [{"content": "x"}, {"query": "x"}, {"command": "save", "fact": "x"}],
    "tasks": [{"todos": ["a", {"content": "b", "state": "in-progress"}]}],
    "read_many_files": [{"paths": "*.py"}, {"files": ["a", "b"]}],
    "ask_user": [{"question": "q", "options": [{"label": "a"}, {"label": "b"}]}],
}


def spellings(tool: Tool) -> Iterator[JsonObject]:
    properties = tool.schema["properties"]
    full = {name: value_for(tool, name, of) for name, of in properties.items()}
    least = {name: full[name] for name in tool.schema.get("required", ())}
    yield from ({}, full, least, {**full, "unheard_of": 1}, {**least, "unheard_of": "x"})
    for wrapper in ("arguments", "input", "parameters", "params"):
        yield from ({wrapper: full}, {wrapper: json.dumps(least)})
    for change in (str.upper, str.title, lambda n: n.replace("_", "-"), lambda n: n.title().replace("_", "")):
        yield {change(name): value for name, value in full.items()}
    yield {name: json.dumps(v) if isinstance(v, list | dict | bool | int) else v for name, v in full.items()}
    yield {name: None if name not in least else value for name, value in full.items()}
    for spelling, name in tool.param_aliases.items():
        if name in full:
            yield {**{k: v for k, v in least.items() if k != name}, spelling: full[name]}
            yield {**least, name: full[name], spelling: full[name]}
    yield from SPECIAL.get(tool.name, ())


@pytest.mark.parametrize("tool", every_tool(), ids=lambda t: t.name)
def test_the_function_gets_what_was_shown(tool: Tool, tmp_path: Path) -> None:
    """The law: the request's arguments, taken as they stand, are what the function receives; no more, no less."""
    (tmp_path / "sub").mkdir()
    ran = 0
    for args in spellings(tool):
        received: list[dict[str, Any]] = []

        def record(**given: Any) -> str:
            received.append(given)  # noqa: B023
            return "ok"

        policy, person, state = AsksAlways(), Person(), state_in(tmp_path)
        _, events = run(dataclasses.replace(tool, run=record), args, person, state, policy)
        assert len(received) == len(person.requests) <= 1, (args, person.requests)
        if not received:
            continue
        ran += 1
        shown = person.requests[0].call
        as_shown = tool.params.model_validate(shown.args)
        assert received[0] == {name: getattr(as_shown, name) for name in type(as_shown).model_fields}, args
        assert shown.raw == "" and shown.name == tool.name and shown.args.keys() <= tool.schema["properties"].keys()
        assert all(judged == shown.args for judged in policy.judged), (args, policy.judged)
        started = next(e for e in events if isinstance(e, ToolStarted))
        assert started.call.args == shown.args and started.title == person.requests[0].title
    assert ran >= 4, events


@pytest.mark.parametrize("tool", [shell, write_file, edit], ids=lambda t: t.name)
def test_what_the_person_changes_is_judged_and_run_as_it_stands(tool: Tool, tmp_path: Path) -> None:
    for args in spellings(tool):
        for text, denied in (("other", False), ("forbidden", True), ('{"command": "x"}', False)):
            received: list[dict[str, Any]] = []

            def record(**given: Any) -> str:
                received.append(given)  # noqa: B023
                return "ok"

            def change(request: ApprovalRequest, text: str = text) -> Approval:
                name = max((k for k, v in request.call.args.items() if isinstance(v, str)), key=str)
                return Approval("once", args={**request.call.args, name: text})

            policy, person = AsksAlways(), Person(change)
            _, events = run(dataclasses.replace(tool, run=record), args, person, state_in(tmp_path), policy)
            if not person.requests:
                continue
            wanted = change(person.requests[0]).args
            assert policy.judged[-1] == wanted and bool(received) is not denied
            told = [e.args for e in events if isinstance(e, Denied if denied else Approved)]
            assert told == [wanted]
            if received:
                as_changed = tool.params.model_validate(wanted)
                assert received[0] == {name: getattr(as_changed, name) for name in type(as_changed).model_fields}


def test_the_model_is_told_what_ran_instead(tmp_path: Path) -> None:
    person = Person(lambda request: Approval("once", args={**request.call.args, "command": "echo 好; exit 3"}))
    answer, _ = run(shell, {"command": "echo bad"}, person, state_in(tmp_path))
    assert answer.text.startswith('The person changed this call before it ran: {"command": "echo 好; exit 3"}\n')
    assert "exit code 3" in answer.text and answer.is_error
    answer, _ = run(shell, {"command": "echo 好"}, Person(), state_in(tmp_path))
    assert answer.text == "好\nexit code 0"


def test_a_change_that_does_not_fit_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    for more in ({"args": ["-rf", "victim"]}, {"cmd": "rm -rf victim"}, {"cwd": ["victim"]}):
        person = Person(lambda request, more=more: Approval("once", args={**request.call.args, **more}))  # type: ignore[misc]
        answer, events = run(shell, {"command": "rm -rf victim"}, person, state_in(tmp_path))
        assert answer.is_error and not [e for e in events if isinstance(e, Approved)]
    assert (tmp_path / "victim").exists()


def test_a_host_that_writes_into_the_request_changes_nothing(tmp_path: Path) -> None:
    def meddle(request: ApprovalRequest) -> Approval:
        request.call.args["command"] = "rm -rf victim"
        return Approval("once")

    (tmp_path / "victim").mkdir()
    answer, _ = run(shell, {"command": "echo said"}, Person(meddle), state_in(tmp_path))
    assert "said" in answer.text and (tmp_path / "victim").exists()


def test_arguments_beside_a_command_are_part_of_what_is_asked(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "junk").write_text("x")
    no = Person(lambda request: Approval("deny"))
    _, events = run(shell, {"command": "bash", "args": ["-c", "rm -rf victim"]}, no, state_in(tmp_path))
    (request,) = no.requests
    assert request.call.args == {"command": "bash -c 'rm -rf victim'"} and "rm -rf victim" in request.title
    assert [e.args for e in events if isinstance(e, Denied)] == [request.call.args]

    junk = Person(lambda request: Approval("once", args={**request.call.args, "command": "rm junk"}))
    _, events = run(shell, {"command": "rm", "args": ["-rf", "victim"]}, junk, state_in(tmp_path))
    assert junk.requests[0].call.args == {"command": "rm -rf victim"}
    assert (tmp_path / "victim").exists() and not (tmp_path / "junk").exists()
    assert [e.title for e in events if isinstance(e, Approved)] == ["$ rm junk"]

    env = Person()
    answer, _ = run(shell, {"command": "echo $A", "env": {"A": "b\x1b[2K"}}, env, state_in(tmp_path))
    assert env.requests[0].call.args == {"command": "export A='b\x1b[2K'; echo $A"} and answer.text.startswith("b")


def test_rules_and_changes_are_judged_by_the_whole_command(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    policy = Policy(rules=parse_rules(deny=["shell(git push *)"]), workspace=state.workspace, sandbox_status="full")
    pushes = Person(lambda request: Approval("once", args={**request.call.args, "command": "git push origin x"}))
    answer, events = run(shell, {"command": "git", "args": ["fetch", "x"]}, pushes, state, policy)
    assert answer.is_error and [e.by for e in events if isinstance(e, Denied)] == ["policy"]
    answer, _ = run(shell, {"command": "git", "args": ["push", "x"]}, pushes, state, policy)
    assert answer.is_error and len(pushes.requests) == 1

    session = Person(lambda request: Approval("session", rule=request.rule))
    run(shell, {"command": "make", "args": ["test", "one"]}, session, state, policy)
    assert session.requests[0].rule.startswith("shell(make test")
    run(shell, {"command": "make", "args": ["test", "two"]}, session, state, policy)
    assert len(session.requests) == 1
    run(shell, {"command": "make", "args": ["clean"]}, session, state, policy)
    assert len(session.requests) == 2


def test_the_folder_shown_is_the_folder_it_runs_in(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    state, person = state_in(tmp_path), Person()
    for args in (
        {"command": "pwd -P; : >x"},
        {"command": "pwd -P; : >x", "workdir": "a"},
        {"command": "pwd -P; : >x", "cwd": "link"},
        {"command": "cd a"},
        {"command": "pwd -P; : >x"},
        {"command": "pwd -P; : >x", "cwd": "b"},
        {"command": "pwd -P; : >x", "cwd": "../link/b"},
    ):
        answer, _ = run(shell, args, person, state)
        if args["command"] != "cd a":
            assert answer.text.splitlines()[0] == person.requests[-1].cwd, args
    assert len({r.cwd for r in person.requests}) == 3


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (write_file, {"command": "create", "path": "app.py", "content": "evil = 2\n"}),
        (edit, {"command": "str_replace", "path": "app.py", "old_string": "safe = 1", "new_string": "evil = 2"}),
    ],
    ids=["write_file", "edit"],
)
def test_a_change_spelled_as_a_command_is_shown_as_a_change(tool: Tool, args: JsonObject, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("safe = 1\n")
    person = Person()
    run(tool, args, person, state_in(tmp_path))
    (request,) = person.requests
    assert isinstance(request.preview, DiffDisplay) and "+evil = 2" in request.preview.diff
    assert request.kind == "edit" and "command" not in request.call.args and "app.py" in request.title
    assert (tmp_path / "app.py").read_text().startswith("evil = 2")


def test_where_nobody_is_there_the_record_says_what_would_have_run(tmp_path: Path) -> None:
    nobody = Person(lambda request: Approval("deny"))
    nobody.present = False
    args = {"cmd": "rm", "timeout_seconds": "5", "working_dir": "sub"}
    answer, events = run(shell, args, nobody, state_in(tmp_path))
    denied = next(e for e in events if isinstance(e, Denied))
    assert denied.name == "shell" and denied.args == {"command": "rm", "timeout": 5, "cwd": "sub"}
    assert denied.by == "headless" and answer.is_error


def test_broken_arguments_are_shown_as_repaired(tmp_path: Path) -> None:
    person = Person()
    answer, events = run(shell, {}, person, state_in(tmp_path), raw='{"command": "echo mended > f",}')
    assert person.requests[0].call.args == {"command": "echo mended > f"} and (tmp_path / "f").exists()
    assert [e.outcome.value for e in events if isinstance(e, ToolFinished)] == ["ok"] and not answer.is_error
