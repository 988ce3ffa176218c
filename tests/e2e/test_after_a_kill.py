"""What a killed run leaves behind, what undo makes of it, and folders that can't be written, by the program itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aicli.safety import bubblewrap
from tests.e2e.process import BOUND, Ran, aicli, environment, finish, start
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, text

has_bwrap = sys.platform == "linux" and bool(bubblewrap.find()) and bubblewrap.works(bubblewrap.find())
pytestmark = pytest.mark.skipif(not has_bwrap, reason="bubblewrap is not installed or can't make namespaces here")


def ask(server: ModelServer) -> Ran:
    return aicli("agent", "run", "general", "go", "--yolo", server=server)


def shell(command: str) -> Ran:
    with ModelServer([[call("shell", command=command)], [text("Done.")]]) as server:
        return ask(server)


def killed(root: Path, command: str) -> None:
    """A run that is killed once its command has come so far, and with it all that the command started."""
    os.mkfifo(root / "started")
    line = f"{command}; exec 3> started; echo up >&3; sleep 67"
    with ModelServer([[call("shell", command=line)], "never"]) as server:
        process = start("agent", "run", "general", "go", "--yolo", server=server)
        with open(root / "started") as pipe:
            assert pipe.readline() == "up\n"
            process.kill()
            assert pipe.read() == ""  # whoever could write has ended
        process.communicate(timeout=BOUND)
    (root / "started").unlink()


def test_work_done_after_a_run_was_killed_is_nobody_elses(isolated: Path) -> None:
    readme, mine = isolated / "README.md", isolated / "mine.txt"
    readme.write_text("one\n")
    killed(isolated, "echo two >> README.md; echo run > made.txt")
    readme.write_text(readme.read_text() + "MINE\n")
    mine.write_text("mine\n")
    refused = aicli("undo")
    assert refused.code == 1 and "--force" in refused.err
    for name in ("README.md", "made.txt", "mine.txt"):
        assert f"{name}: a command was cut off, so this may be somebody else's change" in refused.err
    assert readme.read_text() == "one\ntwo\nMINE\n" and mine.exists()
    assert "changed  README.md  (not sure: a command was cut off)" in aicli("undo", "--list").text
    assert "README.md: a command was cut off" in aicli("diff").err
    assert "README.md：有命令被中断，这可能是他人的修改" in aicli("diff", env={"AICLI_UI__LANGUAGE": "zh"}).err
    shown = aicli("undo", "--force").text
    assert "put back: README.md" in shown and "removed: made.txt" in shown
    assert readme.read_text() == "one\n"


def test_what_comes_after_the_next_run_is_not_in_doubt(isolated: Path) -> None:
    readme = isolated / "README.md"
    readme.write_text("one\n")
    killed(isolated, "echo two > README.md")
    shell("echo x > other.txt")
    (isolated / "mine.txt").write_text("mine\n")
    assert "removed: other.txt" in aicli("undo").text
    assert "README.md" in aicli("undo").err
    assert "mine.txt" not in aicli("undo", "--force").text
    assert readme.read_text() == "one\n" and (isolated / "mine.txt").exists()


def test_the_places_that_a_sandbox_held_are_gone_with_the_next_run(isolated: Path) -> None:
    killed(isolated, "true")
    assert ".vscode" in os.listdir(isolated)
    with ModelServer([[text("Hello.")]]) as server:
        assert ask(server).code == 0
        assert ".vscode" not in str(server.requests[0].body) and ".envrc" not in str(server.requests[0].body)
    assert os.listdir(isolated) == []


def test_links_and_folders_of_a_command_are_undone(isolated: Path) -> None:
    (isolated / "src").mkdir()
    for name in ("README.md", "src/cart.py"):
        (isolated / name).write_text(name)
    shell("rm README.md; ln -s src/cart.py README.md; ln -s /etc/passwd lnk; mkdir -p out/deep; echo 1 > out/deep/f")
    assert (isolated / "README.md").is_symlink()
    assert "+/etc/passwd" in aicli("diff").text
    undone = aicli("undo")
    assert undone.err == "" and "put back: README.md" in undone.text and "removed: lnk" in undone.text
    assert not (isolated / "README.md").is_symlink()
    assert [(isolated / n).read_text() for n in ("README.md", "src/cart.py")] == ["README.md", "src/cart.py"]
    assert sorted(os.listdir(isolated)) == ["README.md", "src"]


def test_the_list_holds_only_turns_that_changed_something(isolated: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=isolated, check=True)
    for command in ("python3 -c 1", "echo x > a; git add a", "true; false"):
        shell(command)
    listed = aicli("undo", "--list").text
    assert listed.count("turn 1") == 1
    assert "created  a\n    not covered: .git/" in listed


READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 77; cd "$1"; shift; exec "$@"'


@pytest.mark.parametrize("git", [False, True])
def test_commands_run_in_a_folder_that_is_read_only(isolated: Path, git: bool) -> None:
    work = isolated / "work"
    work.mkdir()
    if git:
        subprocess.run(["git", "init", "-q", "."], cwd=work, check=True)
    (work / "a.txt").write_text("here\n")

    def inside(*args: str, server: ModelServer | None = None) -> Ran:
        command = ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", str(work), sys.executable, "-m", "aicli", *args]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return finish(subprocess.Popen(command, env=environment(server), **streams))  # type: ignore[call-overload]

    line = "python3 -c 'print(open(\"a.txt\").read())'; mkdir .vscode"
    with ModelServer([[call("shell", command=line)], [text("Done.")]]) as server:
        ran = inside("agent", "run", "general", "go", "--yolo", server=server)
        if ran.code == 77 or "unshare" in ran.err:
            pytest.skip("no folder can be mounted read-only here")
        answer = str(server.requests[1].body)
    assert ran.code == 0 and "here" in answer and "bwrap" not in answer and "Read-only" in answer
    assert "can't be tried" not in inside("doctor").text
