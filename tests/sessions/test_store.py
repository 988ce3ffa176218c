from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.content.events import ContextCompacted, HistoryCut, ModelChanged, Outcome, ToolFinished
from aicli.content.messages import Message, open_calls
from aicli.content.parts import FunctionCallPart
from aicli.content.results import Task, TasksDisplay, ToolResult
from aicli.errors import InputError
from aicli.sessions.log import RunLogger
from aicli.sessions.store import SessionStore
from tests.sessions.stories import a_run, call, said, started
from tests.support.counts import count


def keep(folder: Path, session_id: str, events: list) -> RunLogger:
    log = RunLogger(folder, session_id, head={"cwd": "/w"})
    for event in events:
        log.emit(event)
    log.close()
    return log


def test_a_session_is_its_fold(tmp_path: Path) -> None:
    tasks = (Task(text="读"), Task(text="写", status="completed"))
    shown = ToolResult(display=TasksDisplay(tasks=tasks))
    events = [
        *a_run("one", "first"),
        started("one", "second", permission_mode="plan"),
        said(Message.user("second")),
        ModelChanged(role="fast", model="openai:gpt"),
        ToolFinished(call_id="c9", result=shown, outcome=Outcome.OK),
    ]
    keep(tmp_path, "one", events)
    restored = SessionStore(tmp_path).load("one")
    assert [m.role for m in restored.history] == ["user", "model", "tool", "model", "user"]
    assert restored.history[2].responses[0].text == "1\tcontents\u2028of it"
    assert (restored.model, restored.mode, restored.cwd, restored.agent) == ("openai:gpt", "plan", "/w", "general")
    assert restored.tasks == tasks and restored.skipped == 0


def test_cuts_and_compaction_are_replayed(tmp_path: Path) -> None:
    texts = [said(Message.user(str(n))) for n in range(6)]
    summary = (Message.user("what was said before"),)
    keep(
        tmp_path,
        "one",
        [
            *texts,
            HistoryCut(to=5, why="failed"),
            ContextCompacted(before=9, after=3, replaced=3, summary="s", messages=summary),
            ContextCompacted(before=9, after=3, replaced=2, summary="shorter"),
        ],
    )
    assert [m.text for m in SessionStore(tmp_path).load("one").history] == ["shorter", "4"]


def test_a_call_without_its_answer_is_answered_as_interrupted(tmp_path: Path) -> None:
    keep(tmp_path, "one", a_run()[:5])
    history = SessionStore(tmp_path).load("one").history
    assert open_calls(history) == ()
    assert history[-1].responses[0].is_error and "interrupted" in history[-1].responses[0].text


def test_bad_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    log = keep(tmp_path, "one", a_run())
    lines = log.path.read_bytes().split(b"\n")
    bad = [
        b"not json",
        b"[]",
        b'{"seq":"x"}',
        b"\xff\xfe",
        b'{"seq":4,"time":"","event":{"type":"message_added"}}',
        b"",
    ]
    log.path.write_bytes(b"\n".join([*lines[:4], *bad, *lines[4:]]) + b'{"seq":11,"ti')
    restored = SessionStore(tmp_path).load("one")
    assert len(restored.history) == 4
    assert restored.skipped == 6


@pytest.mark.parametrize("whole", [True, False])
def test_doubled_lines_count_once(tmp_path: Path, whole: bool) -> None:
    """A log that was copied by hand: line by line, or all of it behind itself."""
    keep(tmp_path, "one", a_run("one"))
    plain = SessionStore(tmp_path).load("one")
    file = tmp_path / "one.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines * 2 if whole else [x for line in lines for x in (line, line)]))
    again = SessionStore(tmp_path).load("one")
    assert again.history == plain.history and again.skipped == 0
    assert len(list(SessionStore(tmp_path).events("one"))) == len(lines) - 1


def test_calls_that_came_twice_have_two_ids(tmp_path: Path) -> None:
    keep(tmp_path, "one", [*a_run("one"), *a_run("one")])
    history = SessionStore(tmp_path).load("one").history
    ids = [c.id for m in history for c in m.calls]
    assert len(ids) == 2 == len(set(ids)) and open_calls(history) == ()


