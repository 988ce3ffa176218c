"""What the workspace holds before a shell command, as far as it can be kept, and what the command changed.

Covered are regular files, links and the folders that come or go; not what the ignore rules name.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import field

from aicli.late import dataclass
from aicli.workspace.blobs import BlobStore
from aicli.workspace.entries import Entry, kind_of
from aicli.workspace.faults import WorkspaceError
from aicli.workspace.gitindex import Tracked, index_of, object_id, parse
from aicli.workspace.ignore import IgnoreRules
from aicli.workspace.journal import ABSENT, Change, State
from aicli.workspace.protected import is_protected
from aicli.workspace.root import Workspace
from aicli.workspace.uncovered import TICK_NS, touched

MOST_FILES = 2_000
MOST_BYTES = 20_000_000
MOST_ENTRIES = 30_000
KEEP_LIMIT = 50_000_000
"""A file above this many bytes is not kept: undo names it."""
_AFTER_LIMIT = 1_000_000
_TICK_NS = 50_000_000
_NAMED = 50
_TOO_MANY = "… (too many files)"
FOLDER = State("/", source="dir")


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
    was not looked into. `complete`: every file that wasn't there then is in none of them. `gone` are files that git
    tracks and that were not there.
    """

    taken_ns: int
    files: dict[str, Kept] = field(default_factory=dict)
    git: dict[str, Kept] = field(default_factory=dict)
    others: dict[str, tuple[int, int]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    folders: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    complete: bool = True
    index: bytes = b""

    def pack(self, index_name: str) -> bytes:
        """For the journal; git's part is not listed but follows from the index kept under `index_name`."""
        files = {rel: [k.mtime_ns, k.size, k.mode, k.state.sha, k.state.source] for rel, k in self.files.items()}
        body = {"taken": self.taken_ns, "complete": self.complete, "index": index_name, "files": files}
        body |= {"others": self.others, "folders": sorted(self.folders), "gone": sorted(self.gone)}
        body["skipped"] = self.skipped
        return zlib.compress(json.dumps(body, separators=(",", ":")).encode(), 1)

    @classmethod
    def unpack(cls, data: bytes, blobs: BlobStore) -> Snapshot:
        """Raises ValueError or KeyError for damaged data."""
        raw = json.loads(zlib.decompress(data))
        out = cls(int(raw["taken"]), complete=bool(raw["complete"]))
        for rel, (mtime, size, mode, sha, source) in raw["files"].items():
            out.files[rel] = Kept(mtime, size, mode, State(sha, mode, mtime, source))
        out.others = {rel: (pair[0], pair[1]) for rel, pair in raw["others"].items()}
        out.folders, out.gone, out.skipped = set(raw["folders"]), set(raw["gone"]), list(raw["skipped"])
        index = blobs.get(raw["index"]) if raw["index"] else None
        for rel, tracked in parse(index or b"").items():
            if rel not in out.files and rel not in out.others and rel not in out.gone:
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
        entries = {e.rel: e for e in self._files(out.skipped, out.folders)}
        out.complete = _TOO_MANY not in out.skipped
        for rel in seen:
            entry = entries.pop(rel, None) or self._entry(rel)
            if entry is not None and entry.kind != "dir":
                self._cover(out, entry)
        out.index, index_ns = index_of(self.workspace.root)
        tracked = parse(out.index)
        out.gone = tracked.keys() - entries.keys() - out.files.keys() - out.others.keys()
        rest = []
        for rel, entry in entries.items():
            if entry.kind == "link":
                self._cover(out, entry)
                continue
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
        if entry.kind == "link":
            out.files[entry.rel] = Kept(entry.mtime_ns, entry.size, 0, self._after(entry))
            return
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
        """What stands at this very place; never what a link on the way leads to."""
        where = self.workspace.locate(rel).path
        try:
            status = os.lstat(where)
        except OSError:
            return None
        kind = kind_of(status.st_mode)
        if kind not in ("file", "link", "dir") or not self.workspace.straight(rel):
            return None
        name = rel.rsplit("/", 1)[-1]
        return Entry(name, rel, kind, status.st_size, status.st_mtime_ns, stat.S_IMODE(status.st_mode))

    def _files(self, skipped: list[str], folders: set[str]) -> Iterator[Entry]:
        """Files and links; fills what is left out, and the folders but for those that a sandbox may put there."""
        rules = IgnoreRules(self.workspace.root)

        def skip(rel: str, is_dir: bool) -> bool:
            if not rules.skip(rel, is_dir):
                return False
            skipped.append(rel + "/" if is_dir else rel)
            return True

        walk = self.workspace.walk(skip=skip, stats=True, failed=lambda rel, error: skipped.append(rel + "/"))
        for count, entry in enumerate(walk, 1):
            if count > MOST_ENTRIES:
                skipped.append(_TOO_MANY)
                return
            if entry.kind in ("file", "link"):
                yield entry
            elif entry.kind == "dir" and not is_protected(entry.rel):
                folders.add(entry.rel)

    def changes(self, before: Snapshot) -> tuple[list[Change], list[str]]:
        """What differs now: changed, deleted and new files, links and empty folders; and what changed or may have, but
        is not covered.
        """
        skipped: list[str] = []
        folders: set[str] = set()
        now = {e.rel: e for e in self._files(skipped, folders)}
        out: list[Change] = self._changes(before, now)
        if before.complete and _TOO_MANY not in skipped:
            out += self._folders(before, folders, out)
        names = dict.fromkeys([*skipped, *before.skipped])
        uncovered = touched(self.workspace.root, names, before.skipped, before.taken_ns, bool(out))
        if uncovered:
            _doubt_moved(out, before.taken_ns - _TICK_NS)
        return out, uncovered

    def _folders(self, before: Snapshot, now: set[str], changes: list[Change]) -> list[Change]:
        """Empty folders that came or went, which no file speaks of; notes which folders were made for new files."""
        skipped = set(before.skipped)
        new = {folder for folder in now - before.folders if not _in(folder, skipped)}
        gone = {folder for folder in before.folders - now if self._entry(folder) is None}
        for change in changes:
            if change.before.absent:
                change.made = tuple(folder for folder in above(change.path) if folder in new)
        full = {folder for c in changes for folder in above(c.path)}
        paths = {c.path for c in changes}
        out = []
        for folder in sorted(new - full - paths - {f for n in new for f in above(n)}):
            out.append(Change(folder, State(ABSENT), FOLDER, tuple(f for f in above(folder) if f in new)))
        for folder in sorted(gone - full - paths - {f for n in gone for f in above(n)}):
            out.append(Change(folder, FOLDER, State(ABSENT)))
        return out

    def _changes(self, before: Snapshot, now: dict[str, Entry]) -> list[Change]:
        out: list[Change] = []
        skipped = set(before.skipped)
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
            if _in(rel, skipped):  # the rules that left it out have changed
                if self._newer(rel, before.taken_ns - TICK_NS):
                    out.append(Change(rel, State(source="unknown"), self._after(entry)))
            elif before.complete or entry.mtime_ns >= before.taken_ns:
                was = State(ABSENT) if before.complete else State(source="unknown")
                out.append(Change(rel, was, self._after(entry)))
        return out

    def _newer(self, rel: str, since_ns: int) -> bool:
        try:
            return os.lstat(self.workspace.locate(rel).path).st_ctime_ns >= since_ns
        except OSError:
            return False

    def _changed(self, rel: str, kept: Kept, entry: Entry | None, taken_ns: int) -> Change | None:
        if entry is None:
            return Change(rel, kept.state, State(ABSENT))
        if entry.kind != "file" or kept.state.whole:
            after = self._after(entry)
            return None if after.same(kept.state) else Change(rel, kept.state, after)
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
        if entry.kind == "link":
            return State(self.workspace.link_target(entry.rel), 0, entry.mtime_ns, "link")
        if entry.kind == "dir":
            return FOLDER
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


def _in(rel: str, skipped: set[str]) -> bool:
    """Is it, or a folder that it lies in, among what was not looked into?"""
    return rel in skipped or any(folder + "/" in skipped for folder in (*above(rel), rel))


def _doubt_moved(changes: list[Change], since_ns: int) -> None:
    """A new file of an older time was moved here, perhaps from where nothing is kept: then it must not be removed."""
    moved = {c.before.mtime_ns for c in changes if c.after.absent}
    for change in changes:
        if change.before.absent and 0 < change.after.mtime_ns < since_ns and change.after.mtime_ns not in moved:
            change.before = State(source="unknown")


def above(rel: str) -> list[str]:
    """The folders that a path lies in, outermost first."""
    parts = rel.split("/")[:-1]
    return [folder for n in range(len(parts)) if (folder := "/".join(parts[: n + 1]))]


def named(uncovered: list[str]) -> tuple[list[str], int]:
    """The first names of what was not covered, and how many more there are."""
    return uncovered[:_NAMED], max(0, len(uncovered) - _NAMED)
