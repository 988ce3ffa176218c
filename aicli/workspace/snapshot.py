"""What the workspace holds before a shell command, as far as it can be kept, and what the command changed."""

from __future__ import annotations

import hashlib
import json
import stat
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import field

from aicli.late import dataclass
from aicli.workspace.blobs import BlobStore
from aicli.workspace.entries import Entry
from aicli.workspace.faults import WorkspaceError
from aicli.workspace.gitindex import Tracked, index_of, object_id, parse
from aicli.workspace.ignore import IgnoreRules
from aicli.workspace.journal import ABSENT, Change, State
from aicli.workspace.root import Workspace

MOST_FILES = 2_000
MOST_BYTES = 20_000_000
MOST_ENTRIES = 30_000
KEEP_LIMIT = 50_000_000
"""A file above this many bytes is not kept: undo names it."""
_AFTER_LIMIT = 1_000_000
_TICK_NS = 50_000_000
_NAMED = 50


@dataclass(frozen=True, slots=True)
class Kept:
    """A covered file: what its status was, and where its content is."""

    mtime_ns: int
    size: int
    mode: int
    state: State


@dataclass
class Snapshot:
    """`files` are kept here, `git` stand in git's objects, `others` are known by their status only. `skipped` names what
    was not looked into. `complete`: every file that wasn't there then is in none of them.
    """

    taken_ns: int
    files: dict[str, Kept] = field(default_factory=dict)
    git: dict[str, Kept] = field(default_factory=dict)
    others: dict[str, tuple[int, int]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    complete: bool = True
    index: bytes = b""

    def pack(self, index_name: str) -> bytes:
        """For the journal; git's part is not listed but follows from the index kept under `index_name`."""
        files = {rel: [k.mtime_ns, k.size, k.mode, k.state.sha, k.state.source] for rel, k in self.files.items()}
        body = {"taken": self.taken_ns, "complete": self.complete, "index": index_name, "files": files}
        return zlib.compress(json.dumps({**body, "others": self.others}, separators=(",", ":")).encode(), 1)

    @classmethod
    def unpack(cls, data: bytes, blobs: BlobStore) -> Snapshot:
        """Raises ValueError or KeyError for damaged data."""
        raw = json.loads(zlib.decompress(data))
        out = cls(int(raw["taken"]), complete=bool(raw["complete"]))
        for rel, (mtime, size, mode, sha, source) in raw["files"].items():
            out.files[rel] = Kept(mtime, size, mode, State(sha, mode, mtime, source))
        out.others = {rel: (pair[0], pair[1]) for rel, pair in raw["others"].items()}
        index = blobs.get(raw["index"]) if raw["index"] else None
        for rel, tracked in parse(index or b"").items():
            if rel not in out.files and rel not in out.others:
                out.git[rel] = _kept_by_git(tracked, tracked.mode)
        return out


def _kept_by_git(tracked: Tracked, mode: int) -> Kept:
    return Kept(tracked.mtime_ns, tracked.size, mode, State(tracked.oid, mode, tracked.mtime_ns, "git"))


class Snapshots:
    """Takes snapshots of one workspace; remembers what did not change since the last one."""

    def __init__(self, workspace: Workspace, blobs: BlobStore) -> None:
        self.workspace, self.blobs = workspace, blobs
        self._known: dict[str, Kept] = {}

    def take(self, seen: Iterable[str]) -> Snapshot:
        """Files in `seen` always; then unchanged tracked files by git's objects, then the smallest others within bounds."""
        out = Snapshot(time.time_ns())
        entries = {e.rel: e for e in self._files(out.skipped)}
        out.complete = len(entries) < MOST_ENTRIES
        for rel in seen:
            entry = entries.pop(rel, None) or self._entry(rel)
            if entry is not None:
                self._cover(out, entry)
        out.index, index_ns = index_of(self.workspace.root)
        tracked = parse(out.index)
        rest = []
        for rel, entry in entries.items():
            known = tracked.get(rel)
            if known and (known.mtime_ns, known.size) == (entry.mtime_ns, entry.size) and known.mtime_ns < index_ns:
                out.git[rel] = _kept_by_git(known, entry.mode)
            else:
                rest.append(entry)
        self._cover_rest(out, rest)
        return out

    def _cover_rest(self, out: Snapshot, rest: list[Entry]) -> None:
        count = room = 0
        for entry in sorted(rest, key=lambda e: e.size):
            count, room = count + 1, room + entry.size
            if count > MOST_FILES or room > MOST_BYTES:
                out.others[entry.rel] = (entry.mtime_ns, entry.size)
                out.skipped.append(entry.rel)
            else:
                self._cover(out, entry)

    def _cover(self, out: Snapshot, entry: Entry) -> None:
        known = self._known.get(entry.rel)
        same = known and (known.mtime_ns, known.size, known.mode) == (entry.mtime_ns, entry.size, entry.mode)
        if known and same and entry.mtime_ns < out.taken_ns - _TICK_NS and self.blobs.touch(known.state.sha):
            out.files[entry.rel] = known
            return
        state = None if entry.size > KEEP_LIMIT else self._keep(entry)
        if state is None:
            out.others[entry.rel] = (entry.mtime_ns, entry.size)
            out.skipped.append(entry.rel)
            return
        kept = Kept(entry.mtime_ns, entry.size, entry.mode, state)
        out.files[entry.rel] = self._known[entry.rel] = kept

    def _keep(self, entry: Entry) -> State | None:
        try:
            data = self._content(entry)
        except (WorkspaceError, OSError):
            return None
        return State(self.blobs.put(data, sync=False), entry.mode, entry.mtime_ns)

    def _content(self, entry: Entry, limit: int | None = None) -> bytes:
        """Empty files are not opened: those of the kernel (/proc) call themselves empty, and some give nothing for ever."""
        return self.workspace.read_bytes(entry.rel, limit) if entry.size else b""

    def _entry(self, rel: str) -> Entry | None:
        try:
            status = self.workspace.status(rel, follow=False)
        except WorkspaceError:
            return None
        if status is None or not stat.S_ISREG(status.st_mode):
            return None
        name = rel.rsplit("/", 1)[-1]
        return Entry(name, rel, "file", status.st_size, status.st_mtime_ns, stat.S_IMODE(status.st_mode))

    def _files(self, skipped: list[str]) -> Iterator[Entry]:
        rules = IgnoreRules(self.workspace.root)

        def skip(rel: str, is_dir: bool) -> bool:
            if not rules.skip(rel, is_dir):
                return False
            skipped.append(rel + "/" if is_dir else rel)
            return True

        walk = self.workspace.walk(skip=skip, stats=True, failed=lambda rel, error: skipped.append(rel + "/"))
        for count, entry in enumerate(walk, 1):
            if count > MOST_ENTRIES:
                skipped.append("… (too many files)")
                return
            if entry.kind == "file":
                yield entry
            elif entry.kind == "link":
                skipped.append(entry.rel)

    def changes(self, before: Snapshot) -> list[Change]:
        """What differs now: changed, deleted and new files."""
        now = {e.rel: e for e in self._files([])}
        out: list[Change] = []
        for rel, kept in (*before.files.items(), *before.git.items()):
            entry = now.pop(rel, None) or self._entry(rel)
            change = self._changed(rel, kept, entry, before.taken_ns)
            if change is not None:
                out.append(change)
        for rel, status in before.others.items():
            entry = now.pop(rel, None) or self._entry(rel)
            if entry is None or (entry.mtime_ns, entry.size) != status:
                out.append(Change(rel, State(source="unknown"), State() if entry is None else self._after(entry)))
        for rel, entry in now.items():
            new = before.complete or entry.mtime_ns >= before.taken_ns
            if new:
                was = State(ABSENT) if before.complete else State(source="unknown")
                out.append(Change(rel, was, self._after(entry)))
        return out

    def _changed(self, rel: str, kept: Kept, entry: Entry | None, taken_ns: int) -> Change | None:
        if entry is None:
            return Change(rel, kept.state, State(ABSENT))
        same = (entry.mtime_ns, entry.size, entry.mode) == (kept.mtime_ns, kept.size, kept.mode)
        if same and entry.mtime_ns < taken_ns - _TICK_NS:
            return None
        try:
            data = self._content(entry, KEEP_LIMIT)
        except (WorkspaceError, OSError):
            return Change(rel, kept.state, State(source="unknown"))
        after = self._state(data, entry)
        content = object_id(data) if kept.state.source == "git" else after.sha
        if content == kept.state.sha and entry.mode == kept.mode:
            return None
        return Change(rel, kept.state, after)

    def _after(self, entry: Entry) -> State:
        try:
            return self._state(self._content(entry, KEEP_LIMIT), entry)
        except (WorkspaceError, OSError):
            return State(source="unknown")

    def _state(self, data: bytes, entry: Entry) -> State:
        return after_state(self.blobs, data, entry.mode, entry.mtime_ns)


def after_state(blobs: BlobStore, data: bytes, mode: int, mtime_ns: int) -> State:
    """The state after a change; small contents are kept too, so that a later diff can show them."""
    if len(data) <= _AFTER_LIMIT:
        return State(blobs.put(data, sync=False), mode, mtime_ns)
    return State(hashlib.sha256(data).hexdigest(), mode, mtime_ns, "lost")


def named(skipped: list[str]) -> tuple[list[str], int]:
    """The first names of what was not covered, and how many more there are."""
    return skipped[:_NAMED], max(0, len(skipped) - _NAMED)
