"""A repository that a command made is tamed, whatever else runs and swaps there, and whatever its modes are."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aicli.safety.fresh_git import tame
from aicli.safety.masks import Masks, Untidy
from aicli.safety.sandbox_paths import git_folder
from aicli.workspace.beneath import Root, folder_fd
from aicli.workspace.gitindex import index_of
from tests.support.counts import count

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a sandbox that needs this")
OTHER = 65534

SWAP = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
outside, rounds = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
for _ in range(rounds):
    if libc.renameat2(-100, b".git", -100, b"l", 2) == 0:  # they change places in one step
        continue
    for mine, other in ((".git", "l"), ("l", ".git")):
        if not os.path.lexists(mine):
            try:
                if os.path.islink(other):
                    os.makedirs(mine + "/hooks/deep/er")
                    open(mine + "/hooks/pre-commit", "x").close()
                else:
                    os.symlink(outside, mine)
            except OSError:
                pass
"""


def evil(git: Path) -> None:
    (git / "hooks" / "deep" / "er").mkdir(parents=True)
    (git / "hooks" / "pre-commit").write_text("#!/bin/sh\ntouch PWN\n")
    (git / "hooks" / "pre-commit.sample").write_text("a sample\n")
    (git / "config").write_text("[core]\n\tfsmonitor = ./ev\n")
    (git / "modules" / "m" / "hooks").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")


def is_tame(git: Path) -> bool:
    return (
        os.listdir(git / "hooks") == ["pre-commit.sample"]
        and "fsmonitor" not in (git / "config").read_text()
        and not (git / "modules").exists()
    )


