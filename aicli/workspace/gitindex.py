"""What git's index says of tracked files, read without running git: no filter, hook or configured program can start."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import struct
import subprocess
from pathlib import Path

from aicli.late import dataclass

_FIXED = struct.Struct(">10I20sH")
_LARGEST = 64_000_000


@dataclass(frozen=True, slots=True)
class Tracked:
    """A file as git last saw it: seconds and nanoseconds as one mtime, size in bytes, object id, permission bits."""

    mtime_ns: int
    size: int
    oid: str
    mode: int


def parse(data: bytes) -> dict[str, Tracked]:
    """Index format 2 or 3 with SHA-1 names; {} for any other (then files are simply copied)."""
    if data[:4] != b"DIRC" or len(data) < 32 or hashlib.sha1(data[:-20], usedforsecurity=False).digest() != data[-20:]:
        return {}
    version, count = struct.unpack(">II", data[4:12])
    if version not in (2, 3):
        return {}
    out: dict[str, Tracked] = {}
    at = 12
    try:
        for _ in range(count):
            entry = _FIXED.unpack_from(data, at)
            mode, size, oid, flags = entry[6], entry[9], entry[10], entry[11]
            name_at = at + _FIXED.size
            extended = struct.unpack_from(">H", data, name_at)[0] if flags & 0x4000 else 0
            name_at += 2 if flags & 0x4000 else 0
            end = data.index(b"\0", name_at)
            plain = not (flags & 0xB000) and not (extended & 0x6000)  # assume-unchanged, stages, sparse, intent to add
            if mode >> 12 == 0b1000 and plain:
                mtime = entry[2] * 1_000_000_000 + entry[3]
                out[os.fsdecode(data[name_at:end])] = Tracked(mtime, size, oid.hex(), mode & 0o777)
            at += (end - at + 8) & ~7
    except (struct.error, ValueError):
        return {}
    return {} if any(name.endswith("/.gitattributes") for name in out) else out


def index_of(root: Path) -> tuple[bytes, int]:
    """The index file's bytes and its mtime in ns, where objects hold files exactly as they are on disk; else (b"", 0)."""
    git = root / ".git"
    try:
        if not git.is_dir() or _converts(root, git):
            return b"", 0
        return _content(git / "index")
    except OSError:
        return b"", 0


def _content(path: Path) -> tuple[bytes, int]:
    """A regular file's bytes and mtime in ns. Raises OSError, also for a pipe, which would never give an end."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise OSError(errno.EINVAL, "not a file, or too large", str(path))
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(_LARGEST), status.st_mtime_ns
    finally:
        os.close(fd)


def _converts(root: Path, git: Path) -> bool:
    """May content differ between disk and objects (line ends, filters)? When in doubt, yes."""
    if (root / ".gitattributes").exists() or (git / "info" / "attributes").exists():
        return True
    for path in (
        git / "config",
        Path.home() / ".gitconfig",
        Path.home() / ".config/git/config",
        Path("/etc/gitconfig"),
    ):
        try:
            text = _content(path)[0].decode("utf-8", "replace").lower()
        except OSError as error:
            if error.errno == errno.EINVAL:
                return True
            continue
        if any(word in text for word in ("autocrlf", "attributesfile", "filter ", "[include", "objectformat", "eol")):
            return True
    return bool(os.environ.get("GIT_DIR"))


def object_id(data: bytes) -> str:
    """The name git gives this content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def read_object(root: Path, oid: str) -> bytes | None:
    """A blob from git's objects; None where git or the object is not there. Runs git without any of its hooks. Blocks."""
    git = shutil.which("git", path="/usr/bin:/bin:/usr/local/bin") or shutil.which("git")
    if git is None:
        return None
    command = [git, "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"]
    command += ["-c", f"safe.directory={root}"]
    env = {
        "PATH": os.defpath,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "LC_ALL": "C",
    }
    try:
        done = subprocess.run(
            [*command, "-C", str(root), "cat-file", "blob", oid],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            env=env,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 and object_id(done.stdout) == oid else None
