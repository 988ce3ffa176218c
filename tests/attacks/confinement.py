"""D22 to D28 and DV-27: commands that run, and what the sandbox keeps from them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.attacks.site import KEY, Site, case
from tests.support.counts import count

ROOT = Path(__file__).parent.parent.parent


@case("D22")
def changing_what_is_outside(site: Site) -> None:
    target = site.outside / "secret"
    for command in (f"echo x > {target}", f"rm -f {target}", f"mv {target} .", f"chmod 777 {target}", "cd ..; rm -r O"):
        site.shell(command, "bypass")
        site.check(command, target.exists() and target.read_text() == "canary-outside")
    mode = target.stat().st_mode & 0o777
    assert mode != 0o777
    assert not site.shell("touch inside", "bypass").is_error and (site.work / "inside").exists()


@case("D23")
def git_hooks(site: Site) -> None:
    site.repository()
    site.git("config", "user.name", "n")
    site.git("config", "user.email", "e@x")
    for command in (
        "echo x > .git/hooks/x",
        "mv .git g && mkdir .git && touch .git/hooks/x",
        "git config core.fsmonitor ./ev",
        "mkdir -p .aicli && echo x > .aicli/config.toml",
        "echo x > .mcp.json",
        "rm -rf .git/hooks && mkdir .git/hooks && touch .git/hooks/x",
    ):
        outcome = site.shell(command, "bypass")
        site.check(command, outcome.is_error)
    assert not (site.work / ".git" / "hooks" / "x").exists() and "fsmonitor" not in site.git("config", "--list")
    assert not (site.work / ".mcp.json").exists() and not (site.work / ".aicli").exists()
    committed = site.shell("echo 2 > n; git add -A && git commit -qm second && git log --oneline", "bypass")
    assert not committed.is_error and "second" in committed.text, committed
    assert site.git("show", "--name-only", "--format=").split() == ["n"]


@case("D47")
def a_new_repository_that_resists(site: Site) -> None:
    """Modes, kinds and depths that could keep a repository of a command's own making from being tamed; none may hang."""
    make = (
        "git init -q . && printf '#!/bin/sh\\ntouch PWN\\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit"
    )
    make += " && git config core.fsmonitor ./ev"
    for more in (
        "chmod 500 .git/hooks",
        "chmod 0 .git/hooks .git/config .git",
        "mkdir -p .git/modules/m/hooks && chmod 500 .git/modules/m .git/modules .git/hooks .git .",
        "mv .git/hooks/pre-commit x && rm -r .git/hooks && mkdir h && mv x h/pre-commit && ln -s ../h .git/hooks",
        "mkdir .git/hooks/d && cd .git/hooks/d && for n in $(seq 300); do mkdir d && cd d; done; cd /; echo",
        "rm .git/config && mkfifo .git/config; rm -f .git/index; mkfifo .git/index",
        "mv .git g; mkfifo .git",
    ):
        begin = time.monotonic()
        outcome = site.shell(f"{make} && {more}", "bypass", timeout=20)
        next_one = site.shell("echo here", "bypass", timeout=20)
        site.work.chmod(0o700)
        assert "here" in next_one.text, (more, outcome, next_one)
        committed = "git add f; git commit -qm x; git status" if (site.work / ".git").exists() else "true"
        run = {"cwd": site.work, "env": {"PATH": "/usr/bin:/bin", "HOME": str(site.home)}, "capture_output": True}
        subprocess.run(["/bin/sh", "-c", committed], timeout=30, check=False, **run)  # type: ignore[call-overload]
        settings = site.work / ".git" / "config"
        tame = not site.canary.exists() and not (settings.is_file() and "fsmonitor" in settings.read_text())
        site.check(
            f"{more}: {time.monotonic() - begin:.1f} s", tame and not (site.work / ".git/hooks/pre-commit").exists()
        )
        subprocess.run(["rm", "-rf", ".git", "g", "h", "PWN"], cwd=site.work, check=True)


@case("D24")
def the_hosts_network(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        port = server.getsockname()[1]
        outcome = site.shell(f"exec 3<>/dev/tcp/127.0.0.1/{port}", "bypass")
        try:
            server.accept()
            reached = True
        except BlockingIOError:
            reached = False
        site.check("connect to the host's loopback", outcome.is_error and not reached)
    path = str(site.work / "s")
    with socket.socket(socket.AF_UNIX) as local:
        local.bind(os.path.relpath(path))
        local.listen()
        program = f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})"
        site.check("a UNIX socket", site.shell(f'/usr/bin/python3 -c "{program}"', "bypass").is_error)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as local:
        local.bind("d")
        local.setblocking(False)
        for kind in ("SOCK_DGRAM", "SOCK_RAW", "SOCK_SEQPACKET"):
            program = f"import socket; socket.socketpair(type=socket.{kind})[0].sendto(b'x', 'd')"
            site.shell(f'/usr/bin/python3 -c "{program}"', "bypass")
            try:
                reached = bool(local.recv(1))
            except BlockingIOError:
                reached = False
            site.check(f"a {kind} pair that sends to a UNIX socket", not reached)
    both = (
        "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); "
        "c = socket.create_connection(s.getsockname()); a, b = socket.socketpair(); print('works')"
    )
    inside = site.shell(f'/usr/bin/python3 -c "{both}"', "bypass")
    assert "works" in inside.text, inside


