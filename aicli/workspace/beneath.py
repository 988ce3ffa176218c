"""Opens what lies beneath allowed roots, without races: links are followed by hand, each hop beneath."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

from aicli.late import dataclass
from aicli.workspace.faults import OutsideWorkspace

HOPS = 40
HAS_DIR_FD = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _CLOEXEC | _NOFOLLOW
_STEP = (getattr(os, "O_PATH", 0) | DIRECTORY) if sys.platform == "linux" else DIRECTORY
_OPENAT2 = 437
_RESOLVE = 0x02 | 0x04 | 0x08  # no magic links, no links at all, beneath
_LINKS = (errno.ELOOP, errno.EXDEV, errno.ENOTDIR)
_missing_call = (errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG, errno.EAGAIN)


class _How(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


def _system_call() -> Any:
    if sys.platform != "linux":
        return None
    try:
        return ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return None


_syscall = _system_call()


def open_straight(dir_fd: int, parts: Sequence[str], flags: int) -> int | None:
    """Opens a path that holds no link and no "..", in one system call. None: walk it by hand. Raises OSError."""
    if _syscall is None:
        return None
    how = _How(flags | _CLOEXEC, 0, _RESOLVE)
    name = os.fsencode("/".join(parts) or ".")
    fd: int = _syscall(_OPENAT2, dir_fd, name, ctypes.byref(how), ctypes.sizeof(how))
    if fd >= 0:
        return fd
    code = ctypes.get_errno()
    if code in _LINKS or code in _missing_call or code == errno.ENOENT:
        return None
    raise OSError(code, os.strerror(code), "/".join(parts))


def step_fd(dir_fd: int, name: str) -> int:
    """A folder of that name, to go on from (needs no right to read it); never through a link. Raises OSError."""
    return os.open(name, _STEP, dir_fd=dir_fd)


def folder_fd(path: str) -> int:
    """A folder by an absolute path that holds no link and no "..", to go on from. Raises OSError for one that does."""
    if sys.platform != "linux":
        return os.open(path, DIRECTORY)
    fd = os.open("/", _STEP)
    for name in _parts(path):
        try:
            below = os.open(name, _STEP, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd


class Root:
    """One allowed folder, held open; `aliases` are the ways to spell it."""

    _fd = -1

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self.aliases = tuple({_parts(self.path), _parts(os.path.abspath(path))})

    @property
    def fd(self) -> int:
        """A descriptor of the folder; opened again if it was deleted and made anew. Raises OSError."""
        if self._fd >= 0 and os.fstat(self._fd).st_nlink == 0:
            self.close()
        if self._fd < 0:
            step = folder_fd(self.path)  # the way there may lie in another root, where a command could put a link
            try:
                self._fd = os.open(".", DIRECTORY, dir_fd=step) if HAS_DIR_FD else os.open(self.path, DIRECTORY)
            finally:
                os.close(step)
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()

    def below(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """The parts under this root if an absolute path lies in it, compared by whole components."""
        for alias in self.aliases:
            if parts[: len(alias)] == alias:
                return parts[len(alias) :]
        return None


def _parts(path: str) -> tuple[str, ...]:
    return tuple(p for p in path.replace(os.sep, "/").split("/") if p)


@dataclass
class Spot:
    """Where a path ends: an open parent folder, a name in it ("": the root itself) and what stands there, if anything.

    `parts` is the real place under `root` after all links. Close it (a context manager).
    """

    root: Root
    parts: tuple[str, ...]
    name: str
    dir_fd: int
    status: os.stat_result | None

    def at(self, name: str = "") -> tuple[str, dict[str, int]]:
        """Arguments for an os function that speaks of `name` in the parent folder."""
        own = name or self.name or "."
        if HAS_DIR_FD:
            return own, {"dir_fd": self.dir_fd}
        return os.path.join(self.root.path, *self.parts[:-1] if self.name else self.parts, own), {}

    def open(self, flags: int, mode: int = 0o600, name: str = "") -> int:
        """A descriptor; never through a link. Raises OSError."""
        where, how = self.at(name)
        return os.open(where, flags | _CLOEXEC | _NOFOLLOW | getattr(os, "O_BINARY", 0), mode, **how)

    def look(self, name: str = "") -> os.stat_result | None:
        where, how = self.at(name)
        try:
            return os.stat(where, follow_symlinks=False, **how)
        except FileNotFoundError:
            return None

    def replace(self, source: str) -> None:
        """Renames `source`, a name in the same folder, to this name. Raises OSError."""
        if HAS_DIR_FD:
            os.replace(source, self.name, src_dir_fd=self.dir_fd, dst_dir_fd=self.dir_fd)
        else:
            os.replace(self.at(source)[0], self.at()[0])

    def unlink(self, name: str = "") -> None:
        where, how = self.at(name)
        os.unlink(where, **how)

    def sync(self) -> None:
        """Makes the folder's own entries durable, where the system can."""
        if not HAS_DIR_FD:
            return
        fd = os.open(".", os.O_RDONLY | _CLOEXEC, dir_fd=self.dir_fd)
        try:
            os.fsync(fd)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
        finally:
            os.close(fd)

    def close(self) -> None:
        if self.dir_fd >= 0:
            os.close(self.dir_fd)
            self.dir_fd = -1

    def __enter__(self) -> Spot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find(roots: Sequence[Root], root: Root, parts: Sequence[str], *, follow: bool = True, make: bool = False) -> Spot:
    """Walks `parts` from `root`. `follow` the last name too if it is a link; `make` folders missing on the way.

    Raises OutsideWorkspace, or OSError (ENOENT for a missing folder on the way; a missing last name is no error).
    """
    if not HAS_DIR_FD:
        return _find_plain(roots, root, parts, make)
    walk = _Walk(roots, root, follow, make)
    try:
        return walk.go(list(parts))
    except BaseException:
        walk.close()
        raise


