"""What the file tools share: the workspace of a call, faults said to the model, and one way to change a file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from aicli.content.results import DiffDisplay, ToolResult
from aicli.late import dataclass, regex
from aicli.tools.base import ToolContext, ToolFailed
from aicli.workspace.diff import diff_bytes
from aicli.workspace.entries import FileVersion, digest
from aicli.workspace.faults import NotFound, WorkspaceError
from aicli.workspace.root import Workspace

PATH_NAMES = {
    "file_path": "path",
    "filename": "path",
    "file": "path",
    "absolute_path": "path",
    "relative_path": "path",
    "target_file": "path",
    "relative_workspace_path": "path",
}
CHANGE_LIMIT = 200_000_000
_LONE = regex("[\ud800-\udfff]")


@contextmanager
def told() -> Iterator[None]:
    """Turns what the workspace refuses into a result for the model."""
    try:
        yield
    except WorkspaceError as error:
        raise ToolFailed(str(error)) from error


def files_of(ctx: ToolContext) -> Workspace:
    """The run's workspace. Raises ToolFailed where there is none."""
    if ctx.state.workspace is None:
        raise ToolFailed("This run has no workspace, so there are no files to work on.")
    return ctx.state.workspace


def key_of(files: Workspace, path: str) -> str:
    """The name under which the run remembers a file: its real place, so that a link and its target are one."""
    try:
        return files.real(path).display
    except NotFound:
        return files.locate(path).display


@dataclass(frozen=True, slots=True)
class Current:
    """A file as it is now: its bytes, and its version for a write that must not overwrite anything newer."""

    data: bytes
    version: FileVersion


def current(files: Workspace, path: str) -> Current | None:
    """The file now; None if it is not there. Raises ToolFailed for one too large to be changed in memory."""
    try:
        with files.open_read(path) as file:
            status = os.fstat(file.fileno())
            if status.st_size > CHANGE_LIMIT:
                raise ToolFailed(f"{path} has {status.st_size:,} bytes, too many to change here; use a program for it.")
            data = file.read()
            return Current(data, FileVersion(status.st_mtime_ns, len(data), digest(data)))
    except NotFound:
        return None


def shown(text: str) -> str:
    """Text that every server takes: bytes that fit no character are written as \\xNN."""
    if not _LONE.search(text):
        return text
    return _LONE.sub(lambda m: f"\\x{ord(m[0]) - 0xDC00:02x}" if "\udc80" <= m[0] <= "\udcff" else "\ufffd", text)


def change(ctx: ToolContext, path: str, before: Current | None, after: bytes) -> DiffDisplay:
    """Writes `after` where `before` was just read, keeps the old content for undo, and remembers the new version."""
    files, state = files_of(ctx), ctx.state
    key = key_of(files, path)
    if state.checkpoints:
        state.checkpoints.before(key, state.turn, hashlib.sha256(after).hexdigest())
    try:
        state.seen[key] = files.write(path, after, expect=before.version if before else None)
    finally:
        if state.checkpoints:
            state.checkpoints.after(key)
    state.misses.pop(key, None)
    return change_display(files.locate(path).display, before, after)


def change_display(path: str, before: Current | None, after: bytes) -> DiffDisplay:
    """What a change looks like, without making it."""
    diff = diff_bytes(path, before.data if before else None, after)
    return DiffDisplay(
        path=path,
        diff=shown(diff.text),
        added=diff.added,
        removed=diff.removed,
        summary=f"+{diff.added} -{diff.removed}",
    )


def changed(text: str, display: DiffDisplay) -> ToolResult:
    return ToolResult.of(text, display=display, files_changed=[display.path])


def sizes(data: bytes, lines: int) -> str:
    """ "3 lines, 42 bytes"."""
    return f"{lines:,} line{'' if lines == 1 else 's'}, {len(data):,} byte{'' if len(data) == 1 else 's'}"
