"""The glob tool: finds files by name pattern, newest first."""

from __future__ import annotations

import os
import re
import stat

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
    names = [shown(entry.rel) + ("/" if entry.kind == "dir" else "") for entry in found]
    limit = max(1, min(limit, _MOST))
    lines = names[:limit]
    if len(names) > limit:
        lines.append(f"[{len(names) - limit:,} more: narrow the pattern or raise limit]")
    if listing.failed:
        lines.append(f"[not readable: {', '.join(shown(p) for p, _ in listing.failed[:5])}]")
    if not names:
        lines.insert(0, _nothing(pattern, path, hidden))
    summary = f"{len(names):,} {'file' if len(names) == 1 else 'files'}"
    text = "\n".join(lines)
    return ToolResult.of(text, display=TextDisplay(text=text, summary=summary), files=len(names))


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
    listing = Listing(workspace, start, hidden=named_hidden, stats=True)
    files: list[Entry] = []
    dirs: list[Entry] = []
    if folder and workspace.status(start.display) is None:
        return [], listing
    cut = 0 if base.display == "." else len(base.display.rstrip("/")) + 1
    for entry in listing.entries():
        if regex.fullmatch(entry.rel[cut:]) is None:
            continue
        if entry.kind == "dir":
            dirs.append(entry)
        elif entry.kind != "link" or not _leads_to_folder(workspace, entry):
            files.append(entry)
    found = dirs if wants_dirs or not files else files
    found.sort(key=lambda entry: (-entry.mtime_ns, entry.rel))
    return found, listing


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
    try:
        status = workspace.status(entry.rel)
    except WorkspaceError:
        return False
    return status is not None and stat.S_ISDIR(status.st_mode)
