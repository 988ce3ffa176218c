"""Leading a small model by steps: a request's history as the continuation of few-shot dialogues."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from aicli.content.messages import Message
from aicli.content.parts import FunctionResponsePart, JsonObject, TextPart
from aicli.content.request import ModelRequest, ToolSpec
from aicli.models.embedded.contents import unnumbered

ANSWER = "answer"
ENOUGH = "If the result is enough, answer."
# The parameters that the model is offered of each tool it knows from steps.md; the other known tools only confuse it.
COMPACT = {
    "ls": ("path",),
    "read_file": ("path",),
    "grep": ("pattern", "path"),
    "write_file": ("path", "content"),
    "edit": ("path", "old_string", "new_string"),
    "shell": ("command",),
}
WRITES = frozenset({"edit", "write_file"})
READ_ONLY = frozenset({"ls", "read_file", "grep", "glob", "read_many_files"})
MOST_OTHERS = 3
MOST_LISTED = 60
RESULT_CHARS = 2_400
REPEATED_CHARS = 600
MOST_WEIGHT = 4_800
OLD_CHARS = 300
_PREFACES = ("Files here:\n", "The folder is empty.")
_FRAME = "You are aicli,"
_MISUSED = re.compile(
    r"No such file or directory|command not found|: not found|Permission denied|missing operand|invalid option"
    r"|cannot |can't open"
)
_REFUSED = re.compile(r"not permitted|refused by|cancelled|not run")
_TESTED = re.compile(r"^(Ran \d+ tests? in |=+ .*\b\d+ (failed|passed)\b)", re.MULTILINE)
_BAD_EXIT = re.compile(r"exit code [1-9]\d*")
_LEFT_BEHIND = re.compile(r"(^|/)__pycache__(/|$)|\.py[co]$")
Chat = list[dict[str, str]]


@cache
def prefix() -> tuple[dict[str, str], ...]:
    """The system text and the example dialogues, as chat messages. The same bytes for every request."""
    text = files("aicli.models.embedded").joinpath("steps.md").read_text("utf-8")
    roles = {"system": "system", "user": "user", "step": "assistant"}
    blocks = re.split(r"(?m)^# (system|user|step)\n", text)[1:]
    return tuple({"role": roles[k], "content": body.strip()} for k, body in zip(blocks[::2], blocks[1::2], strict=True))


def task_of(messages: Sequence[Message]) -> int:
    """Index of the message that holds the current task."""
    return max((i for i, m in enumerate(messages) if m.role == "user" and m.text), default=0)


def task_text(message: Message) -> str:
    """The person's words, without the listing that goes before the first task: ours serves instead."""
    texts = [p.text for p in message.parts if isinstance(p, TextPart)]
    if len(texts) > 1 and texts[0].startswith(_PREFACES):
        del texts[0]
    return "".join(texts).strip()


def offered(request: ModelRequest) -> tuple[ToolSpec, ...]:
    """The tools of the request that the model is led over."""
    if request.tool_choice == "none":
        return ()
    if request.tool_choice not in ("auto", "required"):
        return tuple(t for t in request.tools if t.name == request.tool_choice)
    known = tuple(t for t in request.tools if t.name in COMPACT)
    others = tuple(t for t in request.tools if t.name not in COMPACT)
    return known + others if len(others) <= MOST_OTHERS or not known else known


def extra_tools(request: ModelRequest) -> str:
    """One line for each offered tool that steps.md does not name."""
    lines = []
    for tool in offered(request):
        if tool.name not in COMPACT:
            names = ", ".join(tool.parameters.get("properties", {}))
            lines.append(
                f"{tool.name} {{{names}}}: {tool.description.strip().splitlines()[0] if tool.description else ''}"
            )
    return "More tools:\n" + "\n".join(lines) + "\n" if lines else ""


def shown(paths: Sequence[str]) -> tuple[str, ...]:
    """The paths without what programs leave behind, which nobody asks for."""
    return tuple(p for p in paths if not _LEFT_BEHIND.search(p))


def listing(paths: Sequence[str]) -> str:
    paths = shown(paths)
    if not paths:
        return "Files: none yet\n"
    more = f", and {len(paths) - MOST_LISTED} more" if len(paths) > MOST_LISTED else ""
    return f"Files: {', '.join(paths[:MOST_LISTED])}{more}\n"


def dialogue(request: ModelRequest, files_line: str) -> Chat:
    """The request's history as the continuation of the examples; `files_line` stands before the current task."""
    chat: Chat = []
    task, acted = "", False
    current = task_of(request.messages)
    for i, message in enumerate(request.messages):
        if message.role == "user":
            task, acted = task_text(message), False
            head = _notes(request) + extra_tools(request) + files_line if i == current else ""
            _add(chat, "user", f"{head}Request: {task}")
        elif message.role == "model":
            answers = _answers(request.messages, i)
            for call in message.calls:
                _add(chat, "assistant", step_text(call.name, _as_written(call.name, call.args)))
                if call.id in answers:
                    _add(chat, "user", result_text(answers[call.id], task, acted))
                acted = acted or call.name in ("edit", "write_file")
            if message.text and not message.calls:
                _add(chat, "assistant", step_text(ANSWER, {"text": message.text}))
    return _fitted(chat)


