"""Writes a file as a whole or not at all: temporary file beside it, flush, rename, flush the folder."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from typing import Any

from aicli.workspace.beneath import HAS_DIR_FD, Spot

PREFIX = ".aicli-tmp-"


class Moved(Exception):
    """What stood at the place changed while the new content was being written."""


def put(spot: Spot, data: bytes, *, mode: int | None = None, mtime_ns: int | None = None) -> int:
    """Replaces what stands at `spot` by `data`; gives the new mtime in ns. Mode, owner, attributes stay.

    `mode` (permission bits) and `mtime_ns` override. Raises OSError (then the old file is whole and no temporary
    file is left) or Moved.
    """
    old = spot.status
    if old is not None and stat.S_ISLNK(old.st_mode):
        old, seen = None, old
    else:
        seen = old
    if old is not None and not _writable(spot):
        raise PermissionError(errno.EACCES, "the file is read-only", spot.name)
    temporary = f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
    fd, named = _fresh(spot, 0o666 if old is None and mode is None else 0o600, temporary)
    try:
        try:
            _fill(fd, data)
            if old is not None or mode is not None:
                _dress(spot, fd, old, mode)
            if mtime_ns is not None:
                os.utime(fd if os.utime in os.supports_fd else spot.at(temporary)[0], ns=(mtime_ns, mtime_ns))
            os.fsync(fd)
            mtime = os.fstat(fd).st_mtime_ns
            if not named:
                os.link(f"/proc/self/fd/{fd}", temporary, dst_dir_fd=spot.dir_fd, follow_symlinks=True)
        finally:
            os.close(fd)
        if _token(spot.look()) != _token(seen):
            raise Moved
        spot.replace(temporary)
    except BaseException:
        try:
            spot.unlink(temporary)
        except FileNotFoundError:
            pass
        raise
    spot.sync()
    return mtime


def put_link(spot: Spot, target: str, mtime_ns: int | None = None) -> None:
    """Replaces what stands at `spot`, if anything, by a link. Raises OSError."""
    temporary = f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
    where, found = spot.at(temporary)
    how: dict[str, Any] = {**found}
    os.symlink(target, where, **how)
    try:
        if mtime_ns is not None and os.utime in os.supports_follow_symlinks:
            os.utime(where, ns=(mtime_ns, mtime_ns), follow_symlinks=False, **how)
        spot.replace(temporary)
    except BaseException:
        spot.unlink(temporary)
        raise


def _fresh(spot: Spot, mode: int, name: str) -> tuple[int, bool]:
    """A new file to write, and whether it has its name already: one without dies with the process, leaving nothing."""
    nameless = getattr(os, "O_TMPFILE", 0)
    if nameless and HAS_DIR_FD and os.path.exists("/proc/self/fd"):
        try:
            return os.open(".", nameless | os.O_WRONLY | os.O_CLOEXEC, mode, dir_fd=spot.dir_fd), False
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
                raise
    return spot.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, name), True


def _fill(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view[: 1 << 24]) :]


def _token(status: os.stat_result | None) -> tuple[int, ...]:
    return () if status is None else (status.st_ino, status.st_size, status.st_mtime_ns)


def _writable(spot: Spot) -> bool:
    where, how = spot.at()
    return os.access(where, os.W_OK, dir_fd=how.get("dir_fd"), effective_ids=os.access in os.supports_effective_ids)


def _dress(spot: Spot, fd: int, old: os.stat_result | None, mode: int | None) -> None:
    """Gives the new file the old one's owner, attributes and mode; what the system refuses is left."""
    if old is not None and HAS_DIR_FD:
        for uid, gid in ((-1, old.st_gid), (old.st_uid, -1)):
            try:
                os.fchown(fd, uid, gid)
            except OSError:
                pass
        _copy_attributes(spot, fd)
    bits = stat.S_IMODE(old.st_mode) if mode is None and old is not None else mode
    if bits is not None and HAS_DIR_FD:
        os.fchmod(fd, bits)


def _copy_attributes(spot: Spot, fd: int) -> None:
    if not hasattr(os, "listxattr"):
        return
    try:
        source = spot.open(os.O_RDONLY)
    except OSError:
        return
    try:
        for name in os.listxattr(source):
            if name != "security.capability":
                os.setxattr(fd, name, os.getxattr(source, name))
    except OSError:
        pass
    finally:
        os.close(source)
