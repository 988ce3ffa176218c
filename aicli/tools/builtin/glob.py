"""The glob tool: finds files by name pattern, newest first."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

from aicli.content.kinds import ToolKind
from aicli.content.results import TextDisplay, ToolResult
from aicli.tools.base import ToolContext, ToolFailed, tool
from aicli.tools.shown import shown
from aicli.workspace.faults import WorkspaceError
from aicli.workspace.globs import BadGlob, compile_glob, fixed_prefix, names_hidden
from aicli.workspace.listing import Listing
from aicli.workspace.root import Entry, Place, Workspace

_MOST = 5_000


@tool(
    kind=ToolKind.SEARCH,
    title="Find {pattern} {path}",
    rare=("hidden",),
    untold=("limit",),
    aliases=("find_files", "glob_search", "file_search", "list_files", "find"),
    param_aliases={
        "glob_pattern": "pattern",
        "file_pattern": "pattern",
        "dir_path": "path",
        "directory": "path",
        "include_hidden": "hidden",
        "max_results": "limit",
    },
    compact="Find files by name pattern.",
)
def glob(
    ctx: ToolContext,
    pattern: str,
    path: str = ".",
    hidden: bool = False,
    limit: int = 200,
) -> ToolResult:
    """Find files by pattern, newest first: `**/*.py` anywhere, `*.py` in the folder itself. Skips ignored files."""
    workspace = ctx.state.workspace
    if workspace is None:
        raise ToolFailed("This run has no workspace to look in.")
    if not pattern.strip():
        raise ToolFailed("pattern is empty: **/* stands for all files.")
    try:
        found, listing = _find(workspace, pattern, path, hidden)
    except (BadGlob, WorkspaceError) as e:
        raise ToolFailed(str(e)) from None
    found = [entry for entry in found if ctx.state.may_read(entry.rel)]
    limit = max(1, min(limit, _MOST))
    lines = [shown(entry.rel) + ("/" if entry.kind == "dir" else "") for entry in found[:limit]]
    if len(found) > limit:
        lines.append(f"[{len(found) - limit:,} more: narrow the pattern or raise limit]")
    if listing.failed:
        lines.append(f"[not readable: {', '.join(shown(p) for p, _ in listing.failed[:5])}]")
    if not found:
        lines.insert(0, _nothing(pattern, path, hidden))
    summary = f"{len(found):,} {'file' if len(found) == 1 else 'files'}"
    text = "\n".join(lines)
    return ToolResult.of(text, display=TextDisplay(text=text, summary=summary), files=len(found))


def _nothing(pattern: str, path: str, hidden: bool) -> str:
    hints = []
    if "/" not in pattern and not pattern.startswith("**"):
        hints.append(f"**/{pattern} looks in all folders")
    if not hidden and not names_hidden(pattern):
        hints.append("hidden and ignored files were left out")
    where = "" if path in ("", ".") else f" in {path}"
    return f"No files match {pattern}{where}." + (f" ({'; '.join(hints)})" if hints else "")


def _find(workspace: Workspace, pattern: str, path: str, hidden: bool) -> tuple[list[Entry], Listing]:
    pattern, base = _relative(workspace, pattern, path)
    wants_dirs = pattern.endswith("/")
    regex = compile_glob(pattern.rstrip("/") or "**", hidden=hidden)
    folder = fixed_prefix(pattern)
    start = workspace.real(f"{base.display}/{folder}" if folder else base.display)
    named_hidden = hidden or names_hidden(pattern)
    listing = Listing(workspace, start, hidden=named_hidden)
    if folder and workspace.status(start.display) is None:
        return [], listing
    cut = 0 if base.display == "." else len(base.display.rstrip("/")) + 1
    files: dict[str, list[str]] = {}
    dirs: dict[str, list[str]] = {}
    for before, *kinds in listing.names():
        for names, into in zip(kinds, (files, dirs, files), strict=True):
            chosen = [name for name in names if regex.fullmatch((before + name)[cut:])]
            if chosen:
                into.setdefault(before, []).extend(chosen)
    found = [] if wants_dirs else [e for e in _entries(workspace, files) if not _leads_to_folder(workspace, e)]
    found = found or list(_entries(workspace, dirs))
    found.sort(key=lambda entry: (-entry.mtime_ns, entry.rel))
    return found, listing


def _entries(workspace: Workspace, names: dict[str, list[str]]) -> Iterator[Entry]:
    """The entries of these names, folder by folder. Their times are asked for only now: that takes longest."""
    for before, some in names.items():
        wanted = set(some)
        try:
            entries = workspace.scandir(before or ".", stats=True)
        except WorkspaceError:
            continue  # it went away just now
        yield from (entry for entry in entries if entry.name in wanted)


def _relative(workspace: Workspace, pattern: str, path: str) -> tuple[str, Place]:
    """An absolute pattern inside a root is taken apart; `..` in a pattern has no place. Raises BadGlob, WorkspaceError."""
    base = workspace.real(path or ".")
    if os.path.isabs(pattern):
        folder = fixed_prefix(pattern)
        base = workspace.real(folder or "/")
        pattern = pattern[len(folder) :].lstrip("/") or "**"
    if ".." in pattern.split("/"):
        raise BadGlob("a pattern can't hold '..': give the folder as path")
    status = workspace.status(base.display)
    if status is not None and not stat.S_ISDIR(status.st_mode):
        raise BadGlob(f"{path} is a file, not a folder: give its folder as path")
    return re.sub(r"^(?:\./)+", "", pattern), base


def _leads_to_folder(workspace: Workspace, entry: Entry) -> bool:
    if entry.kind != "link":
        return False
    try:
        status = workspace.status(entry.rel)
    except WorkspaceError:
        return False
    return status is not None and stat.S_ISDIR(status.st_mode)
