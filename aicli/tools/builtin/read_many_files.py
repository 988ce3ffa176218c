"""read_many_files: several text files by name or pattern, under one budget."""

from __future__ import annotations

import os
from collections.abc import Iterator

from aicli.content.kinds import ToolKind
from aicli.content.parts import JsonObject
from aicli.content.results import TextDisplay, ToolResult
from aicli.tools.base import ToolContext, ToolFailed, tool
from aicli.tools.documents import image_type
from aicli.tools.files import files_of, key_of
from aicli.tools.reading import MOST_CHARS, MOST_LINES, numbered, window
from aicli.tools.shown import shown
from aicli.workspace.entries import version_of
from aicli.workspace.faults import WorkspaceError
from aicli.workspace.globs import BadGlob, compile_glob, fixed_prefix, names_hidden
from aicli.workspace.listing import Listing
from aicli.workspace.protected import is_secret
from aicli.workspace.root import Workspace
from aicli.workspace.text import SAMPLE, looks_binary

MOST_FILES = 200
_NAMES = ("files", "patterns", "include", "file_paths", "path", "pattern", "globs")


def _adapt(args: JsonObject) -> JsonObject:
    """One pattern as a list of one."""
    out = dict(args)
    for name in _NAMES:
        if name in out and "paths" not in out:
            out["paths"] = out.pop(name)
    if isinstance(out.get("paths"), str) and not out["paths"].lstrip().startswith("["):
        out["paths"] = [out["paths"]]
    return out


@tool(
    kind=ToolKind.READ,
    title="Read {paths}",
    full_only=True,
    aliases=("read_files", "read_multiple_files", "ReadManyFiles", "view_files"),
    adapt=_adapt,
    compact="Read several files by name or glob.",
)
def read_many_files(ctx: ToolContext, paths: list[str]) -> ToolResult:
    """Read several text files at once, by path or glob (`src/**/*.py`). Ignored and binary files are left out."""
    files = files_of(ctx)
    names, notes = _named(files, paths)
    denied = [name for name in names if not ctx.state.may_read(name)]
    if denied:
        names = [name for name in names if name not in denied]
        notes.append(f"{len(denied)} left out: a rule denies reading.")
    if not names:
        raise ToolFailed(f"No files match {', '.join(paths) or 'an empty list'}. {' '.join(notes)}".strip())
    parts: list[str] = []
    room, left = MOST_CHARS, list(names)
    while left and room > 200 and len(parts) < MOST_FILES:
        name = left.pop(0)
        try:
            part, note = _one(ctx, files, name, room, MOST_CHARS if len(names) == 1 else max(2_000, room // 2))
        except WorkspaceError as error:
            part, note = "", str(error)
        if note:
            notes.append(note)
        if part:
            parts.append(part)
            room -= len(part)
    if left:
        listed = ", ".join(map(shown, left[:20])) + (f" and {len(left) - 20} more" if len(left) > 20 else "")
        notes.append(f"{len(left)} not read, as the answer is full: {listed}. Ask for them in another call.")
    text = "\n\n".join([*parts, *([f"[{' '.join(notes)}]"] if notes else [])])
    return ToolResult.of(text, display=TextDisplay(summary=f"{len(parts)} file{'' if len(parts) == 1 else 's'}"))


def _one(ctx: ToolContext, files: Workspace, name: str, room: int, share: int) -> tuple[str, str]:
    """A file with its heading, cut to its share of the room; or a note why not."""
    with files.open_read(name) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(SAMPLE)
        if image_type(head) or looks_binary(head):
            return "", f"{shown(name)} is binary ({size:,} bytes)."
        found = window(file, size, 1, MOST_LINES)
        total = len(found.lines)
        used = 0
        for count, (line, _) in enumerate(found.lines):
            used += len(line) + 8
            if used > min(room, share) and count:
                found.lines = found.lines[:count]
                found.next = count + 1
                break
        if found.next is None or len(found.lines) == total:
            ctx.state.seen[key_of(files, name)] = version_of(file)
    text = numbered(found) if found.lines else "(empty)"
    more = f"\n[cut; read_file with offset={found.next} goes on]" if found.next else ""
    return f"==> {shown(name)} <==\n{text}{more}", ""


def _named(files: Workspace, paths: list[str]) -> tuple[list[str], list[str]]:
    """The files meant, each once, in the order asked for; and notes on what was not found or left out."""
    found: dict[str, None] = {}
    notes: list[str] = []
    for path in paths:
        try:
            status = files.status(path)
            before = len(found)
            if status is not None and not _is_folder(files, path):
                if any(is_secret(n) for n in (files.locate(path).display, files.real(path).display)):
                    notes.append(f"{shown(path)} may hold secrets: use read_file for it.")
                else:
                    found[files.locate(path).display] = None
            else:
                found.update(dict.fromkeys(_matching(files, f"{path}/**" if status is not None else path, notes)))
            if len(found) == before and status is None:
                gone = files.dangling(path)
                notes.append(f"{shown(path)} does not exist: {shown(gone)}." if gone else f"Nothing matches {path}.")
        except (WorkspaceError, BadGlob) as error:
            notes.append(str(error))
    return list(found), notes


def _is_folder(files: Workspace, path: str) -> bool:
    status = files.status(path)
    return status is not None and (status.st_mode & 0o170000) == 0o040000


def _matching(files: Workspace, pattern: str, notes: list[str]) -> Iterator[str]:
    regex = compile_glob(pattern, hidden=False)
    folder = fixed_prefix(pattern) or "."
    if files.status(folder) is None:
        return
    listing = Listing(files, files.real(folder), hidden=names_hidden(pattern))
    for before, names, _, _ in listing.names():
        for name in (before + name for name in names):
            if not regex.fullmatch(name):
                continue
            if is_secret(name):
                notes.append(f"{shown(name)} may hold secrets: use read_file for it.")
            else:
                yield name