def test_an_empty_file_is_an_empty_session(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    store = SessionStore(tmp_path)
    assert store.load("empty").history == []
    assert store.list() == []
    assert list(store.events("empty")) == []


def test_events_of_a_later_version_are_left_out(tmp_path: Path) -> None:
    log = keep(tmp_path, "one", a_run())
    with log.path.open("a") as file:
        file.write('{"seq":11,"time":"","event":{"type":"from_the_future","x":1}}\n')
    store = SessionStore(tmp_path)
    assert store.load("one").skipped == 0
    assert [e for _, e in store.events("one")] == a_run()


def test_ids_may_be_shortened(tmp_path: Path) -> None:
    for name in ("abc1", "abd2", "ab"):
        keep(tmp_path, name, a_run(name))
    store = SessionStore(tmp_path)
    assert store.find("abc") == "abc1"
    assert store.find("ab") == "ab"
    for text in ("a", "", "zz", "../abc1", "*"):
        with pytest.raises(InputError) as caught:
            store.find(text)
        assert caught.value.exit_code == 42
    with pytest.raises(InputError) as several:
        store.find("a")
    assert "abc1" in several.value.hint


def test_the_list_is_last_used_first_one_line_each(tmp_path: Path) -> None:
    for n, name in enumerate(("old", "new")):
        log = keep(tmp_path, name, a_run(name, f"task {name}"))
        os.utime(log.path, (1_000_000 + n, 1_000_000 + n))
    store = SessionStore(tmp_path)
    found = store.list()
    assert [s.id for s in found] == ["new", "old"]
    assert (found[0].task, found[0].turns, found[0].cwd, found[0].model) == ("task new", 2, "/w", "ollama:q")
    assert found[0].started.startswith("20")
    assert [s.id for s in store.list(limit=1)] == ["new"]


def test_latest_is_of_the_folder(tmp_path: Path) -> None:
    keep(tmp_path, "here", [started("here", cwd="/w/项目")])
    keep(tmp_path, "there", [started("there", cwd="/x")])
    store = SessionStore(tmp_path)
    assert store.latest(Path("/w/项目")) == "here"
    assert store.latest(Path("/nowhere")) is None
    assert SessionStore(tmp_path / "missing").latest(Path("/x")) is None


def test_a_fork_has_the_history_and_its_own_future(tmp_path: Path) -> None:
    log = keep(tmp_path, "one", a_run())
    with log.path.open("ab") as file:
        file.write(b'{"torn')
    store = SessionStore(tmp_path)
    other = store.fork("on")
    keep(tmp_path, other, [said(Message.user("more"))])
    assert store.summary(other).parent == "one"
    assert len(store.load(other).history) == 5
    assert len(store.load("one").history) == 4
    assert store.load(other).skipped == 0


def test_delete_and_prune(tmp_path: Path) -> None:
    for name in ("old", "new"):
        keep(tmp_path, name, a_run(name))
    os.utime(tmp_path / "old.jsonl", (1, 1))
    store = SessionStore(tmp_path)
    assert store.prune(90) == ("old",)
    assert store.ids() == ["new"]
    assert store.delete("ne") == "new"
    assert store.ids() == []


def test_search_looks_at_what_was_said_not_at_json(tmp_path: Path) -> None:
    keep(tmp_path, "one", a_run("one", 'say "Größe" 中文\nnext'))
    keep(tmp_path, "two", a_run("two", "other"))
    store = SessionStore(tmp_path)
    assert [(s.id, line) for s, line in store.search('"GRÖSSE" 中')] == [("one", 'say "Größe" 中文')]
    assert list(store.search("message_added")) == []


def test_a_session_of_ten_thousand_events_is_loaded_whole(tmp_path: Path) -> None:
    log = RunLogger(tmp_path, "big")
    before = time.process_time()
    for event in a_run("big") * 1000:
        log.emit(event)
    emitted = time.process_time() - before
    log.close()
    before = time.process_time()
    restored = SessionStore(tmp_path).load("big")
    loaded = time.process_time() - before
    assert len(restored.history) == 4000
    assert emitted < 3 * 1.0 and loaded < 3 * 1.0, (emitted, loaded)


def test_a_log_cut_anywhere_loads_answered(tmp_path: Path) -> None:
    two = FunctionCallPart(id="c2", name="ls")
    events = [*a_run("one")[:-2], said(Message(role="model", parts=(call("c3"), two))), *a_run("one")]
    data = keep(tmp_path, "one", events).path.read_bytes()
    chooser = random.Random(7)
    for _ in range(count(60, 600)):
        (tmp_path / "one.jsonl").write_bytes(data[: chooser.randrange(len(data) + 1)])
        restored = SessionStore(tmp_path).load("one")
        assert open_calls(restored.history) == ()
        assert restored.skipped <= 1


@settings(max_examples=count(30, 300), deadline=None)
@given(st.lists(st.binary(max_size=40), max_size=8))
def test_no_bytes_break_the_reading(tmp_path_factory: pytest.TempPathFactory, junk: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("junk")
    (folder / "x.jsonl").write_bytes(b"\n".join(junk))
    store = SessionStore(folder)
    store.load("x")
    store.list()
    list(store.search("a"))