@contextmanager
def ordinary_user() -> Iterator[Path]:
    """A folder of somebody whom modes bind: root becomes somebody else meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="tame-"))
    try:
        if os.geteuid() == 0:
            os.chown(folder, OTHER, OTHER)
            os.seteuid(OTHER)
        yield folder
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=True)
        shutil.rmtree(folder)


def held(outside: Path) -> dict[str, str]:
    return {str(p.relative_to(outside)): p.read_text() for p in outside.rglob("*") if p.is_file()}


def test_nothing_outside_is_touched_while_a_command_swaps(tmp_path: Path) -> None:
    outside, work = tmp_path / "outside", tmp_path / "space"
    evil(outside)
    work.mkdir()
    before = held(outside)
    evil(work / ".git")
    (work / "l").symlink_to(outside)
    rounds = count(40_000, 2_000_000)
    argv = [sys.executable, "-I", "-S", "-c", SWAP, str(outside), str(rounds)]
    with subprocess.Popen(argv, cwd=work, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        while child.poll() is None:
            tame(str(work / ".git"))
    assert child.returncode == 0
    assert held(outside) == before
    assert tame(str(work / ".git")) == "" and (
        not (work / ".git").exists() or not (work / ".git" / "hooks" / "deep").exists()
    )


def test_a_link_on_the_way_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    evil(outside / ".git")
    before = held(outside)
    (tmp_path / "space").symlink_to(outside)
    assert "Do not use git" in tame(str(tmp_path / "space" / ".git"))
    with pytest.raises(OSError):
        folder_fd(str(tmp_path / "space"))
    (tmp_path / "w").mkdir()
    for name in ("hooks", "modules", "config"):
        (tmp_path / "w" / ".git").mkdir(exist_ok=True)
        (tmp_path / "w" / ".git" / name).symlink_to(outside / ".git" / name)
    assert tame(str(tmp_path / "w" / ".git")) == ""
    assert os.listdir(tmp_path / "w" / ".git") == ["config"] and held(outside) == before


def test_a_root_that_was_made_anew_is_not_reached_by_a_link(tmp_path: Path) -> None:
    """A folder of --add-dir below the workspace: a command can put a link into the way to it."""
    inner, outside = tmp_path / "w" / "a" / "sub", tmp_path / "outside" / "sub"
    inner.mkdir(parents=True)
    outside.mkdir(parents=True)
    root = Root(str(inner))
    assert os.fstat(root.fd).st_ino == inner.stat().st_ino
    shutil.rmtree(tmp_path / "w" / "a")
    (tmp_path / "w" / "a").symlink_to(outside.parent)
    with pytest.raises(OSError):
        root.fd  # noqa: B018
    (tmp_path / "w" / "a").unlink()
    inner.mkdir(parents=True)
    assert os.fstat(root.fd).st_ino == inner.stat().st_ino


@pytest.mark.parametrize(
    ("closed", "mode"),
    [
        ((".git/hooks",), 0o500),
        ((".git/hooks", ".git"), 0o000),
        ((".git/hooks/deep", ".git/config", ".git/modules/m", ".git/hooks", ".git", "."), 0o400),
        ((".",), 0o555),
    ],
)
def test_modes_do_not_keep_it_from_being_tamed(closed: tuple[str, ...], mode: int) -> None:
    with ordinary_user() as work:
        evil(work / ".git")
        for name in closed:
            (work / name).chmod(mode)
        assert tame(str(work / ".git")) == ""
        assert stat.S_IMODE(work.stat().st_mode) == (mode if "." in closed else 0o700)
        work.chmod(0o700)
        assert is_tame(work / ".git")


def test_what_can_not_be_tamed_is_moved_aside_and_named() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder that its ordinary user can't clear")
    with ordinary_user() as work:
        evil(work / ".git")
        os.seteuid(0)
        os.chown(work / ".git" / "hooks", 0, 0)
        os.chmod(work / ".git" / "hooks", 0o755)
        os.seteuid(OTHER)
        said = tame(str(work / ".git"))
        (aside,) = os.listdir(work)
        assert aside.startswith(".git-untamed-") and aside in said and "could not be made safe" in said
        assert "fsmonitor" not in (work / aside / "config").read_text(), "the steps after the one that failed were done"
        assert not (work / aside / "HEAD").exists(), "nor does git take it for a repository under its new name"
        os.seteuid(0)
        os.chown(work, 0, 0)
        os.chmod(work, 0o755)
        os.seteuid(OTHER)
        os.chdir(work)
        os.seteuid(0)
        os.rename(aside, ".git")
        os.seteuid(OTHER)
        said = tame(str(work / ".git"))
        assert "Do not use git" in said and "nor moved aside" in said
        os.chdir("/")


def test_a_deep_tree_goes_too(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    (git / "hooks").mkdir(parents=True)
    fd = os.open(git / "hooks", os.O_RDONLY)
    for _ in range(1_500):  # deeper than a recursion goes
        os.mkdir("d", dir_fd=fd)
        below = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    try:
        assert tame(str(git)) == "" and os.listdir(git / "hooks") == []
    finally:
        subprocess.run(["rm", "-rf", str(git)], check=True)  # Python's own way of removing it would fail too


def test_odd_things_in_place_of_folders_and_settings(tmp_path: Path) -> None:
    git = tmp_path / "目录" / ".git"
    git.mkdir(parents=True)
    os.mkfifo(git / "config")
    os.mkfifo(git / "hooks")
    (git / "commondir").mkdir()
    (git / "commondir" / os.fsdecode(b"\xff\n")).write_text("x")
    assert tame(str(git)) == "" and os.listdir(git) == ["config"] and "bare = false" in (git / "config").read_text()
    (git / "config").write_text("# 好\n" * 40_000 + "[core]\n\tfsmonitor = ./ev\n")
    assert tame(str(git)) == "" and (git / "config").stat().st_size < 200
    (git / "config").unlink()
    (git / "config").mkdir()
    before = sorted(os.listdir("/proc/self/fd"))
    assert tame(str(git)) == "" and (git / "config").is_file() and sorted(os.listdir("/proc/self/fd")) == before
    os.mkfifo(tmp_path / ".git")
    assert tame(str(tmp_path / ".git")) == "" and not (tmp_path / ".git").exists()
    assert tame(str(tmp_path / "none" / ".git")) == ""


def test_a_repository_put_in_anothers_place_is_tamed_too(isolated: Path) -> None:
    git = isolated / ".git"
    git.mkdir()
    (git / "config").write_text("[alias]\n\tmine = !true\n")
    hold = Masks([str(isolated)]).hold()
    hold.unwanted(str(git / "commondir"))
    (git / "commondir").write_text("/tmp")
    hold.release()
    assert os.listdir(git) == ["config"] and "mine" in (git / "config").read_text()
    hold = Masks([str(isolated)]).hold()
    hold.unwanted(str(git / "commondir"))
    git.rename(isolated / "old")
    evil(git)
    hold.release()
    assert is_tame(git) and "mine" in (isolated / "old" / "config").read_text()


def test_masks_are_removed_beneath_alone(isolated: Path, tmp_path: Path) -> None:
    work, outside = isolated / "w", isolated / "outside"
    (outside / "hooks").mkdir(parents=True)
    work.mkdir()
    hold = Masks([str(work)]).hold()
    hold.made(str(work / ".git" / "hooks"))
    hold.made(str(work / ".idea"))
    (work / ".git").symlink_to(outside)
    (work / ".idea").mkdir()
    hold.release()
    assert (outside / "hooks").is_dir() and os.listdir(work) == [".git"]


def test_every_step_is_tried_and_what_failed_is_said(isolated: Path) -> None:
    (isolated / "link").symlink_to(isolated.parent)
    hold = Masks([str(isolated)]).hold()
    hold.fresh(str(isolated / "link" / ".git"))
    hold.fresh(str(isolated / ".git"))
    hold.made(str(isolated / ".vscode"))
    (isolated / ".vscode").mkdir()
    evil(isolated / ".git")
    with pytest.raises(Untidy, match="Do not use git"):
        hold.release()
    assert is_tame(isolated / ".git") and not (isolated / ".vscode").exists()


@pytest.mark.timeout(60)
def test_pipes_in_a_repository_keep_nothing_waiting(isolated: Path) -> None:
    """They may stand there while the command that made them runs in the background."""
    before = sorted(os.listdir("/proc/self/fd"))
    os.mkfifo(isolated / ".git")
    assert git_folder(str(isolated)) == ""
    (isolated / ".git").unlink()
    (isolated / ".git").mkdir()
    assert git_folder(str(isolated)) == "" and index_of(isolated) == (b"", 0)
    for name in ("index", "config"):
        os.mkfifo(isolated / ".git" / name)
        assert index_of(isolated) == (b"", 0)
    assert sorted(os.listdir("/proc/self/fd")) == before
    (isolated / ".git").rename(isolated / "old")
    (isolated / ".git").write_text("gitdir: real/.git\n")
    assert git_folder(str(isolated)) == str(isolated / "real/.git")
