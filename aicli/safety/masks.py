"""The empty files and folders that mounts leave in a workspace: remembered under a lock, removed when nobody uses them."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aicli import paths
from aicli.safety.fresh_git import tame

try:
    import fcntl
except ImportError:  # Windows, where there is no such sandbox
    fcntl = None  # type: ignore[assignment]


class Masks:
    """Shared by all sandboxes of a workspace through a lock file, which also lists what a killed run left behind."""

    def __init__(self, roots: Sequence[str]) -> None:
        key = hashlib.sha256("\0".join(roots).encode(errors="surrogateescape")).hexdigest()[:24]
        try:
            folder = paths.private_folder(paths.state_folder() / "sandbox")
            self._lock = folder / f"{key}.lock"
            self._lock.touch(mode=0o600)
        except OSError:  # a read-only home: nothing is remembered beyond this run
            folder = Path(tempfile.mkdtemp(prefix="aicli-masks-"))
            self._lock = folder / f"{key}.lock"
            self._lock.touch(mode=0o600)

    def hold(self) -> Hold:
        """Marks the masks as in use until `release` is called on the result. Raises OSError."""
        return Hold(self._lock)


class Hold:
    """One command's use of the masks."""

    def __init__(self, lock: Path) -> None:
        self._lock = lock
        self._fd = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        self._unwanted: list[str] = []
        self._fresh: list[str] = []
        if fcntl is not None:
            fcntl.flock(self._fd, fcntl.LOCK_SH)

    def made(self, path: str) -> None:
        """A mount point that is not there yet and will be left behind."""
        with open(self._lock, "ab") as file:
            file.write(os.fsencode(path) + b"\0")

    def unwanted(self, path: str) -> None:
        """Something that must not appear during the command; noted only while it is not there."""
        if not os.path.lexists(path):
            self._unwanted.append(path)

    def fresh(self, path: str) -> None:
        """A `.git` that is not there yet: one that the command makes will be tamed."""
        self._fresh.append(path)

    def release(self) -> None:
        """Tidies up; the last of several commands removes the mount points. May be called once."""
        try:
            self._tidy()
        finally:
            os.close(self._fd)

    def _tidy(self) -> None:
        for path in self._unwanted:
            if os.path.lexists(path) and not os.path.isdir(path):
                os.unlink(path)
        for path in self._fresh:
            tame(path)
        if fcntl is None:
            return
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another command still needs them; the last one sweeps
        listed = os.pread(self._fd, 1 << 20, 0).split(b"\0")
        for name in sorted(set(filter(None, listed)), reverse=True):
            _remove_if_empty(os.fsdecode(name))
        os.ftruncate(self._fd, 0)


def _remove_if_empty(path: str) -> None:
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        elif not os.path.islink(path) and os.path.getsize(path) == 0:
            os.unlink(path)
    except OSError:
        pass
