from __future__ import annotations

import os
import platform
import resource
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aicli.content.kinds import PermissionMode
from aicli.errors import SandboxError
from aicli.safety import bubblewrap, landlock
from aicli.safety.confined import Sandbox, Unconfined
from aicli.safety.landlocked import Landlocked
from aicli.safety.proof import prove
from aicli.safety.sandbox import check_bypass, detect, say
from aicli.safety.sandbox_paths import nested_git, view
from aicli.safety.seccomp import filter_bytes
from aicli.safety.secrets import child_environ
from tests.support.counts import count, soaking
from tests.support.figures import figure

has_bwrap = sys.platform == "linux" and bool(bubblewrap.find()) and bubblewrap.works(bubblewrap.find())
needs_bwrap = pytest.mark.skipif(not has_bwrap, reason="bubblewrap is not installed or can't make namespaces here")
needs_landlock = pytest.mark.skipif(landlock.version() < landlock.LEAST, reason="the kernel has no Landlock 4")


@pytest.fixture(params=["bubblewrap", "landlock"])
def box(request: pytest.FixtureRequest, isolated: Path) -> Iterator[Sandbox]:
    if request.param == "bubblewrap":
        if not has_bwrap:
            pytest.skip("bubblewrap is not installed or can't make namespaces here")
        yield detect("required", isolated)
    else:
        if landlock.version() < landlock.LEAST:
            pytest.skip("the kernel has no Landlock 4")
        yield Landlocked(view(isolated, (), (), os.environ))


def run(box: Sandbox, cwd: Path, script: str, **how: bool) -> subprocess.CompletedProcess[str]:
    confined = box.confine(["/bin/sh", "-c", script], cwd=cwd, env=child_environ(os.environ, workspace=cwd), **how)
    try:
        return subprocess.run(
            confined.argv, env=confined.env, pass_fds=confined.pass_fds, capture_output=True, text=True, timeout=30
        )
    finally:
        confined.close()


def test_it_proves_what_it_promises(box: Sandbox, isolated: Path) -> None:
    broken = [p.promise for p in prove(box, isolated) if not p.held]
    if box.status == "full":
        assert broken == []
    else:
        assert set(broken) <= {"other processes are hidden", "git hooks can't be changed"}
        assert len(box.missing) == 3 and all(m in say(box) for m in box.missing)
    assert os.listdir(isolated) == [] or os.listdir(isolated) == [".git"]


def test_the_workspace_and_a_private_tmp_are_writable(box: Sandbox, isolated: Path) -> None:
    done = run(box, isolated, 'echo 1 > a && mkdir d && mv a d/b && cat d/b && echo t > "$TMPDIR/x" && cat "$TMPDIR/x"')
    assert done.stdout.split() == ["1", "t"], done
    again = run(box, isolated, 'cat "$TMPDIR/x"')
    assert again.stdout == "t\n", "the folder lasts as long as the sandbox"
    assert (isolated / "d" / "b").read_text() == "1\n"
    still = run(box, isolated, "echo 2 > d/b", writable=False)
    assert still.returncode != 0 and (isolated / "d" / "b").read_text() == "1\n"


def test_it_ends_as_the_command_ended(box: Sandbox, isolated: Path) -> None:
    assert run(box, isolated, "exit 7").returncode == 7
    assert run(box, isolated, "kill -9 $$").returncode in (-9, 137)
    assert run(box, isolated, "echo out; echo err >&2").stderr == "err\n"
    absent = box.confine(["/nothere"], cwd=isolated, env={})
    done = subprocess.run(absent.argv, env=absent.env, pass_fds=absent.pass_fds, capture_output=True, text=True)
    absent.close()
    assert done.returncode in (1, 127) and "nothere" in done.stderr


def test_no_process_stays_behind(box: Sandbox, isolated: Path) -> None:
    run(box, isolated, "(setsid sh -c 'sleep 8642 & sleep 8642' &) ; setsid nohup sleep 8642 >/dev/null 2>&1 & true")
    left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x008642" in _bytes(p)]
    assert left == []


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    "script",
    [
        "unshare -U true",
        "mount -t tmpfs x /mnt",
        "echo core > /proc/sys/kernel/core_pattern",
        "cat /etc/shadow | grep .",
        "strace -o /dev/null true",
        "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX)'",
        "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)'",
        "/usr/bin/python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 2)'",
        "/usr/bin/python3 -c 'import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b\"x\")'",
        "/usr/bin/python3 -c 'import ctypes; c = ctypes.CDLL(None); import sys; sys.exit(c.syscall(425, 1, 0) == -1)'",
    ],
)
def test_system_calls_that_lead_out_fail(script: str, box: Sandbox, isolated: Path) -> None:
    assert run(box, isolated, script).returncode != 0


