from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from aicli import paths
from aicli.content.messages import Message
from aicli.sessions.export import as_markdown
from aicli.sessions.log import RunLogger
from aicli.sessions.store import Restored, Summary
from aicli.ui.cells import width
from tests.sessions.stories import a_run, answer, call
from tests.support.schemas import check_line
from tests.support.terminal import aicli as terminal


@pytest.fixture
def kept(isolated: Path) -> Path:
    """Two sessions: one of this folder, used last, one of another."""
    folder = paths.state_folder() / "sessions"
    for n, (name, cwd, task) in enumerate(
        (("aaaa1111", "/elsewhere", "other"), ("bbbb2222", str(isolated), "修好 <b>&"))
    ):
        log = RunLogger(folder, name, head={"cwd": cwd})
        for event in a_run(name, task, final="done"):
            log.emit(event.model_copy(update={"cwd": cwd}) if event.type == "run_started" else event)
        log.close()
        os.utime(log.path, (1_700_000_000 + n, 1_700_000_000 + n))
    return folder


def test_list(aicli: Callable, kept: Path, isolated: Path) -> None:
    lines = aicli("sessions", "list").out.splitlines()
    assert [line[:8] for line in lines] == ["bbbb2222", "aaaa1111"]
    assert "修好 <b>&" in lines[0] and "2 turns" in lines[0] and str(isolated) in lines[0] and "2023-11-14" in lines[0]
    assert [s["id"] for s in json.loads(aicli("sessions", "list", "--here", "--json").out)] == ["bbbb2222"]


def test_the_columns_of_the_list_stand_whatever_the_script(aicli: Callable, isolated: Path) -> None:
    for name, task in (("aaaa1111", "short"), ("bbbb2222", "找出所有待办事项" * 12)):
        log = RunLogger(paths.state_folder() / "sessions", name, head={"cwd": str(isolated)})
        for event in a_run(name, task, final="done"):
            log.emit(event.model_copy(update={"cwd": str(isolated)}) if event.type == "run_started" else event)
        log.close()
    lines = aicli("sessions", "list").out.splitlines()
    assert len({width(line[: line.index(str(isolated))]) for line in lines}) == 1 and len(lines) == 2
    assert all("just now" in line for line in lines)


def test_a_list_that_stops_says_of_how_many(aicli: Callable, kept: Path) -> None:
    ran = aicli("sessions", "list", "-n", "1")
    assert ran.out.count("\n") == 1 and ran.err == "1 of 2 sessions; all of them: --all\n", ran
    assert aicli("sessions", "list").err == ""
    every = aicli("sessions", "list", "-n", "1", "--all")
    assert every.out.count("\n") == 2 and every.err == ""
    both = json.loads(aicli("sessions", "list", "--json").out)
    assert both[0]["used"] == "2023-11-14T22:13:21.000+00:00"


def test_the_list_fits_a_terminal_and_prune_asks_there(kept: Path, isolated: Path) -> None:
    for columns in (100, 60):
        with terminal("sessions", "list", columns=columns) as tty:
            assert tty.wait() == 0
            rows = [row for row in tty.lines if row.strip()]
        assert [row[:8] for row in rows] == ["bbbb2222", "aaaa1111"], rows
    with terminal("sessions", "prune", "--days", "0") as tty:
        tty.until("Delete 2 sessions not used for 0 days?")
        tty.send("n\r")
        assert tty.wait() == 1
    assert len(list(kept.glob("*.jsonl"))) == 2


def test_no_sessions_is_no_error(aicli: Callable) -> None:
    ran = aicli("sessions", "list")
    assert (ran.code, ran.out) == (0, "") and "no sessions" in ran.err


def test_show_search_and_unknown_ids(aicli: Callable, kept: Path) -> None:
    shown = aicli("sessions", "show", "bb").out
    assert "## You" in shown and "read_file" in shown
    assert "bbbb2222" in aicli("sessions", "search", "修好").out
    assert aicli("sessions", "search", "nowhere at all").code == 0
    ran = aicli("sessions", "show", "zz")
    assert ran.code == 42 and "aicli sessions list" in ran.err


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_export(aicli: Callable, kept: Path, form: str, isolated: Path) -> None:
    text = aicli("sessions", "export", "bbbb", "-f", form).out
    assert aicli("sessions", "export", "bbbb", "-f", form, "-o", "out.x").code == 0
    assert (isolated / "out.x").read_text(encoding="utf-8").strip() == text.strip()
    assert "修好" in text
    if form == "html":
        assert "<b>" not in text and "&lt;b&gt;&amp;" in text and "<script" not in text and "http" not in text
    if form == "json":
        history = [Message.from_data(m) for m in json.loads(text)["messages"]]
        assert [m.role for m in history] == ["user", "model", "tool", "model"]


def test_an_export_has_the_form_of_its_files_name(aicli: Callable, kept: Path, isolated: Path) -> None:
    for name, begins in (("a.HTML", "<!doctype"), ("a.json", "{"), ("a.md", "# "), ("a", "# ")):
        assert aicli("sessions", "export", "bbbb", "-o", name).code == 0
        assert (isolated / name).read_text("utf-8").startswith(begins), name


def test_export_refuses_what_it_cannot_do(aicli: Callable, kept: Path) -> None:
    assert aicli("sessions", "export", "bbbb", "-f", "pdf").code == 2
    assert aicli("sessions", "export", "bbbb", "-o", "/nonexistent/x").code == 42


def test_fork_delete_and_prune(aicli: Callable, kept: Path) -> None:
    copy = aicli("sessions", "fork", "bbbb").out.strip()
    assert (kept / f"{copy}.jsonl").exists()
    assert aicli("sessions", "delete", copy[:6], "zz").code == 42
    assert (kept / f"{copy}.jsonl").exists()
    assert aicli("sessions", "delete", copy[:6]).code == 0
    assert not (kept / f"{copy}.jsonl").exists()
    refused = aicli("sessions", "prune")
    assert refused.code == 2 and "--yes" in refused.err and "2 sessions" in refused.err, refused
    dry = aicli("sessions", "prune", "--dry-run")
    assert dry.out.count("\n") == 2 and "2 sessions would be deleted" in dry.err, dry
    assert len(list(kept.glob("*.jsonl"))) == 2
    assert "deleted 2 sessions" in aicli("sessions", "prune", "--yes").err
    assert "deleted 0 sessions" in aicli("sessions", "prune").err
    assert list(kept.glob("*.jsonl")) == []


def test_replay_shows_what_happened(aicli: Callable, kept: Path) -> None:
    out = aicli("replay", "bb").out
    assert out.startswith("> 修好 <b>&\n") and "ok    read   文件.txt" in out and "1 call" in out
    for text in aicli("replay", "bb", "--json").out.split("\n")[:-1]:
        check_line(json.loads(text))
    assert aicli("replay", "zz").code == 42


def test_replay_can_keep_the_pauses(aicli: Callable, kept: Path) -> None:
    assert aicli("replay", "bb", "--speed", "1000").code == 0


def test_fences_are_longer_than_those_inside(tmp_path: Path) -> None:
    made = call("c1")
    history = [Message(role="model", parts=(made,)), answer(made, "a\n````\nb")]
    text = as_markdown(Restored("x", history), Summary("x"))
    assert "`````\na\n````\nb\n`````" in text


def test_bare_it_lists(aicli: Callable, kept: Path) -> None:
    assert aicli("sessions").out == aicli("sessions", "list").out != ""
