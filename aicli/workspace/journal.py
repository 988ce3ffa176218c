"""The journal of one run's changes: records are appended, and folded into turns that can be undone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import Any

from aicli.late import dataclass
from aicli.paths import private_folder

ABSENT = ""


@dataclass(frozen=True, slots=True)
class State:
    """What stood at a path. `sha` ABSENT: nothing. `source`: "blob" kept here, "git" (then `sha` is git's object id),
    "lost" known by its hash only, "unknown" not known at all.
    """

    sha: str = ABSENT
    mode: int = 0
    mtime_ns: int = 0
    source: str = "blob"

    @property
    def absent(self) -> bool:
        """Is it known that nothing stood there?"""
        return self.sha == ABSENT and self.source == "blob"

    def pack(self) -> list[Any]:
        return [self.sha, self.mode, self.mtime_ns, self.source]

    @classmethod
    def unpack(cls, raw: list[Any]) -> State:
        return cls(str(raw[0]), int(raw[1]), int(raw[2]), str(raw[3]))


UNKNOWN = State(source="unknown")


@dataclass(slots=True)
class Change:
    """One file before and after one step. `made` are the folders that had to be made for it."""

    path: str
    before: State
    after: State
    made: tuple[str, ...] = ()


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
        group.changes.append(Change(record["path"], before, after, tuple(record.get("made", ()))))
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
