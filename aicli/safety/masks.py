"""The empty files and folders that mounts leave in a workspace: remembered under a lock, removed when nobody uses them."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from aicli import paths
from aicli.safety.fresh_git import opened, tame, writable_fd
from aicli.safety.sandbox_paths import within
from aicli.workspace.beneath import folder_fd

try:
    import fcntl
except ImportError:  # Windows, where there is no such sandbox
    fcntl = None  # type: ignore[assignment]


class Untidy(OSError):
    """What a command left could not be put right; the words are for the person and the model."""


class Masks:
    """Shared by all sandboxes of a root through a lock file, which also lists what a killed run left behind in it."""

    def __init__(self, roots: Sequence[str]) -> None:
        try:
            self._locks = _locks(paths.private_folder(paths.state_folder() / "sandbox"), roots)
        except OSError:  # a read-only home: nothing is remembered beyond this run
            self._locks = _locks(Path(tempfile.mkdtemp(prefix="aicli-masks-")), roots)
        self.sweep()

    def sweep(self) -> None:
        """Removes what a killed run left behind, unless a command still needs it. Raises nothing."""
        try:
            if any(lock.stat().st_size for lock in self._locks.values()):
                self.hold().release()
        except OSError:
            pass

    def hold(self) -> Hold:
        """Marks the masks as in use until `release` is called on the result. Raises OSError."""
        return Hold(self._locks)


def _locks(folder: Path, roots: Sequence[str]) -> dict[str, Path]:
    found = {}
    for root in roots:
        key = hashlib.sha256(root.encode(errors="surrogateescape")).hexdigest()[:24]
        found[root] = folder / f"{key}.lock"
        found[root].touch(mode=0o600)
    return found


class Hold:
    """One command's use of the masks."""

    def __init__(self, locks: Mapping[str, Path]) -> None:
        self._locks = locks
        self._fds: list[int] = []
        self._unwanted: list[tuple[str, tuple[int, int]]] = []
        self._fresh: list[str] = []
        try:
            for lock in locks.values():
                self._fds.append(os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
                if fcntl is not None:
                    fcntl.flock(self._fds[-1], fcntl.LOCK_SH)
        except OSError:
            self._close()
            raise

    def _close(self) -> None:
        while self._fds:
            os.close(self._fds.pop())

    def made(self, path: str) -> None:
        """A mount point that is not there yet and will be left behind."""
        root = min((r for r in self._locks if within(path, r)), key=len)
        with open(self._locks[root], "ab") as file:
            file.write(os.fsencode(path) + b"\0")

    def unwanted(self, path: str) -> None:
        """Something that must not appear during the command; noted only while it is not there."""
        if not os.path.lexists(path):
            self._unwanted.append((path, _identity(os.path.dirname(path))))

    def fresh(self, path: str) -> None:
        """A `.git` that is not there yet: one that the command makes will be tamed."""
        self._fresh.append(path)

    def release(self) -> None:
        """Tidies up; the last of several commands removes the mount points. May be called once.

        Every step is tried. Raises Untidy with what the person must know, OSError for a lock file that can't be used.
        """
        try:
            said = self._tidy()
            for fd in self._fds:
                _sweep(fd)
        finally:
            self._close()
        if said:
            raise Untidy(" ".join(said))

    def _tidy(self) -> list[str]:
        fresh = dict.fromkeys(self._fresh)
        said: list[str] = []
        for path, identity in self._unwanted:
            folder = os.path.dirname(path)
            if _identity(folder) != identity:  # another command put another folder there, which nobody looked at
                fresh[folder] = None
                continue
            said.append(_remove_file(path))
        said += map(tame, fresh)
        return [words for words in said if words]


def _sweep(fd: int) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # another command still needs them; the last one sweeps
    listed = os.pread(fd, 1 << 20, 0).split(b"\0")
    names = sorted(set(filter(None, listed)), reverse=True)
    left = [name for name in names if not _remove_if_empty(os.fsdecode(name))]
    os.ftruncate(fd, 0)
    os.pwrite(fd, b"".join(name + b"\0" for name in left), 0)


def _identity(path: str) -> tuple[int, int]:
    try:
        found = os.lstat(path)
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def _remove_file(path: str) -> str:
    """What is no folder goes away; gives "", or the words that say that it did not. Never through a link."""
    folder, name = os.path.split(path)
    try:
        above = folder_fd(os.path.dirname(folder))
        try:
            inner = writable_fd(above, os.path.basename(folder))
        finally:
            os.close(above)
        try:
            if not stat.S_ISDIR(os.stat(name, dir_fd=inner, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=inner)
        finally:
            os.close(inner)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"Do not use git in {os.path.dirname(folder)}: a command left {path} ({error.strerror or error})."
    return ""


def _remove_if_empty(path: str) -> bool:
    """False: it is still there for want of a right to remove it, to be tried again."""
    folder, name = os.path.split(path)
    try:
        parent = folder_fd(folder)
    except OSError as error:
        return error.errno != errno.EACCES
    try:
        with opened(parent):
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                os.rmdir(name, dir_fd=parent)
            elif stat.S_ISREG(found.st_mode) and found.st_size == 0:
                os.unlink(name, dir_fd=parent)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EPERM, errno.EBUSY)
    finally:
        os.close(parent)
    return True