def _as_written(name: str, args: JsonObject) -> JsonObject:
    """The arguments as the model itself wrote them."""
    return {k: v for k, v in args.items() if k in COMPACT[name]} if name in COMPACT else args


def _fitted(chat: Chat) -> Chat:
    """The same dialogue with its oldest results and steps cut short, where the whole would not fit the window."""
    over = sum(_weight(m["content"]) for m in chat) - MOST_WEIGHT
    fitted = list(chat)
    for i in range(1, len(chat) - 1):
        if over <= 0:
            break
        short = shortened(chat[i]["content"], OLD_CHARS) if chat[i]["role"] == "user" else chat[i]["content"]
        over -= _weight(chat[i]["content"]) - _weight(short)
        fitted[i] = {**chat[i], "content": short}
    return fitted


def _weight(text: str) -> int:
    """About its tokens: a wide character is one, of others three make one."""
    wide = sum(1 for c in text if ord(c) > 0x2E7F)
    return wide + (len(text) - wide) // 3


def plain(request: ModelRequest) -> Chat:
    """The history as an ordinary chat, for a request without tools."""
    chat: Chat = [{"role": "system", "content": request.system}] if request.system.strip() else []
    for i, message in enumerate(request.messages):
        if message.role == "user":
            _add(chat, "user", message.text)
        elif message.role == "model":
            answers = _answers(request.messages, i)
            if message.text:
                _add(chat, "assistant", message.text)
            for call in message.calls:
                _add(chat, "assistant", step_text(call.name, call.args))
                if call.id in answers:
                    _add(chat, "user", f"Result of {call.name}:\n{shortened(answers[call.id].text)}")
    return chat


def _notes(request: ModelRequest) -> str:
    """What the system text holds beyond the agent's frame, which the examples say better: project files, memory."""
    text = request.system.strip()
    if text.startswith(_FRAME):
        _, mark, rest = text.partition("\n\n# ")
        text = mark.strip() + " " + rest if mark else ""
    return f"Notes:\n{shortened(text)}\n" if text else ""


def _add(chat: Chat, role: str, content: str) -> None:
    if chat and chat[-1]["role"] == role:
        chat[-1] = {"role": role, "content": chat[-1]["content"] + "\n" + content}
    else:
        chat.append({"role": role, "content": content})


def _answers(messages: Sequence[Message], i: int) -> dict[str, FunctionResponsePart]:
    found: dict[str, FunctionResponsePart] = {}
    for message in messages[i + 1 :]:
        if message.role != "tool":
            break
        found.update({r.id: r for r in message.responses})
    return found


def step_text(name: str, args: JsonObject) -> str:
    return json.dumps({"tool": name, "args": args}, ensure_ascii=False)


def has_failed(response: FunctionResponsePart) -> bool:
    """The tool says so, or the command itself could not do its work. A refusal is no failure: nothing else would help.

    Nor are tests that ran and did not pass: that is what they were run for.
    """
    if _REFUSED.match(response.text) or (response.name == "shell" and _TESTED.search(response.text)):
        return False
    if response.name == "shell" and _MISUSED.search(response.text):
        return True
    return response.is_error or found_nothing(response)


def found_nothing(response: FunctionResponsePart) -> bool:
    """A search without a hit: more often a wrong word than the truth."""
    return response.name == "grep" and response.text.startswith("No match")


def ended_badly(response: FunctionResponsePart) -> bool:
    """What was run after a change does not work."""
    return response.name == "shell" and _BAD_EXIT.search(response.text) is not None


def completed(name: str, args: JsonObject) -> JsonObject:
    """The call as it is made: a search for a word in small letters finds it in capitals too."""
    pattern = args.get("pattern")
    if name == "grep" and isinstance(pattern, str) and pattern == pattern.lower():
        return {**args, "ignore_case": True}
    return args


def result_text(response: FunctionResponsePart, task: str, acted: bool = False) -> str:
    """A result with the task again, so that the model needs to look nowhere else. `acted`: files were changed before."""
    failed = has_failed(response) or (acted and ended_badly(response))
    head = "Error" if failed else "Result"
    again = task if len(task) <= REPEATED_CHARS else task[:REPEATED_CHARS] + "…"
    stop = "" if again.endswith((".", "!", "?", "…", "。")) else "."
    after = "Try another way." if failed else ENOUGH
    text = (unnumbered(response.text) if response.name == "read_file" else None) or response.text
    return f"{head}:\n{shortened(text)}\nRequest: {again}{stop} {after}"


def shortened(text: str, limit: int = RESULT_CHARS) -> str:
    """At most `limit` characters and a notice: the beginning, and the end where errors stand."""
    text = text.strip()
    if len(text) <= limit:
        return text or "(no output)"
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n… {len(text) - head - tail} characters left out …\n{text[-tail:]}"
