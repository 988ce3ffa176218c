"""Values that describe what stands in a workspace: places, entries, versions of files."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal

from aicli.late import dataclass

HASH_LIMIT = 16_000_000
"""Files above this many bytes are told apart by size and time alone."""

Kind = Literal["file", "dir", "link", "fifo", "socket", "device"]


@dataclass(frozen=True, slots=True)
class FileVersion:
    """What a file was: nanoseconds, bytes, and the hash of its content ("" above HASH_LIMIT)."""

    mtime_ns: int
    size: int
    sha256: str

    def same(self, other: FileVersion | None) -> bool:
        """Is it the same content? The hash decides; without one, size and time."""
        if other is None or self.size != other.size:
            return False
        if self.sha256 and other.sha256:
            return self.sha256 == other.sha256
        return self.mtime_ns == other.mtime_ns


@dataclass(frozen=True, slots=True)
class Place:
    """A path inside: absolute; `display` relative with "/" (absolute in an extra root, "." for the root); its root."""

    path: Path
    display: str
    root: Path


@dataclass(frozen=True, slots=True)
class Entry:
    """A name in a folder; `rel` as Place.display. Size in bytes, mtime and mode are 0 unless asked for."""

    name: str
    rel: str
    kind: Kind
    size: int = 0
    mtime_ns: int = 0
    mode: int = 0


def kind_of(mode: int) -> Kind:
    """The kind of thing a mode speaks of."""
    tests: tuple[tuple[Callable[[int], bool], Kind], ...] = (
        (stat.S_ISREG, "file"),
        (stat.S_ISDIR, "dir"),
        (stat.S_ISLNK, "link"),
        (stat.S_ISFIFO, "fifo"),
        (stat.S_ISSOCK, "socket"),
    )
    return next((kind for test, kind in tests if test(mode)), "device")


def version_of(file: BinaryIO) -> FileVersion:
    """The version of an open file; reads it all up to HASH_LIMIT, from its start."""
    status = os.fstat(file.fileno())
    if status.st_size > HASH_LIMIT:
        return FileVersion(status.st_mtime_ns, status.st_size, "")
    file.seek(0)
    data = file.read(HASH_LIMIT + 1)
    return FileVersion(status.st_mtime_ns, len(data), digest(data))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest() if len(data) <= HASH_LIMIT else ""


def entry_of(found: os.DirEntry[str], prefix: str, stats: bool) -> Entry:
    size = mtime = mode = 0
    if found.is_symlink():
        kind: Kind = "link"
    elif found.is_dir(follow_symlinks=False):
        kind = "dir"
    elif found.is_file(follow_symlinks=False):
        kind = "file"
    else:
        kind = _odd_kind(found)
    if stats:
        try:
            status = found.stat(follow_symlinks=False)
            size, mtime, mode = status.st_size, status.st_mtime_ns, stat.S_IMODE(status.st_mode)
        except OSError:
            pass
    return Entry(found.name, prefix + found.name, kind, size, mtime, mode)


def _odd_kind(found: os.DirEntry[str]) -> Kind:
    try:
        return kind_of(found.stat(follow_symlinks=False).st_mode)
    except OSError:
        return "device"
