"""No path, link or race leaves the workspace; a write happens whole or not at all."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.workspace.protected import is_protected, is_secret
from aicli.workspace.root import (
    Changed,
    Denied,
    FileVersion,
    IsDirectory,
    NotFound,
    NotRegular,
    OutsideWorkspace,
    Workspace,
    WorkspaceError,
)
from tests.support.counts import count

SECRET = b"outside content"


@contextmanager
def ordinary_user(*paths: Path) -> Iterator[None]:
    """Mode bits bind: root becomes somebody else meanwhile, who owns the paths."""
    if os.geteuid() != 0:
        yield
        return
    for path in paths:
        os.chown(path, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def area(tmp_path: Path) -> Path:
    """project/ is the workspace; beside it project-other/ and out/ with a secret each."""
    base = tmp_path / "area"
    for name in ("project", "project-other", "out"):
        (base / name).mkdir(parents=True)
    for name in ("project-other", "out"):
        (base / name / "f").write_bytes(SECRET)
    return base


@pytest.fixture
def files(area: Path) -> Workspace:
    return Workspace(area / "project")


def test_a_sibling_with_the_same_beginning_is_not_inside(area: Path, files: Workspace) -> None:
    (area / "project" / "l").symlink_to(area / "project-other")
    (area / "project" / "g").symlink_to("../project-other/f")
    for path in ("../project-other/f", str(area / "project-other" / "f"), "l/f", "g", "a/../../project-other/f"):
        with pytest.raises(OutsideWorkspace):
            files.read_bytes(path)
        with pytest.raises(OutsideWorkspace):
            files.write(path, b"x")
    assert (area / "project-other" / "f").read_bytes() == SECRET
    assert os.listdir(area / "project-other") == ["f"]


@pytest.mark.parametrize("path", ["/etc/passwd", "~/.ssh/id_rsa", "..", "../..", "/", "//etc/passwd", "a/../../out/f"])
def test_what_lies_outside_is_refused_by_name(files: Workspace, path: str) -> None:
    with pytest.raises(OutsideWorkspace, match="outside the workspace"):
        files.locate(path)


def test_links_inside_are_followed_however_they_are_written(area: Path, files: Workspace) -> None:
    root = area / "project"
    files.write("a/b/c", b"content")
    (root / "rel").symlink_to("a/b/c")
    (root / "abs").symlink_to(root / "a" / "b" / "c")
    (root / "up").symlink_to("../project/a/./b/../b/c")
    (root / "a" / "back").symlink_to("..")
    (root / "chain").symlink_to("rel")
    for path in ("rel", "abs", "up", "a/back/rel", "a/back/a/back/a/b/c", "chain", str(root / "abs")):
        assert files.read_bytes(path) == b"content"
        assert files.real(path).display == "a/b/c"
    files.write("chain", b"through")
    assert (root / "chain").is_symlink()
    assert (root / "a" / "b" / "c").read_bytes() == b"through"


def test_links_in_a_circle_end(area: Path, files: Workspace) -> None:
    (area / "project" / "one").symlink_to("two")
    (area / "project" / "two").symlink_to("one")
    (area / "project" / "self").symlink_to("self/x")
    for path in ("one", "two/x", "self"):
        with pytest.raises(NotFound, match="circle"):
            files.read_bytes(path)


def test_an_extra_root_is_open_too_and_shown_by_its_whole_name(area: Path) -> None:
    files = Workspace(area / "project", [area / "out"])
    (area / "project" / "l").symlink_to(area / "out" / "f")
    assert files.read_bytes("l") == files.read_bytes(str(area / "out" / "f")) == SECRET
    assert files.locate("../out/f").display == (area / "out" / "f").as_posix()
    with pytest.raises(OutsideWorkspace):
        files.read_bytes("../project-other/f")


def test_a_root_reached_by_a_link_is_known_by_both_names(area: Path) -> None:
    (area / "alias").symlink_to("project")
    files = Workspace(area / "alias")
    files.write(str(area / "alias" / "x"), b"1")
    assert files.read_bytes(str(area / "project" / "x")) == b"1"


@pytest.mark.parametrize(
    ("kind", "word"), [("fifo", "FIFO"), ("socket", "socket"), ("device", "device"), ("directory", "folder")]
)
def test_what_is_no_file_is_named_and_never_waited_for(area: Path, files: Workspace, kind: str, word: str) -> None:
    path = area / "project" / "p"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "device":
        files = Workspace(Path("/dev"))
    server = socket.socket(socket.AF_UNIX) if kind == "socket" else None
    if server:
        os.chdir(area / "project")
        server.bind("p")
    for act in (files.read_bytes, lambda p: files.write(p, b"x")):
        with pytest.raises((NotRegular, IsDirectory), match=word):
            act("zero" if kind == "device" else "p")
    if server:
        server.close()


def test_a_name_in_another_unicode_form_is_the_same_file(area: Path, files: Workspace) -> None:
    wide = unicodedata.normalize("NFD", "café") + ".txt"
    (area / "project" / wide).write_bytes(b"here")
    assert files.read_bytes("café.txt") == b"here"
    files.write("café.txt", b"new")
    assert os.listdir(area / "project") == [wide]


@pytest.mark.parametrize(
    "name", ["café.txt", "文件.md", "a b.txt", 'q"uote.txt', "[id]/(auth)/p.tsx", "a\nb", "-x", "d:7"]
)
def test_odd_names_are_only_names(files: Workspace, name: str) -> None:
    files.write(name, b"1")
    assert files.read_bytes(name) == b"1"
    assert name in [e.rel for e in files.walk()]


def test_a_missing_file_names_what_is_near(files: Workspace) -> None:
    files.write("src/config.py", b"")
    with pytest.raises(NotFound, match=r"src/config\.py"):
        files.read_bytes("src/confg.py")
    with pytest.raises(NotFound, match=r"Did you mean src/config\.py\?"):
        files.read_bytes("config.py")
    with pytest.raises(WorkspaceError, match="NUL"):
        files.read_bytes("a\0b")


def test_mode_owner_and_link_stay_and_a_hard_link_is_cut(area: Path, files: Workspace) -> None:
    root = area / "project"
    script = root / "run.sh"
    script.write_bytes(b"old")
    script.chmod(0o755)
    os.link(area / "out" / "f", root / "hard")
    files.write("run.sh", b"new")
    files.write("hard", b"mine")
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    assert (area / "out" / "f").read_bytes() == SECRET
    old = os.umask(0o022)
    try:
        files.write("fresh", b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((root / "fresh").stat().st_mode) == 0o644
    if os.geteuid() == 0:
        os.chown(script, 12, 34)
        files.write("run.sh", b"again")
        assert (script.stat().st_uid, script.stat().st_gid) == (12, 34)
        assert stat.S_IMODE(script.stat().st_mode) == 0o755


def test_a_read_only_file_and_a_closed_folder_are_refused(area: Path, files: Workspace) -> None:
    files.write("d/f", b"old")
    (area / "project/d/f").chmod(0o444)
    (area / "project/shut").mkdir(0o500)
    with ordinary_user(area / "project", area / "project/d", area / "project/d/f", area / "project/shut"):
        with pytest.raises(Denied, match="read-only"):
            files.write("d/f", b"new")
        with pytest.raises(Denied, match="EACCES"):
            files.write("shut/g", b"new")
    assert files.read_bytes("d/f") == b"old"
    assert os.listdir(area / "project/d") == ["f"]


def test_what_someone_else_changed_is_not_overwritten(area: Path, files: Workspace) -> None:
    seen = files.write("f", b"mine")
    (area / "project/f").write_bytes(b"their")
    with pytest.raises(Changed):
        files.write("f", b"new", expect=seen)
    (area / "project/f").unlink()
    with pytest.raises(Changed, match="removed"):
        files.write("f", b"new", expect=seen)
    again = files.write("f", b"mine")
    assert files.write("f", b"new", expect=again).size == 3
    assert FileVersion(1, 4, "").same(FileVersion(1, 4, ""))
    assert not FileVersion(1, 4, "").same(FileVersion(2, 4, ""))


def test_a_full_disk_leaves_the_old_file_and_no_debris(area: Path) -> None:
    (area / "project" / "f").write_bytes(b"old content")
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from aicli.workspace.root import Workspace, WriteFailed\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try: Workspace(Path(sys.argv[1])).write('f', b'x' * 1000)\n"
        "except WriteFailed as e: print(e)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, area / "project"], capture_output=True, text=True, check=True)
    assert "EFBIG" in done.stdout
    assert "old file is unchanged" in done.stdout
    assert (area / "project" / "f").read_bytes() == b"old content"
    assert os.listdir(area / "project") == ["f"]


def test_a_really_full_file_system_names_enospc(area: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from aicli.workspace.root import Workspace, WriteFailed\n"
        "w = Path(sys.argv[1]); (w / 'f').write_bytes(b'old')\n"
        "try: Workspace(w).write('f', b'x' * 100_000)\n"
        "except WriteFailed as e: print(e, (w / 'f').read_bytes(), os.listdir(w))\n"
    )
    script = 'mount -t tmpfs -o size=64k none "$1" && exec "$2" -c "$3" "$1"'
    command = ["unshare", "-Urm", "sh", "-c", script, "sh", str(area / "out"), sys.executable, code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("no user namespaces here")
    assert "ENOSPC" in done.stdout, done.stderr
    assert "b'old' ['f']" in done.stdout


def test_folders_and_files_are_walked_without_following_links(area: Path, files: Workspace) -> None:
    root = area / "project"
    files.write("d/sub/f", b"1")
    (root / "d/sub/up").symlink_to("..")
    (root / "d/out").symlink_to(area / "out")
    (root / "dangling").symlink_to("nowhere")
    seen = {e.rel: e.kind for e in files.walk()}
    assert seen == {
        "d": "dir",
        "dangling": "link",
        "d/out": "link",
        "d/sub": "dir",
        "d/sub/f": "file",
        "d/sub/up": "link",
    }
    with pytest.raises(OutsideWorkspace):
        files.scandir("d/out")
    assert [e.size for e in files.scandir("d/sub", stats=True) if e.kind == "file"] == [1]


def test_a_folder_that_was_deleted_and_made_again_is_found_again(area: Path, files: Workspace) -> None:
    files.write("x", b"1")
    (area / "project/x").unlink()
    (area / "project").rmdir()
    (area / "project").mkdir()
    files.write("y", b"2")
    assert files.read_bytes("y") == b"2"


@pytest.mark.parametrize(
    ("name", "yes"),
    [
        (".git/hooks/pre-commit", True),
        ("sub/.git/config", True),
        (".GIT/config", True),
        (".g\u200cit/config", True),
        (".git./x", True),
        (".aicli/config.toml", True),
        (".mcp.json", True),
        ("x/.bashrc", True),
        (".envrc", True),
        ("lib/evil.pth", True),
        ("sitecustomize.py", True),
        (".gitignore", False),
        (".github/workflows/ci.yml", False),
        ("src/git/x.py", False),
    ],
)
def test_names_that_change_what_runs_are_protected(name: str, yes: bool) -> None:
    assert is_protected(name) is yes


@pytest.mark.parametrize(
    ("name", "yes"),
    [
        (".env", True),
        ("a/.env.local", True),
        ("k.pem", True),
        ("id_rsa", True),
        (".ENV", True),
        ("id_ed25519.pub", False),
        (".env.example", False),
        (".environment.py", True),
        ("src/env.py", False),
        ("id_map.py", False),
    ],
)
def test_names_that_promise_secrets(name: str, yes: bool) -> None:
    assert is_secret(name) is yes


def test_links_and_git_files_do_not_hide_what_is_protected(area: Path, files: Workspace) -> None:
    root = area / "project"
    files.write(".git/hooks/x", b"")
    (root / "innocent").symlink_to(".git/hooks")
    assert files.protects("innocent/pre-commit")
    other = Workspace(area / "out")
    other.write(".git", b"gitdir: ./store\n")
    other.write("store/config", b"")
    assert other.protects("store/hooks/pre-commit")
    assert not other.protects("stored/x")


NAMES = st.sampled_from(
    ["a", "b", "..", ".", "l1", "l2", "out", "f", "", "é", "e\u0301", "~", "project", "project-other"]
)
TARGETS = st.sampled_from(
    [
        "..",
        "../out",
        "../project-other/f",
        "a",
        "a/b",
        ".",
        "l1",
        "l2/f",
        "../project/a",
        "/etc",
        "../../out",
        "b/../../out",
    ]
)


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "a/l1", "l1", "l2", "a/b/l2"]), TARGETS), max_size=5),
    st.lists(NAMES, min_size=1, max_size=7).map("/".join),
)
@settings(max_examples=count(60, 5_000), deadline=None)
def test_no_path_leaves_the_roots(links: list[tuple[str, str]], path: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        for name in ("project/a/b", "project-other", "out"):
            (base / name).mkdir(parents=True)
        for name in ("project-other", "out"):
            (base / name / "f").write_bytes(SECRET)
        for where, target in links:
            if not os.path.lexists(base / "project" / where) and (base / "project" / where).parent.is_dir():
                (base / "project" / where).symlink_to(target)
        files = Workspace(base / "project")
        for act in (files.read_bytes, lambda p: files.write(p, b"WRITTEN"), files.remove, files.scandir):
            try:
                got = act(path)
            except WorkspaceError:
                continue
            assert got != SECRET
        for name in ("project-other", "out"):
            assert os.listdir(base / name) == ["f"]
            assert (base / name / "f").read_bytes() == SECRET
        assert sorted(os.listdir(base)) == ["out", "project", "project-other"]


def test_a_folder_swapped_for_a_link_at_any_moment_leads_nowhere(area: Path, files: Workspace) -> None:
    root = area / "project"
    (root / "real").mkdir()
    (root / "real" / "f").write_bytes(b"inside")
    (root / "link").symlink_to(area / "out")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for name in ("real", "link"):
                try:
                    os.rename(root / name, root / "d")
                    os.rename(root / "d", root / name)
                except OSError:  # the write below made a folder of its own there
                    shutil.rmtree(root / "d", ignore_errors=True)

    worker = threading.Thread(target=swap)
    worker.start()
    try:
        for n in range(count(1_500, 50_000)):
            for path in ("d/f", "d/../d/f", "d"):
                try:
                    assert files.read_bytes(path) != SECRET
                except WorkspaceError:
                    pass
            if n % 5 == 0:
                try:
                    files.write("d/f", b"inside")
                except WorkspaceError:
                    pass
    finally:
        stop.set()
        worker.join()
    assert (area / "out" / "f").read_bytes() == SECRET
    assert os.listdir(area / "out") == ["f"]
