"""write_file: whole files, never over somebody else's change."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.counts import count
from tests.support.hands import Hands
from tests.tools.test_edit import BACKSLASHES


@pytest.fixture
def hands(isolated: Path) -> Hands:
    return Hands(isolated)


def test_folders_are_made_and_the_size_is_told(hands: Hands) -> None:
    said = hands.ok("write_file", path="a/b/文件.txt", content="一\n二\n")
    assert "Created a/b/文件.txt: 2 lines, 8 bytes" in said
    assert (hands.root / "a/b/文件.txt").read_bytes() == "一\n二\n".encode()
    assert "0 lines, 0 bytes" in hands.ok("write_file", path="empty", content="")


@pytest.mark.parametrize("text", BACKSLASHES)
def test_content_is_stored_byte_for_byte(hands: Hands, text: str) -> None:
    hands.ok("write_file", path="f", content=text)
    assert (hands.root / "f").read_bytes() == text.encode()


@pytest.mark.parametrize("content", ["no newline at end", "with\n", "a\r\nb\n", "\ufeffmarked\n", "tab\t\x0c\n"])
def test_a_new_file_is_exactly_the_content(hands: Hands, content: str) -> None:
    hands.ok("write_file", path="f", content=content)
    assert (hands.root / "f").read_bytes() == content.encode()


def test_mode_link_encoding_and_line_ends_stay(hands: Hands) -> None:
    script = hands.put("run.sh", b"#!/bin/sh\r\necho\r\n")
    script.chmod(0o755)
    (hands.root / "link").symlink_to("run.sh")
    hands.ok("write_file", path="link", content="#!/bin/sh\nls\n")
    assert script.read_bytes() == b"#!/bin/sh\r\nls\r\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert (hands.root / "link").is_symlink()
    marked = hands.put("m", b"\xef\xbb\xbfold\n")
    hands.ok("write_file", path="m", content="new\n")
    assert marked.read_bytes() == b"\xef\xbb\xbfnew\n"
    legacy = hands.put("g", "这是一个配置文件\n".encode("gbk"))
    assert "GB18030" in hands.ok("write_file", path="g", content="这是新的\n")
    assert legacy.read_bytes() == "这是新的\n".encode("gbk")
    latin = hands.put("l1", "café\n".encode("latin-1"))
    assert "UTF-8 now" in hands.ok("write_file", path="l1", content="咖啡\n")
    assert latin.read_bytes() == "咖啡\n".encode()


def test_what_somebody_changed_since_it_was_read_is_not_overwritten(hands: Hands) -> None:
    path = hands.put("f", b"one\n")
    hands.ok("read_file", path="f")
    path.write_bytes(b"two\n")
    said = hands.fails("write_file", path="f", content="mine\n")
    assert "was changed since you last read it" in said
    assert path.read_bytes() == b"two\n"
    hands.ok("read_file", path="f")
    hands.ok("write_file", path="f", content="mine\n")
    hands.ok("write_file", path="f", content="mine again\n")
    path.unlink()
    assert "was removed since" in hands.fails("write_file", path="f", content="x")


def test_a_large_file_can_be_read_edited_and_replaced(hands: Hands) -> None:
    path = hands.put("big", b"first\n" + b"a line of 20 bytes.\n" * 1_000_000)
    hands.ok("read_file", path="big", limit=1)
    hands.ok("edit", path="big", old_string="first", new_string="second")
    assert path.stat().st_size == 20_000_007
    hands.ok("write_file", path="big", content="small\n")
    assert path.read_bytes() == b"small\n"


def test_touching_a_file_is_no_change(hands: Hands) -> None:
    path = hands.put("f", b"one\n")
    hands.ok("read_file", path="f")
    os.utime(path, (1, 1))
    hands.ok("write_file", path="f", content="two\n")


def test_the_same_content_changes_nothing_and_says_so(hands: Hands) -> None:
    path = hands.put("f", b"one\n")
    os.utime(path, (1, 1))
    assert "nothing was changed" in hands.ok("write_file", path="f", content="one\n")
    assert path.stat().st_mtime == 1


def test_a_failure_keeps_the_old_file_and_names_the_cause(hands: Hands) -> None:
    hands.put("d/f", b"x")
    assert "folder" in hands.fails("write_file", path="d", content="x")
    assert "outside" in hands.fails("write_file", path="../x", content="x")
    assert "half of a character" in hands.fails("write_file", path="f", content="half \ud83d")
    assert "ENOTDIR" in hands.fails("write_file", path="d/f/g", content="x")
    assert "too long" in hands.fails("write_file", path="n" * 300, content="x")


@pytest.mark.parametrize("args", [{"file_path": "f", "file_text": "x"}, {"filename": "f", "contents": "x"}])
def test_other_names_of_the_parameters(hands: Hands, args: dict[str, str]) -> None:
    hands.ok("create_file", **args)
    assert (hands.root / "f").read_bytes() == b"x"


LOOP = """
import sys
from pathlib import Path
from tests.support.hands import Hands
hands = Hands(Path(sys.argv[1]), checkpoints=Path(sys.argv[2]))
print("go", flush=True)
n = 0
while True:
    n = 1 - n
    old, new = ("A", "B") if n else ("B", "A")
    if sys.argv[3] == "write":
        hands.call("write_file", path="f", content=new * 300_000)
    else:
        hands.call("edit", path="f", old_string=old, new_string=new, replace_all=True)
"""


@pytest.mark.parametrize("act", ["write", "edit"])
def test_killed_at_any_moment_the_file_is_the_old_or_the_new_one(hands: Hands, tmp_path: Path, act: str) -> None:
    size = 300_000 if act == "write" else 3_000
    path = hands.put("f", b"A" * size)
    seed = 20_000 if act == "write" else 70_000
    for n in range(count(4, 100)):
        command = [sys.executable, "-c", LOOP, hands.root, tmp_path / "kept", act]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep((seed * (n + 1) * 7919 % 100_003) / 1_000_000)  # the moment of the kill, not a wait for something
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        data = path.read_bytes()
        assert data in (b"A" * size, b"B" * size), (n, len(data), data[:20])
