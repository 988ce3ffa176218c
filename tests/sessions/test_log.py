from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import stat
from pathlib import Path

import pytest

from aicli.clean import Redactor
from aicli.content.events import Delegated, ModelDelta, RunStarted, ToolProgress, TurnStarted, Warned
from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, InlineDataPart, TextPart
from aicli.content.stream import TextDelta
from aicli.sessions.log import TAIL, RunLogger, new_id, valid_id
from aicli.sessions.store import SessionStore
from tests.sessions.stories import a_run, said, started


def lines(log: RunLogger) -> list[dict]:
    return [json.loads(line) for line in log.path.read_text(encoding="utf-8").split("\n")[:-1]]


def test_every_event_but_deltas_becomes_one_numbered_line(tmp_path: Path) -> None:
    log = RunLogger(tmp_path / "sessions", head={"cwd": "/w"})
    for event in a_run(log.session_id):
        log.emit(event)
        log.emit(ModelDelta(TextDelta("x")))
        log.emit(ToolProgress(call_id="c1", text="x"))
        log.emit(Delegated(call_id="c1", event=ModelDelta(TextDelta("x"))))
    log.close()
    found = lines(log)
    assert [r["seq"] for r in found] == list(range(11))
    assert found[0]["session"] == {"version": 1, "id": log.session_id, "cwd": "/w"}
    assert [r["event"]["type"] for r in found[1:]] == [e.type for e in a_run()]
    assert "修好它" in log.path.read_text(encoding="utf-8")
    log.close()


@pytest.mark.skipif(os.name == "nt", reason="file modes are a POSIX matter")
def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        log = RunLogger(tmp_path / "a" / "sessions")
        log.emit(TurnStarted(n=1))
        log.close()
    finally:
        os.umask(before)
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.folder.stat().st_mode) == 0o700


def test_a_log_in_which_nothing_happened_leaves_no_file(tmp_path: Path) -> None:
    log = RunLogger(tmp_path / "sessions")
    log.close()
    assert list(log.folder.iterdir()) == []


def test_each_record_is_one_write_and_goes_to_the_end(tmp_path: Path) -> None:
    first = RunLogger(tmp_path, "one")
    first.emit(TurnStarted(n=1))
    with first.path.open("ab") as other:
        other.write(b'{"seq":99,"time":"","event":{"type":"turn_started","n":9}}\n')
    first.emit(TurnStarted(n=2))
    first.close()
    assert [r["seq"] for r in lines(first)] == [0, 1, 99, 2]


def test_a_resumed_log_goes_on_counting_and_moves_a_torn_tail_aside(tmp_path: Path) -> None:
    log = RunLogger(tmp_path, "one")
    log.emit(TurnStarted(n=1))
    log.close()
    with log.path.open("ab") as file:
        file.write('{"seq":2,"time":"","event":{"type":"warned","text":"半'.encode()[:-1])
    again = RunLogger(tmp_path, "one")
    again.emit(TurnStarted(n=2))
    again.close()
    assert [r["seq"] for r in lines(again)] == [0, 1, 2]
    assert again.path.with_suffix(".torn").read_bytes().startswith(b'{"seq":2')


@pytest.mark.skipif(os.name == "nt", reason="no flock there")
def test_a_session_in_use_is_continued_under_a_new_id(tmp_path: Path) -> None:
    first = RunLogger(tmp_path, "one")
    first.emit(started("one"))
    second = RunLogger(tmp_path, "one")
    assert second.session_id != "one"
    assert "in use elsewhere" in second.notice
    second.emit(said(Message.user("second")))
    first.emit(said(Message.user("first")))
    for log in (first, second):
        log.close()
    store = SessionStore(tmp_path)
    assert [m.text for m in store.load("one").history] == ["first"]
    assert [m.text for m in store.load(second.session_id).history] == ["second"]


