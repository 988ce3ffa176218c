"""write_file: a whole file, made or replaced at once."""

from __future__ import annotations

from typing import Any

from aicli.content.kinds import ToolKind
from aicli.content.parts import JsonObject
from aicli.content.results import Display, ToolResult
from aicli.tools.base import ToolContext, ToolFailed, tool
from aicli.tools.files import (
    PATH_NAMES,
    change,
    change_display,
    changed,
    current,
    files_of,
    key_of,
    sizes,
    told,
)
from aicli.workspace.faults import Changed
from aicli.workspace.text import Text, decode, encode, looks_binary, split_lines, with_newlines

_CONTENT = ("contents", "text", "file_text", "code_edit", "data", "body", "file_content")


def _adapt(args: JsonObject) -> JsonObject:
    out = dict(args)
    if out.get("command") == "create":
        del out["command"]
    return out


def _preview(ctx: ToolContext, params: Any) -> Display | None:
    files = files_of(ctx)
    with told():
        before = current(files, params.path)
        after, _ = _bytes(params.path, params.content, before.data if before else None)
        return change_display(files.locate(params.path).display, before, after)


def _bytes(path: str, content: str, before: bytes | None) -> tuple[bytes, str]:
    """The content in the encoding and line ends that the file has, and a note on what that meant."""
    try:
        plain = content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolFailed(
            f"The content for {path} holds half a character (a lone surrogate): {error.reason}."
        ) from error
    if not before or looks_binary(before):
        return plain, ""
    old = decode(before)
    if old.newline == "\r\n" and not old.mixed and "\n" in content and "\r" not in content:
        content = with_newlines(content, "\r\n")
    if old.encoding.name == "utf-8":
        bom = b"" if content.startswith("\ufeff") else old.encoding.bom
        return bom + content.encode("utf-8"), ""
    try:
        return encode(Text(content.removeprefix("\ufeff"), old.encoding)), f" It stays encoded as {old.encoding.title}."
    except UnicodeEncodeError:
        return content.encode("utf-8"), f" It was {old.encoding.title}, which lacks a character, and is UTF-8 now."


@tool(
    kind=ToolKind.EDIT,
    title="Write {path}",
    aliases=("write", "create_file", "save_file", "WriteFile", "write_to_file", "create_new_file", "writeFile"),
    param_aliases={**PATH_NAMES, **dict.fromkeys(_CONTENT, "content")},
    adapt=_adapt,
    preview=_preview,
    compact="Create or replace a whole file.",
)
def write_file(ctx: ToolContext, path: str, content: str) -> ToolResult:
    """Create a file or replace its whole content. For small changes use edit."""
    files = files_of(ctx)
    with told():
        before = current(files, path)
        key = key_of(files, path)
        seen = ctx.state.seen.get(key)
        if seen is not None and not seen.same(before.version if before else None):
            what = "was changed" if before is not None else "was removed"
            del ctx.state.seen[key]
            raise Changed(
                f"{path} {what} since you last read it (by someone else or by a command); nothing was written. "
                "Read it again, then write."
            )
        after, note = _bytes(path, content, before.data if before else None)
        if before is not None and before.data == after:
            return ToolResult.of(f"{path} already has exactly this content; nothing was changed.")
        display = change(ctx, path, before, after)
    size = sizes(after, len(split_lines(content)))
    verb = "Created" if before is None else "Wrote"
    counts = "" if before is None else f" (+{display.added} -{display.removed})"
    return changed(f"{verb} {display.path}: {size}{counts}.{note}", display)
