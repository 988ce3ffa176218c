"""What a small model may do next, and what it is asked again: rules that keep it from its usual mistakes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aicli.content.parts import JsonObject
from aicli.content.request import ModelRequest, ToolSpec
from aicli.models.embedded.contents import Seen, seen
from aicli.models.embedded.grammar import Grammar
from aicli.models.embedded.steps import (
    ANSWER,
    COMPACT,
    READ_ONLY,
    WRITES,
    ended_badly,
    found_nothing,
    has_failed,
    offered,
    shown,
    task_of,
    task_text,
)
from aicli.models.embedded.undone import undone

MOST_ENUMERATED = 150
MOST_EDITABLE = 4
MOST_FORCED = 3
REWRITE_LINES = 30
REWRITE_CHARS = 1_000
_IN_PLACE = re.compile(r"\b(sed|perl) +-[a-z]*i")
_FORM = re.compile(r"in this form:\n\n(# .*?^(?:1\.|-) )<", re.DOTALL | re.MULTILINE)
_GAP = re.compile(r"<[^<>\n]*>")
_COUNTS = re.compile(r"\b(awk|python3? +-c)\b")
RUNS = re.compile(r"\s*(python3?|node|sh|bash|pytest|ruby|perl)\b")
_WIDE = re.compile(r"[\u4e00-\u9fff]")


def step_grammar(request: ModelRequest, *, after: str = "", path: str = "") -> str:
    """What may be said next: a call of one offered tool, or the answer, unless the last step failed.

    `after` names the tool whose call was just repeated, `path` the file it was for: not that again, and after a repeated
    look no other look.
    """
    free = may_answer(request)
    known = seen(request.messages)
    others = sorted({*known.texts, *named_files(request)} - {path})
    elsewhere = after in WRITES and not free and others
    tools = tuple(t for t in offered(request) if t.name != after or elsewhere)
    if after in READ_ONLY:
        tools = () if free else tuple(t for t in tools if t.name not in READ_ONLY)
    grammar = Grammar()
    rewritable = any(t.name == "write_file" for t in tools)
    for tool in tools:
        if tool.name == "edit":
            for name, text in list(known.texts.items())[-MOST_EDITABLE:]:
                if name != path and not (rewritable and text is not None and _small(text)):
                    grammar.edit(name, text)
        elif tool.name == "write_file" and elsewhere:
            grammar.step(tool.name, [("path", grammar.choice(others), True), ("content", "string", True)])
        else:
            grammar.step(tool.name, _arguments(tool, request, known, grammar))
    if grammar.empty or (
        request.tool_choice in ("auto", "none") and (free or (after and after not in READ_ONLY and not elsewhere))
    ):
        rule = grammar.schema(request.output_schema) if request.output_schema is not None else "string"
        said, done = undone(request)
        if rule == "string" and said and not done and not form(request):
            rule = grammar.choice(["\n".join(said)])
        elif rule == "string" and (pieces := form(request) or admission(request)):
            rule = grammar.form(pieces)
        grammar.step(ANSWER, [("text", rule, True)])
    return grammar.text()


def change_grammar(request: ModelRequest, paths: Sequence[str]) -> str:
    """A change of one of these files and nothing else: of its own lines, so that it is not written like another."""
    known = seen(request.messages)
    grammar = Grammar()
    names = {t.name for t in offered(request)}
    for path in paths:
        text = known.texts.get(path)
        if "edit" in names and text:
            grammar.edit(path, text)
        elif "read_file" in names and text is None:
            grammar.step("read_file", [("path", grammar.choice([path]), True)])
        elif "write_file" in names:
            grammar.step("write_file", [("path", grammar.choice([path]), True), ("content", "string", True)])
    return step_grammar(request) if grammar.empty else grammar.text()


def form(request: ModelRequest) -> list[str]:
    """The form of answer that the agent's instructions show, down to its first list, cut at the gaps; [] for none."""
    found = _FORM.search(request.system)
    return _GAP.split(found[1]) if found else []


def admission(request: ModelRequest) -> list[str]:
    """How the answer has to begin where something was refused, or the last thing done has failed; [] where it was not."""
    said, _ = undone(request)
    if said:
        return ["\n".join(said) + "\n"]
    current = task_of(request.messages)
    task = request.messages[current:]
    last = next((r for m in reversed(task) for r in reversed(m.responses)), None)
    if last is None or last.name in READ_ONLY:
        return []
    acted = any(c.name in WRITES for m in task for c in m.calls)
    if not has_failed(last) and not (acted and ended_badly(last)):
        return []
    return ["最后一步失败了：" if _WIDE.search(task_text(task[0])) else "The last step failed: "]


