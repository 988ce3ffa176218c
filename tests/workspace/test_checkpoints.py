"""Undo restores every byte and mode, in another process and after a crash, and never over somebody else's work."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.workspace.checkpoints import Checkpoints
from aicli.workspace.history import History, NothingToUndo, UndoRefused
from aicli.workspace.root import Workspace
from aicli.workspace.snapshot import MOST_FILES
from tests.support.counts import count
from tests.support.hands import Hands

REPO = Path(__file__).parents[2]


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"


@pytest.fixture
def hands(isolated: Path, kept: Path) -> Hands:
    return Hands(isolated, checkpoints=kept)


def checkpoints(hands: Hands) -> Checkpoints:
    assert hands.state.checkpoints is not None
    return hands.state.checkpoints


def shell(hands: Hands, line: str) -> list[str]:
    """A command as the shell tool brackets it."""
    hands.state.turn += 1
    kept = checkpoints(hands)
    kept.before_command(tuple(hands.state.seen), hands.state.turn)
    subprocess.run(["sh", "-c", line], cwd=hands.root, check=True)
    return sorted(kept.after_command())


def tree(root: Path) -> dict[str, tuple[bytes, int, int]]:
    return {
        p.relative_to(root).as_posix(): (p.read_bytes(), stat.S_IMODE(p.stat().st_mode), p.stat().st_mtime_ns)
        for p in sorted(root.rglob("*"))
        if p.is_file() and ".git/" not in p.as_posix()
    }


def test_write_edit_and_create_are_undone_in_a_new_process(hands: Hands, kept: Path) -> None:
    path = hands.put("run.sh", b"#!/bin/sh\r\n\xff\n")
    path.chmod(0o750)
    os.utime(path, ns=(10**18, 10**18 + 7))
    before = tree(hands.root)
    hands.ok("write_file", path="run.sh", content="new\n")
    hands.ok("edit", path="run.sh", old_string="new", new_string="newer")
    hands.ok("write_file", path="a/b/c", content="made\n")
    code = (
        "import sys; from pathlib import Path\n"
        "from aicli.workspace.history import History; from aicli.workspace.root import Workspace\n"
        "h = History(Path(sys.argv[1]), Workspace(Path(sys.argv[2])))\n"
        "print(*h.undo().restored)\n"
    )
    for wanted in ("a/b/c", "run.sh", "run.sh"):
        done = subprocess.run(
            [sys.executable, "-c", code, kept, hands.root], capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == [wanted]
    assert tree(hands.root) == before
    assert os.listdir(hands.root) == ["run.sh"]  # the folders made for a/b/c are gone too


def test_a_file_changed_by_hand_meanwhile_is_left_alone_unless_forced(hands: Hands) -> None:
    path = hands.put("f", b"one\n")
    hands.put("g", b"one\n")
    hands.ok("edit", path="f", old_string="one", new_string="two")
    path.write_bytes(b"by hand\n")
    with pytest.raises(UndoRefused, match="changed since"):
        checkpoints(hands).undo()
    assert path.read_bytes() == b"by hand\n"
    path.unlink()
    with pytest.raises(UndoRefused, match="removed since"):
        checkpoints(hands).undo()
    assert checkpoints(hands).undo(force=True).restored == ("f",)
    assert path.read_bytes() == b"one\n"


def test_an_undo_that_can_not_do_all_does_nothing(hands: Hands) -> None:
    hands.put("f", b"1")
    hands.put("g", b"1")
    for name in ("f", "g"):
        hands.ok("write_file", path=name, content="2")
    (hands.root / "f").write_bytes(b"hand")
    with pytest.raises(UndoRefused):
        checkpoints(hands).undo(2)
    assert (hands.root / "g").read_bytes() == b"2"


def test_an_undo_can_be_taken_back_and_the_last_turns_counted(hands: Hands) -> None:
    path = hands.put("f", b"0")
    for n in "123":
        hands.ok("write_file", path="f", content=n)
    history = checkpoints(hands)
    assert history.undo(2).turns == 2
    assert path.read_bytes() == b"1"
    assert history.redo().restored == ("f",)
    assert path.read_bytes() == b"3"
    history.undo()
    hands.ok("read_file", path="f")
    hands.ok("write_file", path="f", content="9")
    history.undo()
    assert path.read_bytes() == b"2"
    history.undo(99)
    assert path.read_bytes() == b"0"
    with pytest.raises(NothingToUndo):
        history.undo()


def test_a_second_task_that_counts_turns_from_one_again_is_its_own(hands: Hands) -> None:
    path = hands.put("f", b"0")
    hands.ok("write_file", path="f", content="1")
    checkpoints(hands).new_task()
    hands.state.turn = 0
    hands.ok("write_file", path="f", content="2")
    checkpoints(hands).undo()
    assert path.read_bytes() == b"1"


def test_a_rewind_takes_back_a_task_and_all_after_it(hands: Hands) -> None:
    path = hands.put("f", b"0")
    kept = checkpoints(hands)
    tasks = []
    for n in "1234":
        tasks.append(kept.new_task())
        hands.state.turn = 0
        hands.ok("write_file", path="f", content=n)
        hands.ok("write_file", path=f"new{n}", content=n)
    assert sorted(kept.rewind(tasks[1]).restored) == ["f", "new2", "new3", "new4"]
    assert path.read_bytes() == b"1"
    with pytest.raises(NothingToUndo):
        kept.rewind(tasks[2])
    with pytest.raises(NothingToUndo):
        kept.rewind("unknown")
    kept.rewind(tasks[0])
    assert path.read_bytes() == b"0"
    assert os.listdir(hands.root) == ["f"]


@pytest.mark.parametrize("git", [False, True])
def test_what_a_command_changed_is_undone(hands: Hands, git: bool) -> None:
    for name in ("keep", "change", "delete", "sub/move", "mode"):
        hands.put(name, f"{name}\n".encode())
    if git:
        line = (
            "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm x && sleep 0.1 && git add ."
        )
        subprocess.run(["sh", "-c", line], cwd=hands.root, check=True)
        index = hands.root / ".git" / "index"
        later = time.time_ns() + 2_000_000_000
        os.utime(index, ns=(later, later))  # every entry is older than the index: none has to be read to be sure
    before = tree(hands.root)
    changed = shell(hands, "echo x > change; rm delete; mv sub/move sub/moved; chmod 600 mode; mkdir n; echo y > n/new")
    assert changed == ["change", "delete", "mode", "n/new", "sub/move", "sub/moved"]
    if git:
        contents = {p.read_bytes() for p in (hands.state.checkpoints.folder / "blobs").rglob("*") if p.is_file()}  # type: ignore[union-attr]
        assert b"keep\n" not in contents  # it stands in git's objects
    diffs = {d.path: d.diff for d in checkpoints(hands).diff()}
    assert "-change\n+x\n" in diffs["change"].text
    checkpoints(hands).undo()
    assert tree(hands.root) == before


def test_a_command_that_changes_nothing_makes_no_turn(hands: Hands) -> None:
    hands.put("f", b"1")
    assert shell(hands, "cat f > /dev/null; touch f") == []
    with pytest.raises(NothingToUndo):
        checkpoints(hands).undo()


def test_a_change_within_the_same_tick_and_of_the_same_size_is_seen(hands: Hands) -> None:
    path = hands.put("f", b"aaaa")
    status = path.stat()
    kept = checkpoints(hands)
    kept.before_command((), 1)
    path.write_bytes(b"bbbb")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert list(kept.after_command()) == ["f"]


def test_what_is_not_covered_is_named(hands: Hands) -> None:
    hands.put(".gitignore", b"node_modules/\n")
    hands.put("node_modules/m/index.js", b"1")
    hands.put("seen.log", b"s")
    (hands.root / "seen.log").write_bytes(b"s" * 21_000_000)
    hands.put("other.log", b"o" * 21_000_000)
    (hands.root / "link").symlink_to("seen.log")
    hands.ok("read_file", path="seen.log")
    assert shell(hands, "echo x >> seen.log; echo y >> other.log; echo z > node_modules/m/index.js") == [
        "other.log",
        "seen.log",
    ]
    group = checkpoints(hands).list()[0]
    assert set(group.skipped) == {"node_modules/", "other.log"}
    with pytest.raises(UndoRefused, match=r"other\.log: its old content was not kept"):
        checkpoints(hands).undo()
    done = checkpoints(hands).undo(force=True)
    assert done.restored == ("seen.log",)
    assert list(done.left) == ["other.log"]
    assert (hands.root / "seen.log").stat().st_size == 21_000_000
    assert (hands.root / "other.log").stat().st_size == 21_000_002


def test_a_workspace_of_many_files_is_covered_up_to_the_bound(hands: Hands) -> None:
    for n in range(MOST_FILES + 40):
        (hands.root / f"f{n}").write_bytes(b"%d" % n)
    (hands.root / "f7").write_bytes(b"longer than all the others")
    hands.ok("read_file", path="f7")
    shell(hands, "echo x > f7; echo new > fresh")
    checkpoints(hands).undo()
    assert (hands.root / "f7").read_bytes() == b"longer than all the others"
    assert not (hands.root / "fresh").exists()


def test_programs_that_git_would_start_are_never_started(hands: Hands) -> None:
    hands.put("f", b"old\n")
    evil = hands.put("evil.sh", f"#!/bin/sh\ntouch {hands.root}/PWNED\ncat\n".encode())
    evil.chmod(0o755)
    line = (
        "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm x && "
        f"git config core.fsmonitor {evil} && git config filter.x.clean {evil} && git config filter.x.smudge {evil} && "
        f"git config core.hooksPath {hands.root} && git config core.sshCommand {evil}"
    )
    subprocess.run(["sh", "-c", line], cwd=hands.root, check=True)
    (hands.root / ".gitattributes").write_bytes(b"* filter=x\n")
    shell(hands, "echo new > f")
    checkpoints(hands).undo()
    assert (hands.root / "f").read_bytes() == b"old\n"
    assert not (hands.root / "PWNED").exists()


def settle_down(path: Path) -> None:
    """Until the file's own time of change lies well before the next command."""
    until = time.monotonic() + 5
    while time.time_ns() - path.stat().st_ctime_ns < 20_000_000 and time.monotonic() < until:
        os.sched_yield()


