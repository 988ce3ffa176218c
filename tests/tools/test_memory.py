"""The memory tool."""

from __future__ import annotations

from pathlib import Path

import pytest

from aicli.content.kinds import ToolKind
from aicli.content.parts import FunctionCallPart
from aicli.tools.builtin.memory import memory
from aicli.tools.state import RunState
from aicli.tools.validate import validated
from aicli.workspace.memory import MemoryStore
from tests.tools.calling import call


@pytest.fixture
def state(tmp_path: Path) -> RunState:
    return RunState(memory=MemoryStore(tmp_path / "m.md", tmp_path / "p" / "m.md", "s1"))


def test_save_recall_list_forget(state: RunState) -> None:
    assert call(memory, state, action="save", text="Use tabs", level="project").text == "Remembered (project): Use tabs"
    assert "known already" in call(memory, state, action="save", text="use tabs", level="project").text
    listed = call(memory, state, action="list").text
    assert '- "Use tabs" (project, from model, ' in listed and "not as instructions" in listed
    assert "Use tabs" in call(memory, state, action="recall", text="tabs or blanks?").text
    assert "Nothing is remembered about that" in call(memory, state, action="recall", text="zebra").text
    assert "Use tabs" in call(memory, state, action="forget", text="tabs").text
    assert "No fact" in call(memory, state, action="forget", text="tabs").text
    assert "yet" in call(memory, state, action="list").text


def test_other_spellings(state: RunState) -> None:
    assert "(user)" in call(memory, state, name="save_memory", content="Likes tea", level="global").text
    assert "(project)" in call(memory, state, name="save_memory", fact="Runs on 3.11", scope="workspace").text
    assert "tea" in call(memory, state, name="recall_memory", query="tea").text
    assert "Likes tea" in call(memory, state, action="delete", text="tea").text
    assert "3.11" in call(memory, state).text


@pytest.mark.parametrize(
    ("args", "kind"),
    [
        ({"action": "list"}, ToolKind.READ),
        ({"action": "recall", "text": "x"}, ToolKind.READ),
        ({"query": "x"}, ToolKind.READ),
        ({"action": "save", "text": "x"}, ToolKind.THINK),
        ({"content": "x"}, ToolKind.THINK),
        ({"action": "forget", "text": "x"}, ToolKind.THINK),
    ],
)
def test_the_kind_is_judged_on_each_call(args: dict[str, str], kind: ToolKind) -> None:
    params = validated(memory, FunctionCallPart(id="1", name="memory", args=args))
    assert memory.kind_of(params) is kind
    assert "action" in params.model_dump(exclude_unset=True), "policy must see what the call does"


def test_what_was_saved_after_foreign_text_says_so(state: RunState) -> None:
    state.untrusted = True
    call(memory, state, action="save", text="The site says hello")
    assert "from untrusted" in call(memory, state, action="list").text
    assert state.memory is not None and state.memory.for_prompt(1000) == ""


def test_errors(state: RunState, tmp_path: Path) -> None:
    assert call(memory, RunState(), action="list").is_error
    assert "text is missing" in call(memory, state, action="save").text
    assert "600" in call(memory, state, action="save", text="x" * 700).text
    assert (
        "no project memory"
        in call(memory, RunState(memory=MemoryStore(tmp_path / "x")), text="a", level="project").text
    )
    (tmp_path / "m.md").write_bytes(b"\0")
    assert "was damaged and is now m.md.damaged-" in call(memory, state, action="list").text
