"""Checkpoints: the old content of every change of a run, kept before it happens, for undo and diff.

What undo restores: content and permission bits, and the modification time as it was, to the nanosecond; links as links;
a file that was not there is removed, with the folders made for it if they are empty.
"""

from __future__ import annotations

import os
import secrets
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from aicli.paths import private_folder
from aicli.workspace import journal
from aicli.workspace.blobs import BlobStore
from aicli.workspace.faults import NotFound, WorkspaceError
from aicli.workspace.history import FileDiff, History, Undone, settled
from aicli.workspace.journal import ABSENT, Group, State
from aicli.workspace.root import Workspace
from aicli.workspace.snapshot import KEEP_LIMIT, Snapshot, Snapshots, above, after_state


class Checkpoints:
    """The journal of one run in `folder` (made when first needed, closed to others). `limit_mb` bounds all runs together.

    Every method blocks; what goes wrong with the state folder raises OSError, so that nothing is changed unkept.
    Safe to call from several threads.
    """

    def __init__(self, folder: Path, workspace: Workspace, run_id: str, *, limit_mb: int = 200) -> None:
        self.folder, self.workspace, self.run_id = folder, workspace, run_id
        self.limit = limit_mb * 1_000_000
        self.blobs = BlobStore(folder / "blobs")
        self.journal = folder / "runs" / f"{run_id}.jsonl"
        self._snapshots = Snapshots(workspace, self.blobs)
        self._task = secrets.token_hex(3)
        self._tasks = [self._task]
        self._open: dict[str, dict[str, Any]] = {}
        self._command: tuple[dict[str, Any], Snapshot] | None = None
        self._begun = False
        self._let_go: Callable[[], object] = lambda: None
        self._lock = threading.RLock()

    def new_task(self) -> str:
        """The next changes belong to a new task of the person, even if turns are counted from 1 again; gives its id."""
        with self._lock:
            self._task = secrets.token_hex(3)
            self._tasks.append(self._task)
            return self._task

    def before(self, path: str, turn: int, new_sha: str = "") -> None:
        """Keeps what stands at `path` now. `new_sha`, the hash of what is about to be written, lets undo work even if
        the process dies before `after`. On the disk before this returns. Raises WorkspaceError as reading does.
        """
        with self._lock:
            self._settle()
            state = self._state(path)
            record = self._record("before", turn, path=path, state=state.pack(), next=new_sha, made=self._missing(path))
            self._append([record], sync=True)
            self._open[path] = record

    def after(self, path: str) -> None:
        """Notes what stands at `path` now that the change was made, or failed."""
        with self._lock:
            record = self._open.pop(path, None)
            if record is None:
                return
            state = self._current(path)
            self._append([{**self._common("after", record), "path": path, "state": state.pack()}], sync=False)
            if self.blobs.written > self.limit // 4:
                self.blobs.written = 0
                self.prune()

    def before_command(self, seen: Iterable[str], turn: int) -> None:
        """Keeps what a shell command might change: `seen` files and, within bounds, all others (see `snapshot`).

        Contents are written but not flushed one by one: they survive the death of the process, not of the machine.
        """
        with self._lock:
            self._settle()
            shot = self._snapshots.take(seen)
            index = self.blobs.put(shot.index, sync=False) if shot.git else ""
            manifest = self.blobs.put(shot.pack(index), sync=False)
            record = self._record("command", turn, manifest=manifest, index=index)
            self._append([record], sync=True)
            self._command = (record, shot)

    def after_command(self) -> Sequence[str]:
        """Notes what the command changed; gives the paths. Without it the next change or undo does so."""
        with self._lock:
            return self._settle()

    def undo(self, turns: int = 1, *, force: bool = False) -> Undone:
        """Takes back the last `turns` turns of this run that changed files. Raises as History.undo."""
        with self._lock:
            self._settle()
            self.new_task()
            return self.history().undo(turns, run=self.run_id, force=force)

    def rewind(self, task: str, *, force: bool = False) -> Undone:
        """Takes back all that was changed since the task of this id began (see `new_task`). Raises as History.undo."""
        with self._lock:
            self._settle()
            since = self._tasks[self._tasks.index(task) :] if task in self._tasks else []
            self.new_task()
            return self.history().undo(None, run=self.run_id, force=force, tasks=since)

    def redo(self, *, force: bool = False) -> Undone:
        """Takes back the last undo of this run."""
        with self._lock:
            self._settle()
            self.new_task()
            return self.history().redo(run=self.run_id, force=force)

    def list(self) -> Sequence[Group]:
        """This run's turns that changed files, newest first."""
        with self._lock:
            self._settle()
            return self.history().groups(self.run_id)

    def diff(self) -> Sequence[FileDiff]:
        """What this run changed, file by file."""
        with self._lock:
            self._settle()
            return self.history().diff(self.run_id)

    def history(self) -> History:
        return History(self.folder, self.workspace)

    def prune(self) -> None:
        """Forgets the oldest runs until all fit in the limit; this one stays."""
        self.history().prune(self.limit, keep=self.run_id)

    def close(self) -> None:
        """Looks at what the last command changed and keeps to the limit. Never raises for a missing or full disk."""
        with self._lock:
            try:
                self._settle()
                if self._begun:
                    self.prune()
            except (OSError, WorkspaceError):
                pass
            finally:
                self._let_go()

    def _settle(self) -> Sequence[str]:
        if self._command is None:
            return []
        (record, shot), self._command = self._command, None
        changes, uncovered = self._snapshots.changes(shot)
        self._append(settled(record, changes, uncovered), sync=False)
        return [c.path for c in changes]

    def _state(self, path: str) -> State:
        try:
            status = self.workspace.status(path)
            if status is None:
                return State(ABSENT)
            if status.st_size > KEEP_LIMIT:
                return State("?", stat.S_IMODE(status.st_mode), status.st_mtime_ns, "lost")
            data = self.workspace.read_bytes(path)
        except NotFound:
            return State(ABSENT)
        return State(self.blobs.put(data), stat.S_IMODE(status.st_mode), status.st_mtime_ns)

    def _current(self, path: str) -> State:
        try:
            status = self.workspace.status(path)
            if status is None:
                return State(ABSENT)
            return after_state(
                self.blobs, self.workspace.read_bytes(path), stat.S_IMODE(status.st_mode), status.st_mtime_ns
            )
        except NotFound:
            return State(ABSENT)

    def _missing(self, path: str) -> Sequence[str]:
        """Folders that are not there yet and will be made for `path`, outermost first."""
        return [f for f in above(path) if not os.path.lexists(self.workspace.root / f)]

    def _record(self, kind: str, turn: int, **more: Any) -> dict[str, Any]:
        return {"t": kind, "g": f"{self._task}-{turn}", "turn": turn, "at": round(time.time(), 3), **more}

    def _common(self, kind: str, record: dict[str, Any]) -> dict[str, Any]:
        return {"t": kind, **{k: record[k] for k in ("g", "turn", "at")}}

    def _head(self) -> dict[str, Any]:
        return {"t": "run", "root": str(self.workspace.root), "extra": [str(p) for p in self.workspace.extra]}

    def _append(self, records: Sequence[dict[str, Any]], *, sync: bool) -> None:
        if not self._begun:
            if not self.journal.exists():
                records = [self._head(), *records]
            self._begin()
        journal.append(self.journal, records, sync=sync)

    def _begin(self) -> None:
        """Looks at what a killed run's command left, so that nothing that comes later is taken for its work; and shows
        that this run is alive."""
        private_folder(self.folder)
        try:
            self.history().reconcile()
        except WorkspaceError:
            pass
        fd = journal.hold(self.journal)
        if fd >= 0:
            self._let_go = weakref.finalize(self, os.close, fd)
        self._begun = True
