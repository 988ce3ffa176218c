"""Search and listing in a further root, and over folders that may not be read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from aicli.tools.builtin.glob import glob
from aicli.tools.builtin.grep import grep
from aicli.tools.builtin.ls import ls
from aicli.tools.builtin.shell import shell
from aicli.tools.state import RunState
from aicli.workspace.root import Workspace
from tests.tools.calling import call

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", ["/nowhere", os.environ.get("PATH", "")], ids=["without ripgrep", "with"])
def test_a_further_root(isolated: Path, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", path)
    more = tmp_path / "more"
    (more / "sub").mkdir(parents=True)
    (more / ".gitignore").write_text("*.log\n")
    for name in ("a.py", "b.log", "sub/c.py"):
        (more / name).write_text("word\n")
    (isolated / "own.py").write_text("word\n")
    state = RunState(workspace=Workspace(isolated, [more]))
    assert call(grep, state, pattern="word").text == "own.py:1: word"
    assert call(grep, state, pattern="word", path=str(more)).text == f"{more}/a.py:1: word\n{more}/sub/c.py:1: word"
    assert call(grep, state, pattern="word", path=f"{more}/b.log").text == f"{more}/b.log:1: word"
    assert call(grep, state, pattern="word", path=str(more), glob="sub/*").text == f"{more}/sub/c.py:1: word"
    assert call(grep, state, pattern="word", path="../more", mode="count").text.splitlines()[0] == f"{more}/a.py: 1"
    assert set(call(glob, state, pattern="**/*", path=str(more)).text.split()) == {f"{more}/a.py", f"{more}/sub/c.py"}
    assert call(glob, state, pattern=f"{more}/sub/*.py").text == f"{more}/sub/c.py"
    assert "b.log  5 B  (ignored)" in call(ls, state, path=str(more)).text
    assert f"{more}/sub\n" in call(shell, state, command="pwd -P #", cwd=f"{more}/sub").text


PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from aicli.content.parts import FunctionCallPart
from aicli.tools.base import ToolContext
from aicli.tools.builtin.glob import glob
from aicli.tools.builtin.ls import ls
from aicli.tools.state import RunState
from aicli.workspace.listing import Listing
from aicli.workspace.root import Workspace
os.chdir(sys.argv[1])
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
workspace = Workspace(Path.cwd())
context = ToolContext(state=RunState(workspace=workspace))
print(ls.run(context, depth=2).text)
print("--")
print(glob.run(context, "**/*").text)
print("--")
listing = Listing(workspace, workspace.real("."))
print(list(listing.files()), listing.failed[0][0])
"""


@pytest.mark.skipif(os.name != "posix", reason="closed folders are POSIX's")
def test_closed_folders_links_in_a_circle_and_dangling_ones() -> None:
    """As an ordinary user, for root may read everything."""
    folder = tempfile.mkdtemp()
    try:
        os.chmod(folder, 0o755)
        Path(folder, "ok.txt").write_text("word\n")
        Path(folder, "gone").symlink_to("nowhere")
        Path(folder, "a").symlink_to("b")
        Path(folder, "b").symlink_to("a")
        Path(folder, "closed").mkdir(mode=0o000)
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        argv = [sys.executable, "-c", PROGRAM, folder]
        done = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=60)
        assert done.returncode == 0, done.stderr
        listed, globbed, walked = done.stdout.split("--\n")
        assert listed.startswith("closed/\n  [Cannot list closed: permission denied (EACCES).]\n")
        assert all(name in listed for name in ("a -> b", "b -> a", "gone -> nowhere", "ok.txt  5 B"))
        assert set(globbed.splitlines()) == {"ok.txt", "gone", "a", "b", "[not readable: closed]"}
        assert walked == "['ok.txt'] closed\n"
    finally:
        os.chmod(Path(folder, "closed"), 0o700)
        shutil.rmtree(folder)
