"""Proves a sandbox by trying to escape from it: each promise is tested on a canary, never on anything of the user's."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from aicli.late import dataclass
from aicli.safety.confined import Sandbox
from aicli.safety.masks import Untidy
from aicli.safety.secrets import child_environ
from aicli.workspace.beneath import folder_fd

_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Proof:
    """`held` False: the attempt succeeded. `tried` says what was attempted."""

    promise: str
    tried: str
    held: bool


def prove(sandbox: Sandbox, workspace: Path) -> list[Proof]:
    """Tries six escapes, one process each; well under a second. Leaves nothing behind. Raises OSError if none starts."""
    if sandbox.kind == "":
        return []
    outside = Path(tempfile.mkdtemp(prefix=".aicli-proof-", dir=_outside(workspace)))
    canary = outside / "canary"
    canary.write_text("unharmed")
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            return [
                Proof("files outside can't be changed", f"write to {canary}", _unharmed(sandbox, workspace, canary)),
                Proof("home can't be read", "list the home folder's files", _home_hidden(sandbox, workspace)),
                Proof("no network", f"connect to 127.0.0.1:{port}", _fails(sandbox, workspace, _connect(port))),
                Proof("no keys in the environment", "print the environment", _no_keys(sandbox, workspace)),
                Proof("other processes are hidden", "look for this process", _fails(sandbox, workspace, _see())),
                Proof("git hooks can't be changed", "write .git/hooks", _no_hooks(sandbox, workspace)),
            ]
    finally:
        shutil.rmtree(outside, ignore_errors=True)


def _outside(workspace: Path) -> str:
    """A folder that this user may write and that the sandbox shows."""
    for folder in (workspace.parent, Path("/var/lib"), Path("/var/tmp"), Path("/tmp")):
        if os.access(folder, os.W_OK):
            return str(folder)
    return tempfile.gettempdir()


def _run(sandbox: Sandbox, workspace: Path, script: str) -> tuple[int, str]:
    environ = {**os.environ, "AICLI_PROOF_API_KEY": "canary-key"}
    shell = "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"
    confined = sandbox.confine([shell, "-c", script], cwd=workspace, env=child_environ(environ, workspace=workspace))
    try:
        done = subprocess.run(
            confined.argv,
            env=confined.env,
            pass_fds=confined.pass_fds,
            cwd=workspace,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            text=True,
            errors="replace",
        )
    finally:
        with contextlib.suppress(Untidy):
            confined.close()
    return done.returncode, done.stdout


def _fails(sandbox: Sandbox, workspace: Path, script: str) -> bool:
    return _run(sandbox, workspace, script)[0] != 0


def _unharmed(sandbox: Sandbox, workspace: Path, canary: Path) -> bool:
    _run(sandbox, workspace, f"echo harmed > '{canary}'; rm -f '{canary}'")
    return canary.exists() and canary.read_text() == "unharmed"


def _home_hidden(sandbox: Sandbox, workspace: Path) -> bool:
    home = Path(os.path.expanduser("~"))
    if workspace.resolve().is_relative_to(home.resolve()) and workspace.resolve() == home.resolve():
        home = home / ".ssh"
    marker = home / f".aicli-proof-{os.getpid()}"
    try:
        marker.write_text("canary")
    except OSError:
        return _fails(sandbox, workspace, f"ls -A '{home}' | grep -q .")
    try:
        return _fails(sandbox, workspace, f"cat '{marker}'")
    finally:
        marker.unlink(missing_ok=True)


def _connect(port: int) -> str:
    return f"exec 3<>/dev/tcp/127.0.0.1/{port}"


def _see() -> str:
    """Succeeds if the process that started the sandbox can be seen in it, whatever has its number there."""
    own = Path(f"/proc/{os.getpid()}/cmdline").read_bytes().replace(b"\0", b" ")[:200].decode(errors="replace")
    seen = f"$(head -c 200 /proc/{os.getpid()}/cmdline 2>/dev/null | tr '\\0' ' ')"
    return f'test "{seen}" = {shlex.quote(own)}'


def _no_keys(sandbox: Sandbox, workspace: Path) -> bool:
    return "canary-key" not in _run(sandbox, workspace, "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'")[1]


def _no_hooks(sandbox: Sandbox, workspace: Path) -> bool:
    git = Path(os.path.realpath(workspace), ".git")
    hook = git / "hooks" / f"aicli-proof-{secrets.token_hex(8)}"
    new = [folder for folder in (hook.parent, git) if not folder.exists()]
    _run(sandbox, workspace, f"mkdir -p .git/hooks && echo x > .git/hooks/{hook.name}")
    held = not os.path.lexists(hook)
    for path, remove in ((hook, os.unlink), *((folder, os.rmdir) for folder in new)):
        _removed(path, remove)
    return held


def _removed(path: Path, remove: Callable[..., None]) -> None:
    """By its open folder, if it can be: a command that still runs may have put a link into the way."""
    with contextlib.suppress(OSError):
        folder = folder_fd(str(path.parent))
        try:
            remove(path.name, dir_fd=folder)
        finally:
            os.close(folder)
