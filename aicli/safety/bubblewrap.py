"""The first choice on Linux: bubblewrap with a system call filter. The workspace can change, the rest can't."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from aicli import paths
from aicli.safety import held
from aicli.safety.confined import Confined, Status
from aicli.safety.masks import Hold, Masks
from aicli.safety.mounts import Mounts
from aicli.safety.sandbox_paths import (
    IN_GIT,
    PROTECTED_FILES,
    PROTECTED_FOLDERS,
    SHELL_FILES,
    View,
    git_folder,
    nested_git,
    network_files,
    within,
)
from aicli.safety.seccomp import filter_bytes
from aicli.safety.secrets import SYSTEM_PATH

_ROOT_ONLY = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
_ROOT_SECRETS = ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-")
_PROBE_SECONDS = 10
_PROOF_SECONDS = 86_400


def find() -> str:
    """The bwrap to use, "" when PATH has none. /usr/bin/bwrap goes first: AppArmor profiles name that path."""
    found = shutil.which("bwrap", path=_absolute(os.environ.get("PATH", "")))
    return "" if found is None else "/usr/bin/bwrap" if os.access("/usr/bin/bwrap", os.X_OK) else found


def works(program: str) -> bool:
    """Can it make namespaces here? Runs it, some milliseconds; a yes is remembered for a day of this boot.

    A yes that no longer holds makes commands fail, never run unconfined.
    """
    if _proved(program):
        return True
    argv = [program, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"]
    try:
        tried = subprocess.run(argv, env={"PATH": SYSTEM_PATH}, capture_output=True, timeout=_PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    if tried.returncode == 0:
        _remember(program)
    return tried.returncode == 0


def _proof() -> Path:
    return paths.cache_folder() / "bubblewrap-works"


def _circumstances(program: str) -> str:
    """What the answer hangs on. Raises OSError."""
    found = os.stat(program)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    spaces = [os.readlink(f"/proc/self/ns/{name}") for name in ("user", "mnt", "pid")]
    return " ".join((program, str(found.st_ino), str(found.st_mtime_ns), str(os.geteuid()), boot, *spaces))


def _proved(program: str) -> bool:
    try:
        age = time.time() - _proof().stat().st_mtime
        return 0 <= age < _PROOF_SECONDS and _proof().read_text("utf-8") == _circumstances(program)
    except (OSError, ValueError):
        return False


def _remember(program: str) -> None:
    with contextlib.suppress(OSError):  # it is only asked again
        paths.private_folder(_proof().parent)
        _proof().write_text(_circumstances(program), "utf-8")


def _absolute(path: str) -> str:
    here = os.path.realpath(os.getcwd())
    entries = [p for p in path.split(os.pathsep) if os.path.isabs(p) and not within(os.path.realpath(p), here)]
    return os.pathsep.join(entries)


class Bubblewrap:
    """One sandbox for a run: its commands share a private /tmp, which goes away with it."""

    status: Status = "full"
    missing: tuple[str, ...] = ()
    kind = "bubblewrap"

    def __init__(self, program: str, seen: View) -> None:
        self._program = program
        self._view = seen
        self._filter = filter_bytes()
        base = tempfile.mkdtemp(prefix="aicli-")
        self._temporary, self._empty = os.path.join(base, "tmp"), os.path.join(base, "empty")
        os.mkdir(self._temporary, 0o700)
        os.mkdir(self._empty, 0o555)
        self._masks = Masks(seen.writable)
        weakref.finalize(self, shutil.rmtree, base, ignore_errors=True)
        self._root = os.geteuid() == 0

    def confine(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], writable: bool = True, network: bool = False
    ) -> Confined:
        """Raises OSError when the filter can't be handed over, PermissionError when what a rule denies can't be held.

        `close` removes what the mounts left in the workspace.
        """
        words = [self._program, "--unshare-all", "--new-session", "--die-with-parent", "--cap-drop", "ALL"]
        words += ["--share-net"] if network else []
        words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        if self._root:
            words += [w for p in _ROOT_ONLY if os.path.exists(p) for w in ("--ro-bind", p, p)]
            words += [w for p in _ROOT_SECRETS if os.path.isfile(p) for w in ("--ro-bind", "/dev/null", p)]
        words += self._hidden(network, env)
        words += self._roots(writable)
        fds: list[int] = []
        hold = None
        if writable:
            mounts = Mounts()
            held.hold(mounts, self._view.held, self._view.writable)
            hold = self._masks.hold()
            words += self._protected(mounts, hold)
        else:
            self._masks.sweep()
        for folder in self._view.hidden_inside:
            words += ["--tmpfs", folder]
        if self._filter:
            fds.append(_memory(self._filter))
            words += ["--seccomp", str(fds[-1])]
        words += ["--chdir", str(cwd), "--", *argv]

        return Confined(words, {**env, "TMPDIR": "/tmp"}, tuple(fds), lambda: self._ended(fds, hold))

    def _ended(self, fds: list[int], hold: Hold | None) -> None:
        while fds:
            os.close(fds.pop())
        if hold is not None:
            hold.release()

    def _hidden(self, network: bool, env: Mapping[str, str]) -> list[str]:
        words = ["--bind", self._temporary, "/tmp"]
        for folder in self._view.hidden:
            if not within(folder, "/tmp"):
                words += ["--tmpfs", folder]
        words += ["--dir", self._view.home]
        home = env.get("HOME", "")
        if os.path.isabs(home) and home != self._view.home and within(os.path.realpath(home), self._view.home):
            words += ["--dir", home]
        for folder in self._view.readable:
            words += ["--ro-bind", folder, folder]
        for path in network_files(env, [*self._view.hidden, "/tmp"]) if network else ():
            words += ["--ro-bind", path, path]
        return words

    def _roots(self, writable: bool) -> list[str]:
        words: list[str] = []
        for root in self._view.writable:
            words += ["--bind" if writable else "--ro-bind", root, root]
            shared = git_folder(root)
            if shared and os.path.isdir(shared) and not any(within(shared, r) for r in self._view.writable):
                words += ["--ro-bind", shared, shared]
        return words

    def _protected(self, mounts: Mounts, hold: Hold) -> list[str]:
        for root in self._view.writable:
            names = list(PROTECTED_FILES) + (list(SHELL_FILES) if root == self._view.home else [])
            for path in (*(os.path.join(root, name) for name in PROTECTED_FOLDERS), *nested_git(root)):
                self._folder(path, mounts, hold)
            for name in names:
                self._file(os.path.join(root, name), mounts, hold)
        return mounts.words(self._empty)

    def _folder(self, path: str, mounts: Mounts, hold: Hold) -> None:
        own_git = os.path.basename(path) == ".git"
        if os.path.islink(path) and not (path := self._behind(path)):
            return
        if not os.path.exists(path):
            if own_git:  # git init may make one
                hold.fresh(path)
            else:
                self._mask(path, mounts, hold)
        elif not own_git or not os.path.isdir(path):
            mounts.close(path)
        else:
            self._git(path, mounts, hold)

    def _git(self, path: str, mounts: Mounts, hold: Hold) -> None:
        mounts.open(path)
        for name in IN_GIT:
            inner = os.path.join(path, name)
            if os.path.exists(inner) and not os.path.islink(inner):
                mounts.close(inner)
            elif name == "hooks":
                self._mask(inner, mounts, hold)
            elif real := self._behind(inner):
                mounts.close(real)
        hold.unwanted(os.path.join(path, "commondir"))

    def _file(self, path: str, mounts: Mounts, hold: Hold) -> None:
        if os.path.islink(path) and not (path := self._behind(path)):
            return
        if os.path.exists(path):
            mounts.close(path)
        else:
            self._mask(path, mounts, hold)

    def _mask(self, path: str, mounts: Mounts, hold: Hold) -> None:
        """What is not there can't come to be: a folder stands there that git add passes by and nobody can write to.

        Where nothing can be made no such folder is needed, nor could it be made; a closed folder of one's own, which
        could be opened, stays closed.
        """
        above = os.path.dirname(path)
        if os.access(above, os.W_OK):
            mounts.mask(path, hold.made)
        elif os.stat(above).st_uid == os.geteuid() and not os.statvfs(above).f_flag & os.ST_RDONLY:
            mounts.close(above)

    def _behind(self, link: str) -> str:
        """What a link leads to, if that stands in a root; outside it is read-only anyway. The link can't be mounted over."""
        real = os.path.realpath(link)
        roots = self._view.writable
        inside = any(within(real, r) for r in roots) and not any(within(r, real) for r in roots)
        return real if inside and os.path.exists(real) else ""


def _memory(data: bytes) -> int:
    fd = os.memfd_create("filter")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    os.set_inheritable(fd, True)
    return fd
