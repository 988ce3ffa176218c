"""What all runs changed in a workspace: listed, shown as diffs, taken back, within a bounded space."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from aicli.late import dataclass
from aicli.workspace import journal
from aicli.workspace.blobs import BlobStore
from aicli.workspace.diff import Diff, diff_bytes
from aicli.workspace.faults import NotFound, WorkspaceError
from aicli.workspace.gitindex import object_id, read_object
from aicli.workspace.journal import ABSENT, Change, Group, Run, State
from aicli.workspace.root import Workspace
from aicli.workspace.snapshot import FOLDER, Snapshot, Snapshots, above, named


class NothingToUndo(WorkspaceError):
    """No turn is left that changed files and was not taken back."""


class UndoRefused(WorkspaceError):
    """Undo would overwrite later changes, or can't restore something; `conflicts` says why, by path."""

    def __init__(self, conflicts: dict[str, str]) -> None:
        lines = "".join(f"\n  {path}: {why}" for path, why in conflicts.items())
        super().__init__(f"Nothing was undone:{lines}")
        self.conflicts = conflicts


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo did: files that are as before, files left alone (by path, with the reason), and how many turns.

    `removed` are those of `restored` that were not there before.
    """

    restored: tuple[str, ...]
    left: dict[str, str]
    turns: int
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file's change; `note` says what could not be shown."""

    path: str
    diff: Diff
    note: str = ""


@dataclass(slots=True)
class _Plan:
    path: str
    target: State
    expected: State
    made: tuple[str, ...] = ()
    unsure: bool = False

    def order(self) -> tuple[int, int]:
        """What goes away makes room first, the deepest paths before the folders above; links come last."""
        if self.target.absent:
            return (0, -self.path.count("/"))
        return (2 if self.target.source == "link" else 1, 0)


