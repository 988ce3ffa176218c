"""The ls tool: what is in a folder, with sizes, as deep as asked."""

from __future__ import annotations

import os

from aicli.content.kinds import ToolKind
from aicli.content.results import TextDisplay, ToolResult
from aicli.tools.base import ToolContext, ToolFailed, tool
from aicli.tools.shown import shown, size_shown
from aicli.workspace.faults import WorkspaceError
from aicli.workspace.ignore import IgnoreRules
from aicli.workspace.listing import looked_up
from aicli.workspace.root import Entry, Place, Workspace

_MOST = 500
_DEEPEST = 20


@tool(
    kind=ToolKind.READ,
    title="List {path}",
    untold=("directories_only",),
    aliases=("list_directory", "list_dir", "list_folder", "dir", "tree"),
    param_aliases={
        "dir_path": "path",
        "directory": "path",
        "max_depth": "depth",
        "relative_workspace_path": "path",
    },
    compact="List a folder.",
)
def ls(
    ctx: ToolContext,
    path: str = ".",
    depth: int = 1,
    directories_only: bool = False,
) -> ToolResult:
    """List a folder with sizes. Ignored folders are named, not entered."""
    workspace = ctx.state.workspace
    if workspace is None:
        raise ToolFailed("This run has no workspace to list.")
    try:
        place, is_dir = looked_up(workspace, path)
        if not is_dir:
            status = workspace.status(path)
            size = size_shown(status.st_size) if status else ""
            return ToolResult.of(f"{shown(place.display)}  {size} (a file)", display=TextDisplay(summary="a file"))
        lines, counts = _Lister(workspace, place, min(depth, _DEEPEST), directories_only).run()
    except WorkspaceError as e:
        raise ToolFailed(str(e)) from None
    summary = f"{counts:,} {'entry' if counts == 1 else 'entries'}"
    text = "\n".join(lines) or "The folder is empty."
    return ToolResult.of(text, display=TextDisplay(text=text, summary=summary), entries=counts)


class _Lister:
    def __init__(self, workspace: Workspace, place: Place, depth: int, only_dirs: bool) -> None:
        self._workspace, self._place, self._depth, self._only_dirs = workspace, place, depth, only_dirs
        self._rules = IgnoreRules(place.root)
        self._lines: list[str] = []
        self._count = 0
        self._left = 0

    def run(self) -> tuple[list[str], int]:
        self._folder(self._place.display, 1)
        if self._left:
            self._lines.append(f"[{self._left:,} more entries: list a sub-folder, or use glob]")
        return self._lines, self._count

    def _folder(self, display: str, level: int) -> None:
        indent = "  " * (level - 1)
        try:
            entries = self._workspace.scandir(display, stats=True)
        except WorkspaceError as e:
            if level == 1:
                raise
            self._lines.append(f"{indent}[{e}]")
            return
        if self._only_dirs:
            entries = [e for e in entries if e.kind == "dir"]
        for entry in sorted(entries, key=lambda e: (e.kind != "dir", e.name)):
            self._count += 1
            if len(self._lines) >= _MOST:
                self._left += 1
                continue
            ignored = self._ignored(entry)
            self._lines.append(indent + self._line(entry) + ("  (ignored)" if ignored else ""))
            if entry.kind == "dir" and level < self._depth and not ignored:
                self._folder(entry.rel, level + 1)

    def _ignored(self, entry: Entry) -> bool:
        rel = entry.rel
        if self._place.root != self._workspace.root:
            rel = os.path.relpath(rel, self._place.root).replace(os.sep, "/")
        return self._rules.ignored(rel, entry.kind == "dir")

    def _line(self, entry: Entry) -> str:
        name = shown(entry.name)
        if entry.kind == "dir":
            return name + "/"
        if entry.kind == "file":
            return f"{name}  {size_shown(entry.size)}"
        if entry.kind == "link":
            return f"{name} -> {shown(self._target(entry))}"
        return f"{name}  ({entry.kind})"

    def _target(self, entry: Entry) -> str:
        try:
            return os.readlink(os.path.join(self._workspace.root, entry.rel))
        except OSError:
            return "?"
