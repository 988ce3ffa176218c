"""edit: replaces text in a file; only the matched bytes change."""

from __future__ import annotations

from typing import Any

from aicli.content.kinds import ToolKind
from aicli.content.parts import JsonObject
from aicli.content.results import Display, ToolResult
from aicli.content.value import Value
from aicli.tools.base import ToolContext, ToolFailed, tool
from aicli.tools.editing import Missed, Replacement, apply
from aicli.tools.files import PATH_NAMES, change, change_display, changed, current, files_of, key_of, told

_OLD = (
    "old_str",
    "old_text",
    "old",
    "search",
    "find",
    "original",
    "original_text",
    "target",
    "search_string",
    "oldText",
)
_NEW = ("new_str", "new_text", "new", "replace", "replacement", "updated", "replace_with", "replace_string", "newText")
_NAMES = {**dict.fromkeys(_OLD, "old_string"), **dict.fromkeys(_NEW, "new_string"), "all": "replace_all"}
_IDLE = ("instruction", "instructions", "explanation", "description", "dryRun", "dry_run", "regex", "use_regex")


class Edit(Value):
    old_string: str
    new_string: str
    replace_all: bool = False


def _adapt(args: JsonObject) -> JsonObject:
    """Other agents' spellings, on the call and inside `edits`."""
    out = _one(args)
    if isinstance(out.get("edits"), list):
        out["edits"] = [_one(e) if isinstance(e, dict) else e for e in out["edits"]]
    if out.get("command") == "str_replace":
        del out["command"]
    elif out.get("command") == "create" and "file_text" in out:
        del out["command"]
        out["old_string"], out["new_string"] = "", out.pop("file_text")
    return out


def _one(args: JsonObject) -> JsonObject:
    out: JsonObject = {}
    for key, value in args.items():
        name = _NAMES.get(key, key)
        out[name if name not in args or name == key else key] = value
    for key in _IDLE:
        if not out.get(key) or isinstance(out[key], str):
            out.pop(key, None)
    if out.get("case_sensitive") is True:
        del out["case_sensitive"]
    for key in ("replace_count", "expected_replacements", "count"):
        if out.get(key) in (1, "1"):
            del out[key]
        elif out.get(key) in (0, -1, "all", "-1"):
            del out[key]
            out["replace_all"] = True
    return out


def _wanted(params: Any) -> list[Replacement]:
    edits = [Replacement(e.old_string, e.new_string, e.replace_all) for e in params.edits or ()]
    if params.old_string is not None and params.new_string is not None:
        edits.insert(0, Replacement(params.old_string, params.new_string, params.replace_all))
    elif params.old_string is not None or params.new_string is not None:
        missing = "new_string" if params.new_string is None else "old_string"
        raise ToolFailed(f'edit: {missing} is missing. Give old_string and new_string ("" deletes the text).')
    if not edits:
        raise ToolFailed("edit: say what to change: old_string and new_string, or edits with such pairs.")
    return edits


def _preview(ctx: ToolContext, params: Any) -> Display | None:
    files = files_of(ctx)
    with told():
        before = current(files, params.path)
        try:
            after = apply(params.path, before.data if before else None, _wanted(params)).data
        except Missed as miss:
            raise ToolFailed(str(miss)) from miss
        return change_display(files.locate(params.path).display, before, after)


@tool(
    kind=ToolKind.EDIT,
    title="Edit {path}",
    rare=("edits",),
    aliases=(
        "edit_file",
        "str_replace",
        "replace",
        "str_replace_editor",
        "str_replace_based_edit_tool",
        "apply_edit",
        "multi_edit",
        "MultiEdit",
        "search_replace",
        "replace_in_file",
        "editFile",
    ),
    param_aliases={**PATH_NAMES, **_NAMES},
    adapt=_adapt,
    preview=_preview,
    compact="Replace old_string by new_string in a file.",
)
def edit(
    ctx: ToolContext,
    path: str,
    old_string: str | None = None,
    new_string: str | None = None,
    replace_all: bool = False,
    edits: list[Edit] | None = None,
) -> ToolResult:
    """Replace old_string by new_string in a file. Copy old_string exactly, without line numbers, with enough around it
    to be the only one. edits: several at once, all or none."""
    files, state = files_of(ctx), ctx.state
    wanted = _wanted(_Given(old_string, new_string, replace_all, edits))
    with told():
        key = key_of(files, path)
        before = current(files, path)
        if before is None and wanted[0].old and (gone := files.dangling(path)):
            raise ToolFailed(f"{path} does not exist, so there is nothing to replace: {gone}.")
        try:
            done = apply(path, before.data if before else None, wanted)
        except Missed as miss:
            state.misses[key] = state.misses.get(key, 0) + 1
            raise ToolFailed(miss.full_text() if state.misses[key] >= 2 else str(miss)) from miss
        stale = key in state.seen and before is not None and not state.seen[key].same(before.version)
        display = change(ctx, path, before, done.data)
    note = " The file had been changed since you read it; the edit is in its present text." if stale else ""
    verb = "Created" if before is None else "Edited"
    return changed(f"{verb} {display.path}: {done.told} (+{display.added} -{display.removed}).{note}", display)


class _Given:
    def __init__(self, old_string: str | None, new_string: str | None, replace_all: bool, edits: Any) -> None:
        self.old_string, self.new_string, self.replace_all, self.edits = old_string, new_string, replace_all, edits