class History:
    """All journals in `folder` that speak of `workspace`. Blocks; reading never raises for damaged records."""

    def __init__(self, folder: Path, workspace: Workspace) -> None:
        self.folder, self.workspace = folder, workspace
        self.blobs = BlobStore(folder / "blobs")

    def runs(self) -> list[Run]:
        """Runs of this workspace, oldest first."""
        root = str(self.workspace.root)
        return [run for run in load_all(self.folder) if run.root == root]

    def groups(self, run: str | None = None) -> list[Group]:
        """Turns that changed files, newest first."""
        return [g for r in reversed(self._picked(run)) for g in reversed(r.groups)]

    def reconcile(self) -> None:
        """Looks at what commands of killed runs left in this workspace: what comes later is not theirs. Raises
        WorkspaceError or OSError where it can't.
        """
        if not any(map(journal.cut_off, (self.folder / "runs").glob("*.jsonl"))):
            return
        with journal.alone(self.folder):
            for run in self.runs():
                self._settle(run)

    def undo(
        self, turns: int | None = 1, *, run: str | None = None, force: bool = False, tasks: Sequence[str] | None = None
    ) -> Undone:
        """Takes back the last `turns` turns (None: all) that changed files, of one run or of all, or of these tasks.

        Raises NothingToUndo, or UndoRefused (then nothing was touched) unless `force`.
        """
        with journal.alone(self.folder):
            for one in self._picked(run):
                self._settle(one)
            open_ = [g for g in self.groups(run) if g.changes and not g.undoes and not g.undone]
            if tasks is not None:
                open_ = [g for g in open_ if g.id.rpartition("-")[0] in tasks]
            if not open_:
                raise NothingToUndo("There is nothing to undo here.")
            return self._take_back(open_[:turns], force)

    def redo(self, *, run: str | None = None, force: bool = False) -> Undone:
        """Takes back the last undo. Raises as `undo`."""
        with journal.alone(self.folder):
            undos = [g for g in self.groups(run) if g.id.startswith("undo-") and g.changes and not g.undone]
            if not undos:
                raise NothingToUndo("There is no undo to take back here.")
            return self._take_back(undos[:1], force)

    def diff(self, run: str) -> list[FileDiff]:
        """What a run changed and did not take back, file by file."""
        self.reconcile()
        chosen = [g for g in self.groups(run) if not g.undone and not g.undoes]
        return [d for p in sorted(_plans(chosen), key=lambda p: p.path) if (d := self._shown(p)) is not None]

    def prune(self, limit: int, *, keep: str = "") -> None:
        """Keeps to `limit` bytes: the oldest runs are forgotten first, then the oldest turns of run `keep`."""
        sizes = {name: size for name, size, _ in self.blobs.all()}
        if sum(sizes.values()) <= limit:
            return
        kept: set[str] = set()
        room = limit
        runs = load_all(self.folder)
        for run in runs:
            self._hold_open_command(run)
        newest_first = runs[::-1]
        for run in sorted(newest_first, key=lambda r: r.id != keep):
            for group in reversed(run.groups):
                refs = {s.sha for c in group.changes for s in (c.before, c.after)} - kept
                room -= sum(sizes.get(ref, 0) for ref in refs)
                if room >= 0:
                    kept |= refs
            if room >= 0:
                kept |= run.refs
            elif run.id != keep:
                (self.folder / "runs" / f"{run.id}.jsonl").unlink(missing_ok=True)
        self.blobs.sweep(kept)

    def _hold_open_command(self, run: Run) -> None:
        if run.open_command is None:
            return
        try:
            shot = Snapshot.unpack(self.blobs.get(run.open_command["manifest"]) or b"", self.blobs)
        except (ValueError, KeyError, TypeError, OSError):
            return
        run.refs.update(k.state.sha for k in shot.files.values())
        run.refs.update((run.open_command["manifest"], run.open_command["index"]))

    def _picked(self, run: str | None) -> list[Run]:
        return [r for r in self.runs() if run is None or r.id == run]

    def _settle(self, run: Run) -> None:
        """A run that died during a shell command: what differs from its snapshot now may be that command's change."""
        record, path = run.open_command, self.folder / "runs" / f"{run.id}.jsonl"
        if record is None or journal.alive(path):
            return
        try:
            shot = Snapshot.unpack(self.blobs.get(record["manifest"]) or b"", self.blobs)
            changes, uncovered = Snapshots(self.workspace, self.blobs).changes(shot)
        except (ValueError, KeyError, TypeError):
            changes, uncovered = [], []
        journal.append(path, settled(record, changes, uncovered, unsure=True), sync=True)

    def _take_back(self, groups: list[Group], force: bool) -> Undone:
        plans = _plans(groups)
        folders = {folder for p in plans for folder in above(p.path)}
        conflicts = {p.path: why for p in plans if (why := self._conflict(p, folders))}
        if conflicts and not force:
            raise UndoRefused(conflicts)
        restored: dict[str, bool] = {}
        left: dict[str, str] = {}
        for run in dict.fromkeys(g.run for g in groups):
            own = [g for g in groups if g.run == run]
            self._take_back_run(run, own, restored, left)
        return Undone(tuple(restored), left, len(groups), tuple(path for path, removed in restored.items() if removed))

    def _take_back_run(self, run: str, groups: list[Group], restored: dict[str, bool], left: dict[str, str]) -> None:
        path = self.folder / "runs" / f"{run}.jsonl"
        kind = "redo" if groups[0].undoes else "undo"
        common = {"g": f"{kind}-{secrets.token_hex(4)}", "turn": groups[0].turn, "at": round(time.time(), 3)}
        ids = [g.id for g in groups]
        journal.append(path, [{"t": "undo", **common, "groups": ids}], sync=True)
        plans = sorted(_plans(groups), key=_Plan.order)
        made = {folder for plan in plans if plan.target.absent for folder in plan.made}
        for plan in plans:
            if not plan.target.absent:
                self._remove_folders(made)
            why = self._restore(plan, path, common)
            if why:
                left[plan.path] = why
            else:
                restored[plan.path] = plan.target.absent
        self._remove_folders(made)
        again = [other for g in groups for other in g.undoes]
        marks = [{"t": "undone", **common, "groups": ids, "value": True}]
        if again:
            marks.append({"t": "undone", **common, "groups": again, "value": False})
        journal.append(path, marks, sync=True)

    def _remove_folders(self, made: set[str]) -> None:
        while made:
            folder = max(made, key=len)
            made.discard(folder)
            self.workspace.remove_folder(folder)

    def _restore(self, plan: _Plan, journal_path: Path, common: dict[str, Any]) -> str:
        """Puts one file back; gives why not, or ""."""
        try:
            now, data = self._now(plan.path)
            wanted = self._content(plan.target)
            if wanted is None and not plan.target.absent and not plan.target.whole:
                return "its old content is not kept any more"
            if plan.target.absent and now.absent:
                return ""
            if not self.workspace.straight(plan.path):
                return "a link stands on the way to it"
            if data is not None:
                self.blobs.put(data)
            record = {"t": "before", **common, "path": plan.path, "state": now.pack()}
            record["made"] = [f for f in above(plan.path) if not os.path.lexists(self.workspace.root / f)]
            if wanted is not None:
                record["next"] = hashlib.sha256(wanted).hexdigest()
            journal.append(journal_path, [record], sync=True)
            self._put(plan, now, wanted)
            after, _ = self._now(plan.path)
            journal.append(
                journal_path, [{"t": "after", **common, "path": plan.path, "state": after.pack()}], sync=False
            )
            return "it is not empty" if plan.target.absent and not after.absent else ""
        except (WorkspaceError, OSError) as error:
            return str(error)

    def _put(self, plan: _Plan, now: State, wanted: bytes | None) -> None:
        target = plan.target
        if wanted is not None:
            self.workspace.write(plan.path, wanted, mode=target.mode, mtime_ns=target.mtime_ns, follow=False)
        elif target.source == "link":
            self.workspace.put_link(plan.path, target.sha, target.mtime_ns)
        elif target.source == "dir":
            self.workspace.make_folder(plan.path)
        else:
            if now.source == "dir":
                self.workspace.remove_folder(plan.path)
            else:
                self.workspace.remove(plan.path)

    def _conflict(self, plan: _Plan, folders: set[str]) -> str:
        target, expected = plan.target, plan.expected
        try:
            now, data = self._now(plan.path)
        except (WorkspaceError, OSError) as error:
            return str(error)
        if _is(target, data) or (target.whole and target.same(now)) or (target.absent and now.absent):
            return ""
        if not target.absent and not target.whole and self._content(target) is None:
            return "its old content was not kept"
        if plan.unsure:
            return "a command was cut off, so this may be somebody else's change"
        if expected.source == "unknown":
            return "it is not known what the run left there"
        if not expected.same(now) and not (expected.absent and now.source == "dir" and plan.path in folders):
            return "it was removed since" if now.absent else "it was changed since"
        return ""

    def _now(self, path: str) -> tuple[State, bytes | None]:
        """What stands at this very place, and its content if it is a regular file; links are not followed."""
        try:
            status = self.workspace.status(path, follow=False) if self.workspace.straight(path) else None
            if status is None:
                return State(ABSENT), None
            if stat.S_ISLNK(status.st_mode):
                return State(self.workspace.link_target(path), 0, status.st_mtime_ns, "link"), None
            if stat.S_ISDIR(status.st_mode):
                return FOLDER, None
            data = self.workspace.read_bytes(path)
        except NotFound:
            return State(ABSENT), None
        return State(hashlib.sha256(data).hexdigest(), stat.S_IMODE(status.st_mode), status.st_mtime_ns), data

    def _content(self, state: State) -> bytes | None:
        if state.sha == ABSENT or state.source == "unknown" or state.whole:
            return None
        if state.source == "git":
            return read_object(self.workspace.root, state.sha)
        return self.blobs.get(state.sha)

    def _shown(self, plan: _Plan) -> FileDiff | None:
        target, expected = plan.target, plan.expected
        before, after = self._text(target), self._text(expected)
        note = "a command was cut off, so this may be somebody else's change" if plan.unsure else ""
        if before is None and not target.absent and not target.whole:
            return FileDiff(plan.path, Diff("", 0, 0), "changed, but its old content was not kept")
        if after is None and not expected.absent and not expected.whole:
            try:
                now, after = self._now(plan.path)
            except (WorkspaceError, OSError):
                now, after = State(), None
            if not now.same(expected):
                note = note or "changed since by someone else; shown as it is now"
        if before == after and target.mode == expected.mode and target.source == expected.source:
            return None
        if "dir" in (target.source, expected.source) and before is after is None:
            note = "an empty folder was removed" if expected.absent else "an empty folder was made"
            return FileDiff(plan.path, Diff("", 0, 0), note)
        if expected.source == "link":
            note = note or f"now a link to {expected.sha}"
        elif target.source == "link":
            note = note or f"was a link to {target.sha}"
        diff = diff_bytes(plan.path, before, after)
        return FileDiff(plan.path, diff, note or ("" if diff.text else "only its mode changed"))

    def _text(self, state: State) -> bytes | None:
        """As git shows it: of a link its target."""
        return os.fsencode(state.sha) if state.source == "link" else self._content(state)