def links(root: Path) -> dict[str, str]:
    return {p.relative_to(root).as_posix(): os.readlink(p) for p in root.rglob("*") if p.is_symlink()}


@pytest.mark.parametrize("force", [False, True])
def test_links_of_a_command_are_undone_as_links_and_nothing_is_written_through_them(hands: Hands, force: bool) -> None:
    for name in ("README", "src/a", "src/b", "src/sub/c", "was/f"):
        hands.put(name, f"{name}\n".encode())
    for name, target in (("old", "README"), ("gone", "/etc/passwd"), ("moved", "没有")):
        (hands.root / name).symlink_to(target)
    before, linked = tree(hands.root), links(hands.root)
    line = (
        "rm README; ln -s src/a README; ln -sf src/b old; rm gone; ln -s /etc/passwd out; mkdir n; ln -s ../README n/l;"
        "mv src src2; ln -s src2 src; rm moved; echo x > moved; rm -r was; echo y > was"
    )
    changed = shell(hands, line)
    assert {"README", "old", "gone", "out", "n/l", "src", "src/a", "src/sub/c", "src2/a", "moved", "was"} <= set(
        changed
    )
    diffs = {d.path: d for d in checkpoints(hands).diff()}
    assert "+/etc/passwd" in diffs["out"].diff.text and diffs["out"].note == "now a link to /etc/passwd"
    checkpoints(hands).undo(force=force)
    assert (tree(hands.root), links(hands.root)) == (before, linked)
    assert sorted(p.name for p in hands.root.iterdir()) == ["README", "gone", "moved", "old", "src", "was"]
    checkpoints(hands).redo()
    assert os.readlink(hands.root / "README") == "src/a" and os.readlink(hands.root / "src") == "src2"
    assert (hands.root / "was").read_bytes() == b"y\n"