def test_secrets_are_taken_out_but_opaque_data_stays(tmp_path: Path) -> None:
    secret = "hunter2hunter2"
    shaped = "sk-" + "a1" * 12
    log = RunLogger(tmp_path, redact=Redactor([secret]))
    parts = (
        TextPart(text=f"{secret} {shaped}", meta={"sig": shaped, "leak": secret}),
        FunctionCallPart(id=shaped, name="shell", args={"command": f"echo {secret}"}),
        InlineDataPart(mime="image/png", data=shaped),
    )
    log.emit(said(Message(role="model", parts=parts)))
    log.close()
    text = log.path.read_text()
    assert secret not in text
    kept = lines(log)[1]["event"]["message"]["parts"]
    assert shaped not in kept[0]["text"]
    assert kept[0]["meta"]["sig"] == kept[1]["id"] == kept[2]["data"] == shaped


def test_text_that_is_no_valid_unicode_is_still_one_line(tmp_path: Path) -> None:
    log = RunLogger(tmp_path)
    log.emit(Warned(text="lone \ud800, line\u2028separator\r\n"))
    log.emit(Warned(text="after"))
    log.close()
    assert log.path.read_bytes().count(b"\n") == 3
    assert lines(log)[1]["event"]["text"] == "lone \ud800, line\u2028separator\r\n"


def _fill(folder: str) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    told: list[str] = []
    log = RunLogger(Path(folder), "full", on_trouble=told.append)
    for n in range(100):
        log.emit(TurnStarted(n=n))
        log.sync()
    assert log.failed == "the file is too big", log.failed
    assert len(told) == 1, told
    log.close()


@pytest.mark.skipif(os.name == "nt", reason="no file size limits there")
def test_a_full_disk_is_told_once_and_the_rest_goes_on(tmp_path: Path) -> None:
    child = multiprocessing.get_context("fork").Process(target=_fill, args=(str(tmp_path),))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    restored = SessionStore(tmp_path).load("full")
    assert restored.skipped <= 1


@pytest.mark.skipif(os.name == "nt", reason="/dev/full is a Linux device")
def test_records_after_a_loss_start_on_a_line_of_their_own(tmp_path: Path) -> None:
    log = RunLogger(tmp_path, "one")
    log.emit(Warned(text="first"))
    good = os.dup(log._fd)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, log._fd)
    log.emit(Warned(text="lost"))
    assert log.failed == "the disk is full"
    os.write(good, b'{"seq":2,"ti')  # what a disk takes before it is full
    os.dup2(good, log._fd)
    log.emit(Warned(text="later"))
    log.close()
    os.close(good)
    os.close(full)
    assert [e.text for _, e in SessionStore(tmp_path).events("one") if isinstance(e, Warned)] == ["first", "later"]


def test_no_folder_to_write_to_is_a_notice_not_an_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    log = RunLogger(blocked / "sessions")
    assert not log.kept and "not kept" in log.notice and not log.failed
    log.emit(TurnStarted(n=1))
    log.sync()
    log.close()


def test_ids() -> None:
    assert valid_id(new_id()) and new_id() != new_id()
    assert valid_id("0b8b7f6a-1c2d-4e3f-8a9b-000000000000")
    assert not any(map(valid_id, ("", "../x", "a/b", ".hidden", "a" * 65, "会话")))


def test_emit_never_raises_for_odd_data(tmp_path: Path) -> None:
    log = RunLogger(tmp_path)
    log.emit(said(Message(role="model", parts=(FunctionCallPart(id="1", name="x", args={"p": Path("/x"), "s": {1}}),))))
    log.close()
    assert "/x" in log.path.read_text()


def test_run_started_is_not_needed_first(tmp_path: Path) -> None:
    log = RunLogger(tmp_path, "x")
    log.emit(RunStarted(session_id="x", task="t"))
    log.close()
    assert lines(log)[0]["session"]["id"] == "x"


def test_a_log_is_gone_on_with_whatever_the_length_of_its_last_record(tmp_path: Path) -> None:
    for n, size in enumerate((10, TAIL // 2, 2 * TAIL)):
        log = RunLogger(tmp_path, f"s{n}")
        log.emit(Warned(text="first"))
        log.emit(Warned(text="x" * size))
        log.close()
        with log.path.open("ab") as file:
            file.write(b"torn")
        again = RunLogger(tmp_path, f"s{n}")
        again.emit(Warned(text="last"))
        again.close()
        assert [r["seq"] for r in lines(again)] == [0, 1, 2, 3]
        assert again.path.with_suffix(".torn").read_bytes() == b"torn\n"