class _Walk:
    def __init__(self, roots: Sequence[Root], root: Root, follow: bool, make: bool) -> None:
        self.roots, self.root, self.follow, self.make = roots, root, follow, make
        self.fds = [os.dup(root.fd)]
        self.names: list[str] = []
        self.hops = 0

    def close(self) -> None:
        while self.fds:
            os.close(self.fds.pop())

    def go(self, parts: list[str]) -> Spot:
        pending = self._shortcut(parts)[::-1]
        while pending:
            name = pending.pop()
            if name in ("", "."):
                continue
            if name == "..":
                self._up(pending)
                continue
            last = not any(p not in ("", ".") for p in pending)
            name, status = self._look(name)
            if status is not None and stat.S_ISLNK(status.st_mode) and (self.follow or not last):
                self._link(name, pending)
            elif last:
                return self._spot(name, status)
            else:
                self._down(name, status)
        return self._spot("", os.fstat(self.fds[-1]))

    def _shortcut(self, parts: list[str]) -> list[str]:
        """Takes all but the last name in one call when no link is on the way; gives what is left to walk."""
        if len(parts) < 3 or ".." in parts:
            return parts
        fd = open_straight(self.fds[-1], parts[:-1], _STEP)
        if fd is None:
            return parts
        os.close(self.fds.pop())
        self.fds.append(fd)
        self.names = [p for p in parts[:-1] if p not in ("", ".")]
        return parts[-1:]

    def _spot(self, name: str, status: os.stat_result | None) -> Spot:
        fd = self.fds.pop()
        self.close()
        return Spot(self.root, (*self.names, name) if name else tuple(self.names), name, fd, status)

    def _look(self, name: str) -> tuple[str, os.stat_result | None]:
        try:
            return name, os.stat(name, dir_fd=self.fds[-1], follow_symlinks=False)
        except FileNotFoundError:
            twin = "" if name.isascii() else self._twin(name)
            return (twin, os.stat(twin, dir_fd=self.fds[-1], follow_symlinks=False)) if twin else (name, None)

    def _twin(self, name: str) -> str:
        """The entry that differs only in its Unicode form (é as one character or as two)."""
        wanted = unicodedata.normalize("NFC", name)
        try:
            fd = os.open(".", os.O_RDONLY | _CLOEXEC, dir_fd=self.fds[-1])
        except OSError:
            return ""
        try:
            return next((n for n in os.listdir(fd) if unicodedata.normalize("NFC", n) == wanted), "")
        finally:
            os.close(fd)

    def _down(self, name: str, status: os.stat_result | None) -> None:
        if status is None:
            if not self.make:
                raise FileNotFoundError(errno.ENOENT, "no such folder", "/".join((*self.names, name)))
            try:
                os.mkdir(name, dir_fd=self.fds[-1])
            except FileExistsError:
                pass
        self.fds.append(os.open(name, _STEP, dir_fd=self.fds[-1]))
        self.names.append(name)

    def _up(self, pending: list[str]) -> None:
        if self.names:
            self.names.pop()
            if len(self.fds) > 1:
                os.close(self.fds.pop())
            else:  # the shortcut went down in one step: start again from the root
                self._enter(self.root, pending, self.names)
            return
        above = [*_parts(self.root.path)[:-1], *reversed([p for p in pending if p not in ("", ".")])]
        self._jump(_parts(os.path.normpath("/" + "/".join(above))), pending)

    def _link(self, name: str, pending: list[str]) -> None:
        self.hops += 1
        if self.hops > HOPS:
            raise OSError(errno.ELOOP, "links in a circle", "/".join((*self.names, name)))
        target = os.readlink(name, dir_fd=self.fds[-1])
        if not target.startswith("/"):
            pending.extend(reversed(target.split("/")))
            return
        rest = [*reversed(pending)]
        self._jump((*_parts(target), *rest), pending)

    def _jump(self, absolute: tuple[str, ...], pending: list[str]) -> None:
        for root in self.roots:
            below = root.below(absolute)
            if below is not None:
                pending.clear()
                self._enter(root, pending, below)
                return
        raise OutsideWorkspace("a link or .. leads out of the workspace")

    def _enter(self, root: Root, pending: list[str], parts: Sequence[str]) -> None:
        pending.extend(reversed(parts))
        self.close()
        self.root, self.names = root, []
        self.fds.append(os.dup(root.fd))
        self.hops += 1
        if self.hops > HOPS:
            raise OSError(errno.ELOOP, "links in a circle", "/".join(parts))


def _find_plain(roots: Sequence[Root], root: Root, parts: Sequence[str], make: bool) -> Spot:
    """Where the system has no folder descriptors (Windows): resolve, then check; a race remains there."""
    real = os.path.realpath(os.path.join(root.path, *parts))
    for candidate in roots:
        below = candidate.below(_parts(real))
        if below is None:
            continue
        if make and below:
            os.makedirs(os.path.dirname(real), exist_ok=True)
        try:
            status: os.stat_result | None = os.stat(real)
        except FileNotFoundError:
            status = None
        return Spot(candidate, below, below[-1] if below else "", -1, status)
    raise OutsideWorkspace("a link or .. leads out of the workspace")