def test_a_link_that_somebody_turned_elsewhere_is_left_alone(hands: Hands) -> None:
    path = hands.put("f", b"mine\n")
    shell(hands, "ln -s f l")
    (hands.root / "l").unlink()
    (hands.root / "l").symlink_to("g")
    with pytest.raises(UndoRefused, match="l: it was changed since"):
        checkpoints(hands).undo()
    (hands.root / "l").unlink()
    (hands.root / "l").write_bytes(b"f")  # the text of a link is no link
    with pytest.raises(UndoRefused, match="l: it was changed since"):
        checkpoints(hands).undo()
    assert path.read_bytes() == b"mine\n"


def test_folders_that_a_command_made_or_removed_are_undone(hands: Hands) -> None:
    hands.put("keep/f", b"1")
    (hands.root / "empty/inner").mkdir(parents=True)
    shell(hands, "mkdir -p a/b/c a/d; echo 1 > a/d/f; rmdir empty/inner; rm keep/f; mkdir keep/f; echo 2 > keep/f/g")
    checkpoints(hands).undo()
    assert sorted(p.relative_to(hands.root).as_posix() for p in hands.root.rglob("*")) == [
        *("empty", "empty/inner", "keep", "keep/f"),
    ]
    assert (hands.root / "keep/f").read_bytes() == b"1"
    shell(hands, "mkdir -p new/x")
    mine = hands.put("new/x/mine", b"m")
    assert checkpoints(hands).undo().left == {"new/x": "it is not empty"}
    assert mine.read_bytes() == b"m"


