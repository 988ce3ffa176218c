"""What a small model may do next, and what it is asked again: rules that keep it from its usual mistakes."""

from __future__ import annotations

import re

from aicli.content.parts import FunctionCallPart, JsonObject
from aicli.content.request import ModelRequest, ToolSpec
from aicli.models.embedded.contents import Seen, seen
from aicli.models.embedded.grammar import Grammar
from aicli.models.embedded.steps import (
    ANSWER,
    COMPACT,
    ended_badly,
    found_nothing,
    has_failed,
    offered,
    shortened,
    step_text,
    task_of,
    task_text,
)

MOST_ENUMERATED = 150
MOST_EDITABLE = 4
MOST_FORCED = 3
REWRITE_LINES = 30
REWRITE_CHARS = 1_000
_IN_PLACE = re.compile(r"\b(sed|perl) +-[a-z]*i")
_FORM = re.compile(r"in this form:\n\n(# .*?^(?:1\.|-) )<", re.DOTALL | re.MULTILINE)
_GAP = re.compile(r"<[^<>\n]*>")
WRITES = frozenset({"edit", "write_file"})
READ_ONLY = frozenset({"ls", "read_file", "grep", "glob", "read_many_files"})


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
        if rule == "string" and (pieces := form(request)):
            rule = grammar.form(pieces)
        grammar.step(ANSWER, [("text", rule, True)])
    return grammar.text()


def form(request: ModelRequest) -> list[str]:
    """The form of answer that the agent's instructions show, down to its first list, cut at the gaps; [] for none."""
    found = _FORM.search(request.system)
    return _GAP.split(found[1]) if found else []


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
            found.append((name, "name", name in required))
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
    """The step that has to come first: what is changed in place, and what the task names, is read before writing."""
    if not any(t.name == "read_file" for t in offered(request)):
        return None
    wanted: list[str] = []
    if name == "write_file":
        wanted = [str(args.get("path", "")).removeprefix("./"), *named_files(request)]
    elif name == "shell" and _IN_PLACE.search(command := str(args.get("command", ""))):
        wanted = [p for p in request.paths if p in command.split()]
    for path in wanted:
        if path in request.paths and not _looked_at(request, path):
            return "read_file", {"path": path}
    return None


def again(request: ModelRequest, body: JsonObject, name: str, args: JsonObject) -> JsonObject | None:
    """What the engine is asked once more instead of taking this call; None when the call stands."""
    if repeated(request, name, args):
        return {**body, "grammar": step_grammar(request, after=name, path=str(args.get("path", "")))}
    held = doubt(request, name, args)
    if not held:
        return None
    task = task_text(request.messages[task_of(request.messages)])
    more = [
        {"role": "assistant", "content": step_text(name, args)},
        {"role": "user", "content": f"Error:\n{held}\nRequest: {task}. Try another way."},
    ]
    return {**body, "messages": [*body["messages"], *more]}


def doubt(request: ModelRequest, name: str, args: JsonObject) -> str:
    """What to hold against a new whole text of a file that drops nearly all of its lines; "" when nothing."""
    path, text = str(args.get("path", "")).removeprefix("./"), args.get("content")
    old = seen(request.messages).texts.get(path) if name == "write_file" else None
    if not old or not isinstance(text, str):
        return ""
    before = [line.strip() for line in old.splitlines() if line.strip()]
    now = {line.strip() for line in text.splitlines()}
    lost = [line for line in before if line not in now]
    if len(before) < 2 or len(lost) * 3 < len(before) * 2 or len(text.splitlines()) >= len(before):
        return ""
    shown = shortened("\n".join(lost), 600)
    return f"Not written: {path} would lose these lines:\n{shown}\nWrite all that is to stand in {path}."


def named_files(request: ModelRequest) -> list[str]:
    """The files of the workspace that the task calls by name."""
    if not request.messages:
        return []
    task = task_text(request.messages[task_of(request.messages)])
    return [p for p in request.paths if re.search(rf"(?<![\w/.-]){re.escape(p)}(?![\w/-]|\.\w)", task)]


def _looked_at(request: ModelRequest, path: str) -> bool:
    for call in (c for m in request.messages for c in m.calls):
        if call.args.get("path") == path or path in str(call.args.get("command", "")):
            return True
    return False


def known_paths(request: ModelRequest) -> set[str]:
    """The names in the workspace, and those that calls of this conversation wrote."""
    written = {c.args["path"] for m in request.messages for c in m.calls if isinstance(c.args.get("path"), str)}
    return set(request.paths) | written


def repeated(request: ModelRequest, name: str, args: JsonObject) -> bool:
    """Was the very same call made for this task, with nothing changed since? The same change twice is never right."""
    calls: list[FunctionCallPart] = [c for m in request.messages[task_of(request.messages) :] for c in m.calls]
    if name in WRITES:
        return any((c.name, c.args) == (name, args) for c in calls)
    for call in reversed(calls):
        if (call.name, call.args) == (name, args):
            return True
        if call.name not in READ_ONLY:
            return False
    return False