def test_capabilities_are_gone(box: Sandbox, isolated: Path) -> None:
    status = dict(
        line.split(":\t") for line in run(box, isolated, "cat /proc/self/status").stdout.splitlines() if ":\t" in line
    )
    assert status["NoNewPrivs"] == "1" and int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0


@needs_bwrap
def test_masks_leave_nothing_behind(isolated: Path) -> None:
    box, other = detect("auto", isolated), detect("auto", isolated)
    inside = run(box, isolated, "ls -A; mkdir .aicli/x; echo x > .mcp.json; mv .vscode q; rmdir .idea")
    assert ".aicli" in inside.stdout and ".mcp.json" in inside.stdout
    assert os.listdir(isolated) == []
    first = box.confine(
        ["sh", "-c", "read x; touch .aicli/y; ls -d .aicli"], cwd=isolated, env={"PATH": "/usr/bin:/bin"}
    )
    with subprocess.Popen(
        first.argv, env=first.env, pass_fds=first.pass_fds, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert run(other, isolated, "true").returncode == 0
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(b"\n")
        child.stdin.close()
        assert child.stdout.read() == b".aicli\n", "another command's end does not unmask this one"
    first.close()
    assert os.listdir(isolated) == []
    (isolated / ".mcp.json").write_text("mine")
    run(box, isolated, "echo x > .mcp.json; rm .mcp.json")
    assert (isolated / ".mcp.json").read_text() == "mine"


@needs_bwrap
@pytest.mark.parametrize(
    "script",
    [
        "git init -q . && git config core.fsmonitor ./ev && echo x > .git/hooks/pre-commit",
        "git init -q . && git config alias.st '!./ev' && git config include.path ../evil",
        "git init -q . && printf '[core]\\n\\tpager = ./ev' > .git/config",
        "git init -q . && rm -r .git/hooks && ln -s .. .git/hooks && echo /tmp > .git/commondir",
        "git init -q . && rm .git/config && ln -s ../evil .git/config",
        "git init -q x && mv x/.git .git && git config core.hooksPath .",
        "mkdir q && echo 'gitdir: q' > .git",
    ],
)
def test_a_new_repository_is_tame(script: str, isolated: Path) -> None:
    (isolated / "ev").write_text("#!/bin/sh\ntouch PWN\n")
    (isolated / "ev").chmod(0o755)
    (isolated / "evil").write_text("[core]\n\tfsmonitor = ./ev\n")
    run(detect("auto", isolated), isolated, script)
    run(detect("auto", isolated), isolated, "echo x >> .git/config; touch .git/hooks/post-checkout")
    environ = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    listed = subprocess.run(["git", "config", "--local", "--list"], capture_output=True, text=True, env=environ).stdout
    assert not [w for w in ("ev", "alias", "include", "hookspath", "pager") if w in listed.lower()], listed
    subprocess.run(["git", "status"], capture_output=True, env=environ)
    assert not (isolated / "PWN").exists()
    hooks = isolated / ".git" / "hooks"
    assert not [h for h in (hooks.iterdir() if hooks.is_dir() else ()) if not h.name.endswith(".sample")]


@needs_bwrap
def test_a_project_can_be_begun(isolated: Path) -> None:
    box = detect("auto", isolated)
    who = "git config user.name n && git config user.email e@x"
    begun = run(box, isolated, f"git init -q -b main . && {who} && echo 1 > a && git add -A && git commit -qm one")
    assert begun.returncode == 0, begun
    again = run(box, isolated, "echo 2 > a && git commit -qam two && git log --format=%s")
    assert again.stdout.split() == ["two", "one"], again
    assert sorted(os.listdir(isolated)) == [".git", "a"]


@needs_bwrap
def test_hooks_of_nested_repositories_are_kept(isolated: Path) -> None:
    init = ["git", "-c", "init.defaultBranch=main", "init", "-q"]
    for name in (".", "sub", "packages/内部", "node_modules/x", "a/b/c", "a/b/c/d"):
        subprocess.run([*init, name], check=True)
    assert sorted(nested_git(str(isolated))) == [
        str(isolated / name / ".git") for name in ("a/b/c", "packages/内部", "sub")
    ]
    box = detect("auto", isolated)
    for repo in ("sub", "packages/内部"):
        git = isolated / repo / ".git"
        before = (git / "config").read_bytes()
        run(
            box,
            isolated,
            f"cd {repo}; echo x > .git/hooks/pre-commit; echo x >> .git/config; mv .git g; rm -rf .git/hooks",
        )
        assert not (git / "hooks" / "pre-commit").exists() and (git / "config").read_bytes() == before
        work = f"cd {repo} && echo 1 > f && git add f && git -c user.name=n -c user.email=e@x commit -qm one"
        assert run(box, isolated, work).returncode == 0


KILLED = """
import os, subprocess
from pathlib import Path
from aicli.safety.sandbox import detect
one = detect("auto", Path.cwd()).confine(["true"], cwd=Path.cwd(), env={})
subprocess.run(one.argv, env=one.env, pass_fds=one.pass_fds, check=True)
os._exit(9)
"""


@needs_bwrap
def test_what_a_killed_run_left_is_removed_by_the_next(isolated: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    environ["TMPDIR"] = str(isolated.parent)
    assert subprocess.run([sys.executable, "-c", KILLED], env=environ).returncode == 9
    assert ".aicli" in os.listdir(isolated)
    run(detect("auto", isolated), isolated, "true")
    assert os.listdir(isolated) == []


@needs_bwrap
def test_a_worktree_and_a_home_as_workspace(isolated: Path) -> None:
    home = Path(os.environ["HOME"])
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("canary")
    (home / ".bashrc").write_text("mine\n")
    done = run(detect("auto", home), home, "cat .ssh/id_rsa; echo evil >> .bashrc; echo evil > .profile; touch ok")
    assert "canary" not in done.stdout and (home / ".bashrc").read_text() == "mine\n" and (home / "ok").exists()
    assert not (home / ".profile").exists() and not (home / ".mcp.json").exists()


@needs_bwrap
def test_tools_under_the_home_folder_work(isolated: Path) -> None:
    home = Path(os.environ["HOME"])
    tool = home / ".local" / "share" / "tool" / "bin" / "hello"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho hello from tool\n")
    tool.chmod(0o755)
    (home / ".local" / "bin").mkdir()
    (home / ".local" / "bin" / "hello").symlink_to(tool)
    (home / ".local" / "share" / "keyrings").mkdir()
    (home / ".local" / "share" / "keyrings" / "k").write_text("canary")
    os.environ["PATH"] = f"{home}/.local/bin:{os.environ['PATH']}"
    done = run(detect("auto", isolated), isolated, f"hello; cat {home}/.local/share/keyrings/k; echo x > {tool}")
    assert done.stdout == "hello from tool\n" and "echo hello" in tool.read_text()


@needs_bwrap
def test_the_added_time_is_small(isolated: Path) -> None:
    """Confined and bare take turns, so that what else runs on the machine falls on both; both clocks are told."""
    box = detect("auto", isolated)
    load, cores, rounds = os.getloadavg()[0], os.cpu_count() or 1, count(9, 40)
    wall: dict[bool, list[float]] = {True: [], False: []}
    used: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for confined in (True, False):
            one = (box if confined else Unconfined()).confine(["/usr/bin/true"], cwd=isolated, env={})
            began, before = time.perf_counter(), _children()
            subprocess.run(one.argv, env=one.env, pass_fds=one.pass_fds, check=True)
            wall[confined].append((time.perf_counter() - began) * 1000)
            used[confined].append((_children() - before) * 1000)
            one.close()
    bare, by_clock, by_processor = (
        statistics.median(wall[False]),
        statistics.median(wall[True]) - statistics.median(wall[False]),
        statistics.median(used[True]) - statistics.median(used[False]),
    )
    assert by_processor <= 15, f"{by_processor:.1f} ms"
    if soaking() and load < cores:
        assert by_clock <= 15, f"{by_clock:.1f} ms"
    clocks = f"{by_clock:.1f} ms by the clock, {by_processor:.1f} ms of processor time"
    how = f"median of {rounds} rounds in turn, bare {bare:.1f} ms; load {load:.1f} on {cores} cores"
    figure("G4", f"a command confined takes {clocks} more ({how}); every promise tried, as two users: 0 broken")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_modes(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert detect("off", isolated).status == "off" and "off" in say(detect("off", isolated))
    none = Unconfined("none")
    assert "no sandbox" in say(none)
    if os.geteuid() == 0:
        with pytest.raises(SandboxError) as caught:
            check_bypass(PermissionMode.BYPASS, none)
        assert caught.value.exit_code == 44 and "--sandbox off" in caught.value.hint
    check_bypass(PermissionMode.DEFAULT, none)
    check_bypass(PermissionMode.BYPASS, Unconfined("off"))
    monkeypatch.setenv("PATH", str(isolated))
    if landlock.version() >= landlock.LEAST:
        assert detect("required", isolated).status == "reduced"


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
@pytest.mark.parametrize("sockets", [True, False])
def test_the_filter_is_well_formed(arch: str, sockets: bool) -> None:
    code = filter_bytes(arch, sockets=sockets)
    steps = len(code) // 8
    assert len(code) % 8 == 0 and 0 < steps < 4096
    for n in range(steps):
        operation, yes, no = int.from_bytes(code[n * 8 : n * 8 + 2], "little"), code[n * 8 + 2], code[n * 8 + 3]
        if operation & 7 == 5:
            assert n + 1 + max(yes, no) < steps, "a jump leads out of the program"
    assert int.from_bytes(code[-8:-6], "little") == 6, "it ends with a return"
    if arch == {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine()):
        assert filter_bytes() == filter_bytes(arch)


def _answer(code: bytes, arch: int, number: int, *arguments: int) -> int:
    """What the kernel would return for one call: the program, carried out by hand."""
    data = struct.pack("IIQ6Q", number, arch, 0, *arguments, *(6 - len(arguments)) * [0])
    at, value = 0, 0
    while True:
        operation, yes, no, operand = struct.unpack_from("HBBI", code, at * 8)
        at += 1
        match operation:
            case 0x20:
                value = int.from_bytes(data[operand : operand + 4], "little")
            case 0x54:
                value &= operand
            case 0x06:
                return int(operand)
            case _:
                true = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[operation]
                at += yes if true else no


@pytest.mark.parametrize("sockets", [True, False])
@pytest.mark.parametrize(
    ("arch", "audit", "pair", "socket_number", "unshare", "read"),
    [("x86_64", 0xC000003E, 53, 41, 272, 0), ("aarch64", 0xC00000B7, 199, 198, 97, 63)],
)
def test_the_filter_lets_only_connected_pairs_pass(
    arch: str, audit: int, pair: int, socket_number: int, unshare: int, read: int, sockets: bool
) -> None:
    code = filter_bytes(arch, sockets=sockets)
    unix, flags = 1, 0o2000000 | 0o4000
    passes = {kind for kind in range(16) if _answer(code, audit, pair, unix, kind | flags) == 0x7FFF0000}
    assert passes == {1, 5}, "streams and sequenced packets"
    assert all(_answer(code, audit, pair, family, 1) != 0x7FFF0000 for family in range(50) if family != unix)
    assert (_answer(code, audit, socket_number, 2, 1) == 0x7FFF0000) is sockets
    assert _answer(code, audit, socket_number, unix, 1) != 0x7FFF0000 != _answer(code, audit, unshare)
    assert _answer(code, audit, read) == 0x7FFF0000


PAIRS = """
import socket, sys
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    try:
        a, b = socket.socketpair(type=kind)
    except PermissionError:
        print("none")
        continue
    for address in sys.argv[1:]:
        ways = lambda: a.sendto(b"on", address), lambda: a.sendmsg([b"on"], [], 0, address), lambda: a.connect(address)
        for send in ways:
            try:
                send()
            except OSError:
                pass
    a.sendall(b"in")
    while (got := b.recv(2)) == b"on":  # sequenced packets go to the other end, whatever address they name
        pass
    print(got.decode())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a sandbox so far")
@pytest.mark.parametrize("network", [False, True])
def test_no_pair_reaches_a_datagram_socket_of_the_host(box: Sandbox, isolated: Path, network: bool) -> None:
    abstract = f"\0aicli-test-{os.getpid()}"
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as named,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bare,
    ):
        named.bind("d.sock")
        bare.bind(abstract)
        (isolated / "pairs.py").write_text(PAIRS.replace("sys.argv[1:]", f"('d.sock', {abstract!r})"))
        done = run(box, isolated, "/usr/bin/python3 pairs.py", network=network)
        assert done.stdout.split() == ["none", "none", "in", "in"], done
        for host in (named, bare):
            host.setblocking(False)
            with pytest.raises(BlockingIOError):
                host.recv(10)


def test_descriptors_do_not_pile_up(box: Sandbox, isolated: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        box.confine(["true"], cwd=isolated, env={}).close()
    assert len(os.listdir("/proc/self/fd")) <= before + 1
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > before