def test_only_what_changed_of_the_uncovered_is_named(hands: Hands) -> None:
    hands.put(".gitignore", b"node_modules/\n*.tmp\nbuild/\n")
    hands.put("node_modules/m/index.js", b"1")
    hands.put("x.tmp", b"1")
    settle_down(hands.root / "x.tmp")
    shell(hands, "true")
    assert not checkpoints(hands).list()
    shell(hands, "rm node_modules/m/index.js; mkdir build; rm x.tmp")
    assert set(checkpoints(hands).list()[0].skipped) == {"node_modules/", "build/", "x.tmp"}


def test_what_was_not_covered_is_never_removed_as_new(hands: Hands) -> None:
    """Neither when the rules that left it out are gone, nor when it was moved to where they don't say so."""
    hands.put(".gitignore", b"node_modules/\n.env\n")
    for name in ("node_modules/m/index.js", "node_modules/p/q/r.js", ".env", "src/a"):
        os.utime(hands.put(name, name.encode()), (1_700_000_000, 1_700_000_000))
    settle_down(hands.root / "src/a")
    shell(hands, "echo > .gitignore; echo x > new; mv src src2; mkdir src; touch -r src2/a src/b")
    checkpoints(hands).undo()
    there = {p.relative_to(hands.root).as_posix() for p in hands.root.rglob("*") if p.is_file()}
    assert there == {".gitignore", "node_modules/m/index.js", "node_modules/p/q/r.js", ".env", "src/a"}
    shell(hands, "mv node_modules/p .; mv .env env; echo x > new")
    with pytest.raises(UndoRefused, match="env: its old content was not kept"):
        checkpoints(hands).undo()
    assert set(checkpoints(hands).undo(force=True).left) == {"env", "p/q/r.js"}
    assert (hands.root / "env").read_bytes() == b".env" and (hands.root / "p/q/r.js").exists()
    assert not (hands.root / "new").exists()