def _is(state: State, data: bytes | None) -> bool:
    if data is None or state.sha == ABSENT or state.whole:
        return False
    return state.sha == (object_id(data) if state.source == "git" else hashlib.sha256(data).hexdigest())


def _plans(groups: list[Group]) -> list[_Plan]:
    """From turns, newest first: per file what it must become and what it must still be."""
    plans: dict[str, _Plan] = {}
    for group in groups:
        for change in reversed(group.changes):
            plan = plans.get(change.path)
            if plan is None:
                plans[change.path] = _Plan(change.path, change.before, change.after, change.made, change.unsure)
            else:
                plan.target, plan.made = change.before, change.made or plan.made
                plan.unsure |= change.unsure
    return list(plans.values())


def load_all(folder: Path) -> list[Run]:
    """Every run that has a journal, oldest first."""
    found = []
    for path in (folder / "runs").glob("*.jsonl"):
        try:
            found.append((path.stat().st_mtime_ns, path))
        except OSError:
            continue
    return [journal.load(path) for _, path in sorted(found)]


def settled(
    record: dict[str, Any], changes: Iterable[Change], uncovered: list[str], *, unsure: bool = False
) -> list[dict[str, Any]]:
    """The records that say what a command changed, and where it did so without anything being kept."""
    common = {k: record[k] for k in ("g", "turn", "at")}
    mark = {"unsure": True} if unsure else {}
    out: list[dict[str, Any]] = []
    for change in changes:
        before = {"path": change.path, "state": change.before.pack(), "made": list(change.made), **mark}
        out.append({"t": "before", **common, **before})
        out.append({"t": "after", **common, "path": change.path, "state": change.after.pack()})
    names, more = named(uncovered)
    if names:
        out.append({"t": "skipped", **common, "names": names, "more": more})
    return [*out, {"t": "settled", **common}]
