"""The ls tool."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from aicli.tools.builtin.ls import ls
from aicli.tools.state import RunState
from tests.tools.calling import call, state_in


@pytest.fixture
def state(isolated: Path) -> RunState:
    Path("src/deep/deeper").mkdir(parents=True)
    Path("src/a.py").write_text("x" * 2000)
    Path("src/deep/b.py").write_text("")
    Path("top.txt").write_text("12345")
    return state_in(isolated)


def test_depth_one_is_the_folders_own_entries(state: RunState) -> None:
    assert call(ls, state).text == "src/\ntop.txt  5 B"
    assert call(ls, state, path="src").text == "deep/\na.py  2.0 KB"


def test_depth(state: RunState) -> None:
    assert call(ls, state, depth=2).text == "src/\n  deep/\n  a.py  2.0 KB\ntop.txt  5 B"
    assert (
        call(ls, state, max_depth=9).text == "src/\n  deep/\n    deeper/\n    b.py  0 B\n  a.py  2.0 KB\ntop.txt  5 B"
    )
    assert call(ls, state, depth=9, directories_only=True).text == "src/\n  deep/\n    deeper/"


def test_all_kinds_and_odd_names(state: RunState) -> None:
    for name in ("a b", " lead", "new\nline", "文件", os.fsdecode(b"\xff"), "esc\x1b[2J"):
        Path("src/deep/deeper", name).write_text("")
    os.mkfifo("src/deep/deeper/pipe")
    Path("src/deep/deeper/gone").symlink_to("nowhere")
    Path("src/deep/deeper/loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as s:
        os.chdir("src/deep/deeper")
        s.bind("sock")
        text = call(ls, state, path="src/deep/deeper").text
    for shown in (
        "a b  0 B",
        '" lead"',
        '"new\\nline"',
        "文件",
        '"\\xff"',
        "pipe  (fifo)",
        "sock  (socket)",
        "gone -> nowhere",
    ):
        assert shown in text, shown
    assert "loop -> loop" in text and "\x1b" not in text and len(text.splitlines()) == 10


def test_ignored_folders_are_named_not_entered(state: RunState) -> None:
    Path(".gitignore").write_text("src/\n*.txt\n")
    assert call(ls, state, depth=3).text == "src/  (ignored)\n.gitignore  11 B\ntop.txt  5 B  (ignored)"
    assert "a.py" in call(ls, state, path="src").text


def test_a_file_an_empty_folder_and_what_is_not_there(state: RunState) -> None:
    assert call(ls, state, path="top.txt").text == "top.txt  5 B (a file)"
    Path("empty").mkdir()
    assert call(ls, state, path="empty").text == "The folder is empty."
    result = call(ls, state, path="srcc")
    assert result.is_error and "src" in result.text
    for path in ("/etc", "..", "../other"):
        assert call(ls, state, path=path).is_error


def test_brackets_in_paths(state: RunState) -> None:
    Path("app/[locale]/(auth)").mkdir(parents=True)
    Path("app/[locale]/(auth)/page.tsx").write_text("")
    assert call(ls, state, path="app/[locale]/(auth)").text == "page.tsx  0 B"


def test_large_folders_are_cut(state: RunState) -> None:
    Path("many").mkdir()
    for n in range(600):
        Path(f"many/{n:04}").touch()
    text = call(ls, state, path="many").text
    assert "[100 more entries" in text and len(text.splitlines()) == 501


@pytest.mark.parametrize("name", ["list_directory", "list_dir"])
def test_other_names(state: RunState, name: str) -> None:
    assert "deep/" in call(ls, state, name=name, dir_path="src").text