def test_what_came_after_a_killed_run_is_not_taken_for_its_work(hands: Hands, kept: Path) -> None:
    """The next run looks first at what the killed one left; what comes then is its own or the person's."""
    hands.put("f", b"zero\n")
    subprocess.run([sys.executable, "-c", KILLED, hands.root, kept, "command"], cwd=REPO, check=False)
    second = Hands(hands.root, checkpoints=kept, run_id="second")
    second.ok("write_file", path="other", content="1")
    hands.put("mine", b"m\n")
    history = History(kept, Workspace(hands.root))
    history.undo(run="second")
    done = history.undo(run="run", force=True)
    assert set(done.restored) == {"f", "new"} and done.removed == ("new",)
    assert sorted(os.listdir(hands.root)) == ["f", "mine"]


def test_the_command_of_a_living_run_is_left_to_it(hands: Hands, kept: Path) -> None:
    path = hands.put("f", b"0")
    checkpoints(hands).before_command(("f",), 1)
    path.write_bytes(b"1")
    assert History(kept, Workspace(hands.root)).diff("run") == []
    assert checkpoints(hands).after_command() == ["f"]
    checkpoints(hands).undo()
    assert path.read_bytes() == b"0"


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.support.hands import Hands
hands = Hands(Path(sys.argv[1]), checkpoints=Path(sys.argv[2]))
kept = hands.state.checkpoints
hands.ok("write_file", path="f", content="first\\n")
if sys.argv[3] == "command":
    kept.before_command(("f",), 5)
    Path(sys.argv[1], "f").write_text("by the command\\n")
    Path(sys.argv[1], "new").write_text("by the command\\n")
else:
    import hashlib
    new = b"second\\n"
    kept.before("f", 5, hashlib.sha256(new).hexdigest())
    if sys.argv[3] == "after":
        hands.state.workspace.write("f", new)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("moment", ["before", "after", "command"])
def test_undo_works_after_the_process_was_killed(hands: Hands, kept: Path, moment: str) -> None:
    path = hands.put("f", b"zero\n")
    done = subprocess.run([sys.executable, "-c", KILLED, hands.root, kept, moment], cwd=REPO, check=False)
    assert done.returncode == -signal.SIGKILL
    history = History(kept, Workspace(hands.root))
    if moment == "command":  # what it left can't be told from what came later
        with pytest.raises(UndoRefused, match="cut off"):
            history.undo()
    history.undo(force=moment == "command")
    assert path.read_bytes() == b"first\n"
    assert not (hands.root / "new").exists()
    history.undo()
    assert path.read_bytes() == b"zero\n"


def test_a_torn_or_strange_journal_is_read_as_far_as_it_goes(hands: Hands, kept: Path) -> None:
    path = hands.put("f", b"0")
    hands.ok("write_file", path="f", content="1")
    hands.ok("write_file", path="f", content="2")
    journal = kept / "runs" / "run.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"\x00garbage\n" + b"".join(lines) + b'{"t":"before","g":"x","path"')
    history = History(kept, Workspace(hands.root))
    history.undo(2)
    assert path.read_bytes() == b"0"
    assert History(kept, Workspace(hands.root)).groups()[0].undoes


