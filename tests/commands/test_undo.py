"""aicli undo and aicli diff, as a person uses them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aicli import paths
from tests.support.hands import Hands

REPO = Path(__file__).parents[2]


@pytest.fixture
def hands(isolated: Path) -> Hands:
    return Hands(isolated, checkpoints=paths.state_folder() / "checkpoints", run_id="0abc-first")


def aicli(*args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(REPO), "PYTHONWARNINGS": "error"}
    return subprocess.run([sys.executable, "-m", "aicli", *args], capture_output=True, text=True, env=env, check=False)


def test_undo_takes_turns_back_one_by_one_and_says_which_files(hands: Hands) -> None:
    path = hands.put("文件.txt", "一\n".encode())
    hands.ok("edit", path="文件.txt", old_string="一", new_string="二")
    hands.ok("write_file", path="new/f", content="x\n")
    first = aicli("undo")
    assert (first.returncode, first.stderr) == (0, "")
    assert "1 turn undone:\n  removed: new/f" in first.stdout
    assert not (hands.root / "new").exists()
    assert "1 turn undone:\n  put back: 文件.txt" in aicli("undo", "1").stdout
    assert path.read_bytes() == "一\n".encode()
    last = aicli("undo")
    assert last.returncode == 1
    assert "nothing to undo" in last.stderr
    assert last.stderr.count("\n") == 1
    assert aicli("undo", "--redo").returncode == 0
    assert path.read_bytes() == "二\n".encode()


def test_undo_refuses_to_overwrite_what_a_person_changed(hands: Hands) -> None:
    path = hands.put("f", b"0\n")
    hands.ok("write_file", path="f", content="1\n")
    path.write_bytes(b"mine\n")
    refused = aicli("undo")
    assert refused.returncode == 1
    assert "f: it was changed since" in refused.stderr
    assert "--force" in refused.stderr
    assert path.read_bytes() == b"mine\n"
    assert aicli("undo", "--force").returncode == 0
    assert path.read_bytes() == b"0\n"


def test_one_run_is_named_by_the_start_of_its_id_from_any_folder(hands: Hands, tmp_path: Path) -> None:
    path = hands.put("f", b"0\n")
    hands.ok("write_file", path="f", content="1\n")
    hands.ok("write_file", path="g", content="2\n")
    other = tmp_path / "elsewhere"
    other.mkdir()
    os.chdir(other)
    assert "+1\n" in aicli("diff", "--run", "0abc").stdout
    assert "nothing to undo" in aicli("undo").stderr
    assert "2 turns undone:\n  removed: g\n  put back: f" in aicli("undo", "--run", "0abc").stdout
    assert path.read_bytes() == b"0\n"
    unknown = aicli("undo", "--run", "zzz")
    assert unknown.returncode == 2
    assert "no run 'zzz'" in unknown.stderr


def test_undo_works_from_a_folder_below_the_workspace(hands: Hands) -> None:
    hands.put("sub/f", b"0\n")
    hands.ok("write_file", path="sub/f", content="1\n")
    os.chdir(hands.root / "sub")
    assert aicli("undo").returncode == 0
    assert (hands.root / "sub/f").read_bytes() == b"0\n"


def test_the_list_shows_turns_files_and_what_was_not_covered(hands: Hands) -> None:
    hands.put("f", b"0\n")
    hands.put(".gitignore", b"*.log\n")
    hands.put("x.log", b"0\n")
    hands.ok("write_file", path="f", content="1\n")
    hands.ok("write_file", path="g", content="1\n")
    kept = hands.state.checkpoints
    assert kept is not None
    kept.before_command((), 3)
    (hands.root / "g").unlink()
    (hands.root / "x.log").write_bytes(b"1\n")
    (hands.root / "link").symlink_to("f")
    kept.after_command()
    aicli("undo")
    shown = aicli("undo", "--list").stdout
    assert "0abc-first  turn 3  (undone)\n    deleted  g\n    created  link\n    not covered: x.log" in shown
    assert "turn 1\n    changed  f" in shown
    assert "turn 2\n    created  g" in shown


def test_diff_is_a_patch_of_the_run(hands: Hands) -> None:
    path = hands.put("f", b"one\ntwo\n")
    hands.ok("edit", path="f", old_string="one", new_string="1")
    hands.ok("edit", path="f", old_string="two", new_string="2")
    shown = aicli("diff")
    assert shown.stdout == "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-one\n-two\n+1\n+2\n"
    assert aicli("diff", "--stat").stdout == "f +2 -2\n"
    path.write_bytes(b"by hand\n")
    assert "-two\n+1\n+2\n" in aicli("diff").stdout  # what the run left, not what came later
    path.write_bytes(b"1\n2\n")
    aicli("undo", "2")
    assert aicli("diff").stdout == ""