def _small(text: str) -> bool:
    """Short enough to be written anew as a whole, which a small model gets right more often than an edit."""
    return len(text) <= REWRITE_CHARS and text.count("\n") < REWRITE_LINES


def may_answer(request: ModelRequest) -> bool:
    """Not before any look at files that the task names, nor while the last thing done has failed, a few times at most."""
    task = request.messages[task_of(request.messages) :]
    if named_files(request) and not any(m.calls for m in request.messages):
        return False
    failed, most, looked = 0, MOST_FORCED, False
    for i in range(len(task) - 1, -1, -1):
        for response in task[i].responses:
            acted = any(c.name in WRITES for m in task[:i] for c in m.calls)
            if has_failed(response) or (acted and ended_badly(response)):
                if response.name in READ_ONLY and looked:
                    continue  # a later look has found something
                failed += 1
                most = 1 if found_nothing(response) else most
            elif response.name in READ_ONLY:
                looked = True
            else:
                return not 0 < failed <= most
    return not 0 < failed <= most


def _arguments(tool: ToolSpec, request: ModelRequest, known: Seen, grammar: Grammar) -> list[tuple[str, str, bool]]:
    properties: JsonObject = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    names = [n for n in COMPACT.get(tool.name, tuple(properties)) if n in properties]
    choices = _paths(tool.name, request, known)
    found = []
    for name in names:
        if name == "path" and choices is not None:
            if choices:
                found.append((name, grammar.choice(choices), name in required))
        elif name in ("path", "pattern", "command") and tool.name in COMPACT:
            found.append((name, "place" if name == "path" else "name", name in required))
        else:
            found.append((name, grammar.schema(properties[name]), name in required))
    return found


def _paths(tool: str, request: ModelRequest, known: Seen) -> list[str] | None:
    """The paths that a tool may name; None when any may be, empty when it needs none."""
    names = known_paths(request)
    if tool not in ("read_file", "grep", "ls") or len(names) > MOST_ENUMERATED:
        return None
    folders = {n[:i] for n in names for i, c in enumerate(n) if c == "/"}
    if tool != "read_file":
        return sorted(folders)
    readable = {n for n in names - folders if not n.endswith("/")}
    return sorted({n for n in readable if not known.fresh(n)} or readable) or None


def instead(request: ModelRequest, name: str, args: JsonObject) -> tuple[str, JsonObject] | None:
    """The step that has to come first: what is changed in place or added up, and what the task names, is read before."""
    if not any(t.name == "read_file" for t in offered(request)):
        return None
    wanted: list[str] = []
    if name == "write_file":
        wanted = [str(args.get("path", "")).removeprefix("./"), *named_files(request)]
    elif name == "shell" and _IN_PLACE.search(command := str(args.get("command", ""))):
        wanted = [p for p in request.paths if p in command.split()]
    elif name == "shell" and _COUNTS.search(command):
        wanted = [p for p in named_files(request) if mentions(command, p)]
    for path in wanted:
        if path in request.paths and not _looked_at(request, path):
            return "read_file", {"path": path}
    return None


def named_files(request: ModelRequest) -> list[str]:
    """The files of the workspace that the task calls by name."""
    if not request.messages:
        return []
    task = task_text(request.messages[task_of(request.messages)])
    return [p for p in shown(request.paths) if mentions(task, p)]


def mentions(text: str, path: str) -> bool:
    """Does the text name this very path?"""
    return path in text and place(path).search(text) is not None


def place(path: str) -> re.Pattern[str]:
    """Where a text names this very path, and no longer one. Chinese may stand right beside it."""
    return re.compile(rf"(?<![A-Za-z0-9_/.-]){re.escape(path)}(?![A-Za-z0-9_/-]|\.\w)")


def _looked_at(request: ModelRequest, path: str) -> bool:
    for call in (c for m in request.messages for c in m.calls):
        command = str(call.args.get("command", ""))
        if call.args.get("path") == path or (mentions(command, path) and not RUNS.match(command)):
            return True
    return False


def known_paths(request: ModelRequest) -> set[str]:
    """The names in the workspace, and those that calls of this conversation wrote."""
    written = {c.args["path"] for m in request.messages for c in m.calls if isinstance(c.args.get("path"), str)}
    return set(shown(request.paths)) | written
