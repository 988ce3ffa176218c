"""The journal of one run's changes: records are appended, and folded into turns that can be undone."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import Any

from aicli.late import dataclass
from aicli.paths import private_folder

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

ABSENT = ""


@dataclass(frozen=True, slots=True)
class State:
    """What stood at a path. `sha` ABSENT: nothing. `source`: "blob" kept here, "git" (then `sha` is git's object id),
    "lost" known by its hash only, "unknown" not known at all, "link" (then `sha` is its target as written), "dir".
    """

    sha: str = ABSENT
    mode: int = 0
    mtime_ns: int = 0
    source: str = "blob"

    @property
    def absent(self) -> bool:
        """Is it known that nothing stood there?"""
        return self.sha == ABSENT and self.source == "blob"

    @property
    def whole(self) -> bool:
        """Is it a link or a folder, which the record itself tells all of?"""
        return self.source in ("link", "dir")

    def same(self, other: State) -> bool:
        """Do both speak of the same thing? Mode and time don't count."""
        return self.sha == other.sha and (self.source == other.source or not (self.whole or other.whole))

    def pack(self) -> list[Any]:
        return [self.sha, self.mode, self.mtime_ns, self.source]

    @classmethod
    def unpack(cls, raw: list[Any]) -> State:
        return cls(str(raw[0]), int(raw[1]), int(raw[2]), str(raw[3]))


UNKNOWN = State(source="unknown")
_TAIL = 1 << 16


@dataclass(slots=True)
class Change:
    """One file before and after one step. `made` are the folders that had to be made for it. `unsure`: the command was
    cut off, so that `after` is what was found later, and may be somebody else's.
    """

    path: str
    before: State
    after: State
    made: tuple[str, ...] = ()
    unsure: bool = False


@dataclass(slots=True)
class Group:
    """What one turn changed, or what one undo put back (then `undoes` names the groups)."""

    run: str
    id: str
    turn: int
    at: float
    changes: list[Change] = field(default_factory=list)
    undoes: tuple[str, ...] = ()
    undone: bool = False
    skipped: tuple[str, ...] = ()
    skipped_more: int = 0

    @property
    def paths(self) -> list[str]:
        return list(dict.fromkeys(c.path for c in self.changes))


@dataclass
class Run:
    """A journal read back. `open_command` is the record of a shell call whose changes were never looked at."""

    id: str
    root: str = ""
    extra: tuple[str, ...] = ()
    groups: list[Group] = field(default_factory=list)
    open_command: dict[str, Any] | None = None
    refs: set[str] = field(default_factory=set)


def append(path: Path, records: Iterable[dict[str, Any]], *, sync: bool) -> None:
    """Adds records in one write. With `sync` they are on the disk before this returns. Raises OSError."""
    private_folder(path.parent)
    data = "".join(json.dumps(r, ensure_ascii=True, separators=(",", ":")) + "\n" for r in records).encode()
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    try:
        os.write(fd, data if _ends_a_line(fd) else b"\n" + data)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Holds off the undo of another process, which would take back the same turn. Blocks until that one has ended."""
    fd = -1
    with contextlib.suppress(OSError):  # no folder to write in, or no locks there: then as it comes
        fd = os.open(folder / "undo.lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if fd >= 0:
            os.close(fd)


def hold(path: Path) -> int:
    """Marks the run as alive until the descriptor is closed; -1 where that can't be told. Raises OSError."""
    private_folder(path.parent)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # the same run, opened twice
        os.close(fd)
        return -1
    return fd


def alive(path: Path) -> bool:
    """Is there a process that holds this run's journal?"""
    if fcntl is None:
        return False
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def cut_off(path: Path) -> bool:
    """Does it end with a command whose changes were never looked at? Reads its end alone."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            tail = file.read()
    except OSError:
        return False
    return tail.rfind(b'{"t":"command"') > tail.rfind(b'{"t":"settled"')


def _ends_a_line(fd: int) -> bool:
    """A process that died while writing leaves half a record, which must not swallow the next one."""
    size = os.fstat(fd).st_size
    if size == 0:
        return True
    os.lseek(fd, size - 1, os.SEEK_SET)
    return os.read(fd, 1) == b"\n"


def load(path: Path) -> Run:
    """The run that a journal tells of; torn or strange lines are skipped."""
    run = Run(path.stem)
    groups: dict[str, Group] = {}
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return run
    for line in lines:
        try:
            record = json.loads(line)
            _take(run, groups, record)
        except (ValueError, KeyError, TypeError, IndexError):
            continue
    run.groups = [g for g in groups.values() if g.changes or g.skipped]
    return run


def _take(run: Run, groups: dict[str, Group], record: dict[str, Any]) -> None:
    kind = record["t"]
    if kind == "run":
        run.root = record["root"]
        run.extra = tuple(record.get("extra", ()))
        return
    group = groups.get(record["g"])
    if group is None:
        group = groups[record["g"]] = Group(run.id, record["g"], int(record["turn"]), float(record["at"]))
    if kind == "before":
        before = State.unpack(record["state"])
        after = State(record["next"]) if record.get("next") else UNKNOWN
        run.refs.update(s for s in (before.sha, after.sha) if s)
        made, unsure = tuple(record.get("made", ())), bool(record.get("unsure"))
        group.changes.append(Change(record["path"], before, after, made, unsure))
    elif kind == "after":
        change = next(c for c in reversed(group.changes) if c.path == record["path"])
        change.after = State.unpack(record["state"])
        run.refs.add(change.after.sha)
    elif kind == "command":
        run.open_command = record
        run.refs.add(record["manifest"])
    elif kind == "settled":
        run.open_command = None
    elif kind == "skipped":
        group.skipped = tuple(dict.fromkeys([*group.skipped, *record["names"]]))
        group.skipped_more = max(group.skipped_more, int(record["more"]))
    elif kind == "undo":
        group.undoes = tuple(record["groups"])
    elif kind == "undone":
        for other in record["groups"]:
            if other in groups:
                groups[other].undone = bool(record["value"])
