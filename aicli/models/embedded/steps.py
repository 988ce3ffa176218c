"""Leading a small model by steps: a request as few-shot dialogue and grammar, and the JSON it writes as events."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, JsonObject, TextPart
from aicli.content.request import ModelRequest, ToolSpec
from aicli.content.stream import CallDelta, StreamEvent, TextDelta, new_id
from aicli.models.embedded.contents import Seen, seen, unnumbered
from aicli.models.embedded.grammar import Grammar

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
MOST_OTHERS = 3
MOST_LISTED = 60
MOST_ENUMERATED = 150
RESULT_CHARS = 2_400
REPEATED_CHARS = 600
READ_ONLY = frozenset({"ls", "read_file", "grep", "glob", "read_many_files"})
_PREFACES = ("Files here:\n", "The folder is empty.")
_FRAME = "You are aicli,"
_MISUSED = re.compile(
    r"No such file or directory|command not found|: not found|Permission denied|missing operand|invalid option"
    r"|cannot |can't open"
)
_BAD_EXIT = re.compile(r"exit code [1-9]\d*")
MOST_EDITABLE = 4
MOST_FORCED = 3
REWRITE_LINES = 30
REWRITE_CHARS = 1_000
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


def listing(paths: Sequence[str]) -> str:
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
                _add(chat, "assistant", step_text(call.name, call.args))
                if call.id in answers:
                    _add(chat, "user", result_text(answers[call.id], task, acted))
                acted = acted or call.name in ("edit", "write_file")
            if message.text and not message.calls:
                _add(chat, "assistant", step_text(ANSWER, {"text": message.text}))
    return chat


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


def result_text(response: FunctionResponsePart, task: str, acted: bool = False) -> str:
    """A result with the task again, so that the model needs to look nowhere else. `acted`: files were changed before."""
    failed = has_failed(response) or (acted and _ended_badly(response))
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


def step_grammar(request: ModelRequest, *, after: str = "") -> str:
    """What may be said next: a call of one offered tool, or the answer, unless the last step failed.

    `after` names the tool whose call was just repeated: not that one again, and after a repeated look only the answer.
    """
    tools = () if after in READ_ONLY else tuple(t for t in offered(request) if t.name != after)
    grammar = Grammar()
    known = seen(request.messages)
    rewritable = any(t.name == "write_file" for t in tools)
    for tool in tools:
        if tool.name == "edit":
            for path, text in list(known.texts.items())[-MOST_EDITABLE:]:
                if not (rewritable and text is not None and _small(text)):
                    grammar.edit(path, text)
        else:
            grammar.step(tool.name, _arguments(tool, request, known, grammar))
    if not tools or (request.tool_choice in ("auto", "none") and (after or may_answer(request))):
        rule = grammar.schema(request.output_schema) if request.output_schema is not None else "string"
        grammar.step(ANSWER, [("text", rule, True)])
    return grammar.text()


def _small(text: str) -> bool:
    """Short enough to be written anew as a whole, which a small model gets right more often than an edit."""
    return len(text) <= REWRITE_CHARS and text.count("\n") < REWRITE_LINES


def may_answer(request: ModelRequest) -> bool:
    """Not before any look at files that the task names, nor right after a failure, three in a row at most."""
    task = request.messages[task_of(request.messages) :]
    if named_files(request) and not any(m.calls for m in request.messages):
        return False
    failed = 0
    for i in range(len(task) - 1, -1, -1):
        if task[i].role == "tool":
            acted = any(c.name in ("edit", "write_file") for m in task[:i] for c in m.calls)
            if not any(has_failed(r) or (acted and _ended_badly(r)) for r in task[i].responses):
                break
            failed += 1
    return not 0 < failed <= MOST_FORCED


def has_failed(response: FunctionResponsePart) -> bool:
    """The tool says so, or the command itself could not do its work."""
    return response.is_error or (response.name == "shell" and _MISUSED.search(response.text) is not None)


def _ended_badly(response: FunctionResponsePart) -> bool:
    """What was run after a change does not work."""
    return response.name == "shell" and _BAD_EXIT.search(response.text) is not None


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
    """The step that has to come first: what is there under that name, and what the task names, is read before writing."""
    if name != "write_file" or not any(t.name == "read_file" for t in offered(request)):
        return None
    for path in (str(args.get("path", "")).removeprefix("./"), *named_files(request)):
        if path in request.paths and not _looked_at(request, path):
            return "read_file", {"path": path}
    return None


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
    if name in ("edit", "write_file"):
        return any((c.name, c.args) == (name, args) for c in calls)
    for call in reversed(calls):
        if (call.name, call.args) == (name, args):
            return True
        if call.name not in READ_ONLY:
            return False
    return False


_OPENING = re.compile(r'\s*\{\s*"tool"\s*:\s*"answer"\s*,\s*"args"\s*:\s*\{\s*"text"\s*:\s*"')
_NAME = re.compile(r'\s*\{\s*"tool"\s*:\s*"(\w+)"')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@dataclass(slots=True)
class StepReader:
    """Reads one step as it comes. An answer's text and a call's name are given out at once, its arguments when whole."""

    text: str = ""
    answering: bool = False
    _id: str = ""
    _at: int = 0
    _ended: bool = False

    def feed(self, piece: str) -> list[StreamEvent]:
        self.text += piece
        if not self.answering:
            opening = _OPENING.match(self.text)
            if opening is None:
                return self._named()
            self.answering, self._at = True, opening.end()
        out = self._string()
        return [TextDelta(out)] if out else []

    def _named(self) -> list[StreamEvent]:
        named = None if self._id else _NAME.match(self.text)
        if named is None or named[1] == ANSWER:
            return []
        self._id = new_id()
        return [CallDelta(0, id=self._id, name=named[1])]

    def _string(self) -> str:
        """The characters of the answer's string that are whole by now."""
        out: list[str] = []
        s, i = self.text, self._at
        while i < len(s) and not self._ended:
            if s[i] == '"':
                self._ended = True
            elif s[i] != "\\":
                out.append(s[i])
                i += 1
            else:
                char, i_next = _escape(s, i)
                if i_next == i:
                    break
                out.append(char)
                i = i_next
        self._at = i
        return "".join(out)

    def call(self) -> tuple[str, JsonObject] | None:
        """The whole call, or None: an answer, or cut short."""
        step = self.value()
        if step is None or step.get("tool") == ANSWER:
            return None
        args = step.get("args")
        return str(step.get("tool", "")), args if isinstance(args, dict) else {}

    def replace(self, name: str, args: JsonObject) -> None:
        """Another call in place of the one that was read."""
        self.text, self._id = step_text(name, args), ""

    def value(self) -> dict[str, Any] | None:
        try:
            step = json.loads(self.text)
        except ValueError:
            return None
        return step if isinstance(step, dict) else None

    def close(self) -> list[StreamEvent]:
        """What is left once the reply ended: the call's arguments, or a structured answer."""
        if self.answering:
            return []
        call = self.call()
        if call is not None and not self._id:
            return [CallDelta(0, id=new_id(), name=call[0], args=call[1])]
        if self._id:
            return [CallDelta(0, args=call[1])] if call is not None else [CallDelta(0, args={}, raw=self.text)]
        step = self.value()
        if step is None:
            return [TextDelta(self.text)] if self.text.strip() else []
        text = step.get("args", {}).get("text", "")
        return [TextDelta(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False))]


def _escape(s: str, i: int) -> tuple[str, int]:
    """The character that the escape at `i` stands for, and where it ends; (…, i) while it isn't whole."""
    if i + 1 >= len(s):
        return "", i
    if s[i + 1] != "u":
        return _ESCAPES.get(s[i + 1], s[i + 1]), i + 2
    unit = s[i + 2 : i + 6]
    if len(unit) < 4:
        return "", i
    code = int(unit, 16)
    if not 0xD800 <= code < 0xE000:
        return chr(code), i + 6
    low = s[i + 6 : i + 12]
    if code >= 0xDC00 or (len(low) >= 2 and low[:2] != "\\u"):
        return "�", i + 6
    if len(low) < 6:
        return "", i
    second = int(low[2:], 16)
    if not 0xDC00 <= second < 0xE000:
        return "�", i + 6
    return chr(0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00)), i + 12
