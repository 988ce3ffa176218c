"""read_file: a window of a text file, numbered; images, PDF and notebooks in the form a model can take."""

from __future__ import annotations

import os
from typing import BinaryIO

from aicli.content.kinds import ToolKind
from aicli.content.parts import JsonObject
from aicli.content.results import TextDisplay, ToolResult
from aicli.tools.base import ToolContext, ToolFailed, tool
from aicli.tools.documents import describe, image, image_type, notebook_lines, pdf_lines
from aicli.tools.files import PATH_NAMES, files_of, key_of, told
from aicli.tools.reading import MOST_LINES, WHOLE, Window, numbered, of_lines, window
from aicli.workspace.entries import version_of
from aicli.workspace.text import SAMPLE, decode, looks_binary

_START = ("start_line", "line_start", "startLine", "start", "from_line", "start_line_one_indexed", "first_line")
_END = ("end_line", "line_end", "endLine", "end", "to_line", "end_line_one_indexed_inclusive", "last_line")


def _adapt(args: JsonObject) -> JsonObject:
    """start_line/end_line (inclusive) and view_range as offset and limit."""
    out = dict(args)
    if out.get("command") == "view":
        del out["command"]
    pair = out.pop("view_range", None)
    start = next((out.pop(k) for k in _START if k in out), None)
    end = next((out.pop(k) for k in _END if k in out), None)
    if isinstance(pair, list) and len(pair) == 2:
        start, end = pair
    if out.pop("should_read_entire_file", None):
        start = end = None
    first, last = _number(start), _number(end)
    if first is not None:
        out["offset"] = first
    if last is not None and last > 0:
        out["limit"] = max(1, last - max(1, first or 1) + 1)
    return out


def _number(value: object) -> int | None:
    try:
        return None if value is None else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        return None


@tool(
    kind=ToolKind.READ,
    title="Read {path}",
    aliases=("read", "view", "cat", "open_file", "ReadFile", "view_file", "readFile", "get_file_contents"),
    param_aliases={**PATH_NAMES, "max_lines": "limit", "lines": "limit"},
    adapt=_adapt,
    compact="Read a file; lines are numbered.",
)
def read_file(
    ctx: ToolContext,
    path: str,
    offset: int = 1,
    limit: int = MOST_LINES,
) -> ToolResult:
    """Read lines of a file: number, tab, text (number and tab are not in the file). offset is the first line, from 1.
    Images, PDF and notebooks too."""
    files = files_of(ctx)
    offset = max(1, offset)
    limit = limit if limit > 0 else MOST_LINES
    with told(), files.open_read(path) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(SAMPLE)
        if head is None:
            raise ToolFailed(f"{path} gives nothing without waiting, so it is not read.")
        if image_type(head):
            return image(path, file, size, ctx.state.images)
        found, note = _window(path, file, size, head, offset, limit)
        ctx.state.seen[key_of(files, path)] = version_of(file)
    if found.binary_from is not None and not found.lines:
        return describe(path, head, size)
    if not found.lines:
        return _nothing(path, found, size, offset)
    text = numbered(found) + _ending(found, note)
    count = len(found.lines)
    return ToolResult.of(text, display=TextDisplay(summary=f"{count:,} line{'' if count == 1 else 's'}"))


def _window(path: str, file: BinaryIO, size: int, head: bytes, offset: int, limit: int) -> tuple[Window, str]:
    if head.startswith(b"%PDF-"):
        return of_lines(pdf_lines(path, file, size), offset, limit), "text of a PDF"
    if path.endswith(".ipynb") and size <= WHOLE:
        file.seek(0)
        lines = notebook_lines(decode(file.read()).text)
        if lines is not None:
            return of_lines(lines, offset, limit), "cells of a notebook; edit sees its raw JSON"
    if looks_binary(head) and not _text_before_nul(head):
        return Window(offset, binary_from=1), ""
    found = window(file, size, offset, limit)
    name = found.encoding.title
    return found, "" if name == "UTF-8" or found.encoding.bom == b"\xef\xbb\xbf" else f"encoded as {name}"


def _text_before_nul(head: bytes) -> bool:
    """Is there at least a line of text before binary content begins (a script with a payload, a sparse log)?"""
    first = head[: head.find(b"\x00")] if b"\x00" in head else b""
    return first.endswith(b"\n") and not looks_binary(first)


def _nothing(path: str, found: Window, size: int, offset: int) -> ToolResult:
    if size <= len(found.encoding.bom):
        mark = " but for a byte order mark" if size else " (0 bytes)"
        return ToolResult.of(f"{path} is empty{mark}.", display=TextDisplay(summary="empty"))
    total = found.total or 0
    lines = f"{total:,} line{'' if total == 1 else 's'}"
    raise ToolFailed(f"{path} has {lines}, so there is no line {offset:,}. Use an offset from 1 to {total}.")


def _ending(found: Window, note: str) -> str:
    notes = [note] if note else []
    if found.binary_from is not None:
        notes.append(f"from line {found.binary_from} on the file is binary and not shown")
    elif found.next is not None:
        of = f" of {found.total:,}" if found.total is not None else "; more follow"
        notes.append(f"lines {found.first}-{found.last}{of}; go on with offset={found.next}")
    return f"\n[{'. '.join(notes)}]" if notes else ""