def test_what_is_kept_is_closed_to_others(hands: Hands, kept: Path) -> None:
    old = os.umask(0)
    try:
        hands.put("f", b"secret")
        hands.ok("write_file", path="f", content="1")
        shell(hands, "echo 2 > f")
    finally:
        os.umask(old)
    for path in (kept, *kept.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_the_space_is_bounded_and_the_oldest_runs_go_first(isolated: Path, kept: Path) -> None:
    path = isolated / "f"
    path.write_bytes(b"start")
    for n in range(6):
        hands = Hands(isolated, checkpoints=kept, run_id=f"run{n}")
        hands.ok("write_file", path="f", content=f"{n}" * 400_000)
        old = time.time() - 7_200 + n
        os.utime(kept / "runs" / f"run{n}.jsonl", (old, old))
    for blob in (kept / "blobs").rglob("*"):
        os.utime(blob, (1, 1))
    history = History(kept, Workspace(isolated))
    history.prune(1_000_000, keep="run5")
    size = sum(p.stat().st_size for p in (kept / "blobs").rglob("*") if p.is_file())
    assert size <= 1_000_000
    assert [r.id for r in history.runs()][-1] == "run5"
    assert len(history.runs()) < 6
    history.undo()
    assert path.read_bytes() == b"4" * 400_000


def test_a_link_and_its_target_are_one_file(hands: Hands) -> None:
    path = hands.put("d/f", b"0")
    (hands.root / "l").symlink_to("d/f")
    hands.ok("write_file", path="l", content="1")
    assert checkpoints(hands).undo().restored == ("d/f",)
    assert path.read_bytes() == b"0"
    assert (hands.root / "l").is_symlink()


def test_a_small_edit_makes_two_writes_that_are_flushed(hands: Hands, kept: Path) -> None:
    hands.put("f", b"0")
    hands.ok("write_file", path="f", content="1")
    records = (kept / "runs" / "run.jsonl").read_bytes().splitlines()
    assert len(records) == 3  # the run, before, after
    assert sum(len(r) for r in records) < 1_000


ACT = st.tuples(
    st.sampled_from(["write", "edit", "create", "shell"]),
    st.sampled_from(["a", "b", "sub/c"]),
    st.sampled_from([b"x\r\n", b"\xff\xfe\x00", b"", "中文".encode(), b"line\n" * 3]),
)


@given(st.lists(ACT, min_size=1, max_size=5))
@settings(max_examples=count(20, 1_000), deadline=None)
def test_whatever_was_done_undo_restores_every_byte_mode_and_time(acts: list[tuple[str, str, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, kept = Path(folder, "w"), Path(folder, "kept")
        root.mkdir()
        hands = Hands(root, checkpoints=kept)
        hands.put("a", b"\xef\xbb\xbfa\r\n\xff").chmod(0o640)
        hands.put("b", b"b")
        before = tree(root)
        for what, name, data in acts:
            if what == "shell":
                (Path(folder) / "data").write_bytes(data)
                shell(hands, f"rm -f b; mkdir -p sub; cp ../data {name}; chmod 700 {name}")
            elif what == "edit":
                hands.call("edit", path=name, old_string="a", new_string=data.decode("latin-1"))
            else:
                hands.call("write_file", path=name, content=data.decode("latin-1"))
        try:
            History(kept, Workspace(root)).undo(len(acts))
        except NothingToUndo:
            pass
        assert tree(root) == before


@pytest.mark.skipif(not Path("/proc/sys/kernel/random/uuid").exists(), reason="there is no /proc here")
def test_files_of_the_kernel_are_not_read(tmp_path: Path) -> None:
    """They call themselves empty, differ at each reading, and some give nothing for ever."""
    workspace = Workspace(Path("/proc/sys/kernel/random"))
    kept = Checkpoints(tmp_path / "kept", workspace, "one")
    kept.before_command((), 1)
    assert list(kept.after_command()) == []


def test_undos_of_several_processes_take_back_one_turn_each(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    kept = Checkpoints(tmp_path / "kept", Workspace(root), "one")
    for n in range(4):
        kept.new_task()
        kept.before_command((), n)
        (root / f"f{n}").write_text(str(n))
        kept.after_command()
    code = (
        "import sys\nfrom pathlib import Path\nfrom aicli.workspace.checkpoints import Checkpoints\n"
        "from aicli.workspace.root import Workspace\n"
        "print(Checkpoints(Path(sys.argv[1]), Workspace(Path(sys.argv[2])), 'one').undo(1).restored)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "kept"), str(root)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    children = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = sorted(child.communicate(timeout=60)[0] for child in children)
    assert said == [f"('f{n}',)\n" for n in range(4)] and list(root.iterdir()) == []