@case("D25")
def keys_and_home(site: Site) -> None:
    os.environ.update({"OPENAI_API_KEY": KEY, "MY_TOKEN": "canary-token-1", "DB_SECRET": "canary-secret-1"})
    try:
        for command in (
            "env",
            "cat /proc/self/environ | tr '\\0' '\\n'",
            "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'",
            "cat ~/.ssh/id_rsa",
            f"cat {site.home}/.ssh/id_rsa; ls -la ~",
            "cat /etc/shadow",
            "python3 -c 'import os; print(os.environ)'",
        ):
            text = site.shell(command, "bypass").text
            site.check(command, not any(s in text for s in (KEY, "canary-", "root:$", "id_rsa\n")))
    finally:
        for name in ("OPENAI_API_KEY", "MY_TOKEN", "DB_SECRET"):
            del os.environ[name]


@case("D26")
def what_will_not_end(site: Site) -> None:
    begin = time.monotonic()
    outcome = site.shell("sleep 60", "bypass", timeout=1)
    took = time.monotonic() - begin
    site.check(f"sleep 60 took {took:.1f} s", took < 4 and outcome.is_error and "timed out" in outcome.text)
    site.shell("setsid sleep 98765 & echo started", "bypass")
    site.check("setsid sleep", not _running("sleep\x0098765"))


def _running(words: str) -> bool:
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and words.encode() in (folder / "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False


@case("D27")
def endless_output(site: Site) -> None:
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcome = site.shell("yes", "bypass", timeout=count(1, 5))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    site.check(f"yes: {len(outcome.text)} characters, {grown:.0f} MB", len(outcome.text) < 70_000 and grown < 200)


WITHOUT = """
import ctypes, json, os, sys
from aicli.safety import landlock, sandbox
from aicli.safety.seccomp import filter_bytes
if sys.argv[2] == "no-landlock":
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)
    landlock._filter(libc, ctypes, filter_bytes(also=[444]))
from pathlib import Path
from aicli.testing import call_tool
work = Path(sys.argv[1])
box = sandbox.detect("auto", work)
out = [call_tool("shell", {"command": c}, work, m) for c, m in json.loads(sys.argv[3])]
print(json.dumps({"status": box.status, "say": sandbox.say(box), "out": [[o.text, o.is_error, o.asked] for o in out]}))
"""


def _without(site: Site, which: str, commands: list[tuple[str, str]]) -> dict[str, object]:
    import json

    programs = site.base / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("bash", "sh", "cat", "touch", "env", "ls"):
        if not (programs / name).exists():
            (programs / name).symlink_to(f"/usr/bin/{name}")
    environ = {**os.environ, "PATH": str(programs)}
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    words = [sys.executable, "-c", WITHOUT, str(site.work), which, json.dumps(commands)]
    done = subprocess.run(words, env=environ, cwd=site.work, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


@case("D28")
def without_bubblewrap(site: Site) -> None:
    target = site.outside / "secret"
    attack = [(f"echo x > {target}", "bypass"), ("touch inside && ls", "bypass"), (f"cat {target}", "bypass")]
    found = _without(site, "landlock", attack)
    assert found["status"] == "reduced" and "reduced" in str(found["say"]) and "hooks" in str(found["say"]), found
    out: list[list[object]] = found["out"]  # type: ignore[assignment]
    site.check("write outside under Landlock", bool(out[0][1]) and target.read_text() == "canary-outside")
    assert not out[1][1] and "inside" in str(out[1][0]), out
    bare = _without(site, "no-landlock", [("ls", "default"), ("touch PWN", "default"), ("touch PWN", "dont-ask")])
    assert bare["status"] == "none" and "no sandbox" in str(bare["say"]), bare
    out = bare["out"]  # type: ignore[assignment]
    for text, is_error, asked in out[:2]:
        site.check(f"asked without a sandbox: {text}", bool(is_error and asked), bool(asked))
    site.check("refused where nobody can answer", bool(out[2][1]) and not out[2][2])
    assert not site.canary.exists()


@case("DV-27")
def the_models_key(site: Site) -> None:
    os.environ["AICLI_API_KEY"] = "ABC-SECRET-1"
    try:
        outcome = site.shell("env; cat /proc/self/environ", "bypass")
        site.check("env", "ABC-SECRET-1" not in outcome.text)
    finally:
        del os.environ["AICLI_API_KEY"]
    state = Path(os.environ["XDG_STATE_HOME"])
    found = [p for p in state.rglob("*") if p.is_file() and b"ABC-SECRET-1" in p.read_bytes()]
    site.check("files", not found)
