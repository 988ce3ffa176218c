"""What speaks against a small model's step, told from the facts, so that it is asked once more instead."""

from __future__ import annotations

from aicli.content.parts import FunctionCallPart, JsonObject
from aicli.content.request import ModelRequest
from aicli.late import regex
from aicli.models.embedded.contents import may_change, seen
from aicli.models.embedded.guidance import (
    RUNS,
    change_grammar,
    known_paths,
    named_files,
    place,
    step_grammar,
)
from aicli.models.embedded.steps import ENOUGH, READ_ONLY, WRITES, Chat, shortened, step_text, task_of, task_text

_CHANGES = regex(
    r"(?i)\b(change|rename|replace|fix|correct|set|update|edit|modify|make|move|add|remove|delete|import|must|should)\b"
    r"|[改换修添加设移删]|更新|必须"
)
_IN = regex(
    r"(?i)(?:\b(?:in|into|of|change|edit|fix|update|correct|modify)(?: the)?(?: file)?|[在把将改修中]|修复|更新)\s*"
    r"(?:[\w./-]+\.\w+(?:\s*,\s*(?:and\s+)?|\s+and\s+|[、和与]))*$"
)
_INSIDE = regex(r"\s*[里中内]")
_NEW = regex(r"[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{0,4}(?![A-Za-z0-9_(.])")
_MANY = regex(r"(?i)\b(each|every|all|per)\b|[每各]|所有")
_DATA = (".csv", ".tsv", ".log", ".txt", ".jsonl")


def again(request: ModelRequest, body: JsonObject, name: str, args: JsonObject) -> JsonObject | None:
    """What the engine is asked once more instead of taking this call; None when the call stands."""
    if repeated(request, name, args):
        other = {**body, "grammar": step_grammar(request, after=name, path=str(args.get("path", "")))}
        return unfinished(request, body) or other
    held = doubt(request, name, args)
    if held:
        return _with(request, body, step_text(name, args), held)
    begun = any(c.name in WRITES for m in request.messages[task_of(request.messages) :] for c in m.calls)
    if begun and name == "shell" and RUNS.match(str(args.get("command", ""))):
        return unfinished(request, body)
    return None


def reminded(request: ModelRequest, chat: Chat) -> Chat:
    """The dialogue, its last result with a word of what is still as it was, once the changing has begun."""
    calls = [c for m in request.messages[task_of(request.messages) :] for c in m.calls]
    before, mark, after = chat[-1]["content"].rpartition("\nRequest: ") if chat else ("", "", "")
    left = unchanged(request) if mark and any(c.name in WRITES for c in calls) else []
    if not left:
        return chat
    return [*chat[:-1], {**chat[-1], "content": f"{before}\nNot changed yet: {', '.join(left)}{mark}{after}"}]


def unfinished(request: ModelRequest, body: JsonObject) -> JsonObject | None:
    """The same for an answer, or for running a program, while a file that the task wants changed is as it was.

    The file's text is shown once more, as if it had just been read, and its new text is what has to come next.
    """
    left = unchanged(request)[:1]
    if not left:
        return None
    task = task_text(request.messages[task_of(request.messages)])
    text = seen(request.messages).texts.get(left[0])
    more = (
        []
        if text is None
        else [
            {"role": "assistant", "content": step_text("read_file", {"path": left[0]})},
            {"role": "user", "content": f"Result:\n{shortened(text)}\nRequest: {task}. {ENOUGH}"},
        ]
    )
    return {**body, "messages": [*body["messages"], *more], "grammar": change_grammar(request, left)}


def _with(request: ModelRequest, body: JsonObject, step: str, held: str) -> JsonObject:
    task = task_text(request.messages[task_of(request.messages)])
    more = [
        {"role": "assistant", "content": step},
        {"role": "user", "content": f"Error:\n{held}\nRequest: {task}. Try another way."},
    ]
    return {**body, "messages": [*body["messages"], *more]}


def doubt(request: ModelRequest, name: str, args: JsonObject) -> str:
    """What to hold against a file's new text: another name than asked for, or nearly all lines gone; "" when nothing."""
    if name != "write_file":
        return ""
    path, text = str(args.get("path", "")).removeprefix("./"), args.get("content")
    wanted = _other_name(request, path)
    if wanted:
        return f"Not written: the request names {wanted}, not {path}."
    old = seen(request.messages).texts.get(path)
    if old is not None and isinstance(text, str) and old.rstrip() == text.rstrip():
        return f"Not written: {path} holds exactly this already. Write what it is to hold after the change."
    if not old or not isinstance(text, str):
        return ""
    before = [line.strip() for line in old.splitlines() if line.strip()]
    now = {line.strip() for line in text.splitlines()}
    lost = [line for line in before if line not in now]
    if len(before) < 2 or len(lost) * 3 < len(before) * 2 or len(text.splitlines()) >= len(before):
        return ""
    shown = shortened("\n".join(lost), 600)
    return f"Not written: {path} would lose these lines:\n{shown}\nWrite all that is to stand in {path}."


def _other_name(request: ModelRequest, path: str) -> str:
    """The new file that the task names where the step makes one of the same kind that nobody asked for; "" if none."""
    task = task_text(request.messages[task_of(request.messages)])
    known = known_paths(request)
    if path in known or path.rpartition("/")[2] in task or _MANY.search(task):
        return ""
    kind = path.rpartition(".")[2]
    missing = [n for n in _NEW.findall(task) if n not in known and n.rpartition(".")[2] == kind]
    return missing[0] if missing else ""


def unchanged(request: ModelRequest) -> list[str]:
    """Files that the task wants changed, as far as its words tell, and that no call of this task has touched."""
    current = task_of(request.messages)
    task = task_text(request.messages[current])
    calls = [c for m in request.messages[current:] for c in m.calls]
    if not calls or not _CHANGES.search(task):
        return []
    return [
        path
        for path in named_files(request)
        if not path.endswith(_DATA) and _to_be_changed(task, path) and not any(_touches(c, path) for c in calls)
    ]


def _to_be_changed(task: str, path: str) -> bool:
    return any(
        _IN.search(task[: found.start()]) or _INSIDE.match(task[found.end() :]) for found in place(path).finditer(task)
    )


def _touches(call: FunctionCallPart, path: str) -> bool:
    if call.name in WRITES:
        return str(call.args.get("path", "")).removeprefix("./") == path
    return call.name == "shell" and may_change(str(call.args.get("command", "")), path)


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
