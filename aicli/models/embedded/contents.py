"""What the model has seen of each file in this conversation: read, then followed through its own writes and edits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, FunctionResponsePart
from aicli.late import dataclass

MOST_LINES = 300
_SHOWS = re.compile(r"\s*(python3?|cat|wc|head|tail|grep|ls|pytest|node|sh|bash) [^>|&;]*$")
_NUMBERED = re.compile(r"^\s*(\d+)(?:\t|: |\||→)(.*)$")


@dataclass
class Seen:
    """`texts` by path; None for a file of which only a part is known. `stale`: a command ran since, so look again."""

    texts: dict[str, str | None] = field(default_factory=dict)
    stale: set[str] = field(default_factory=set)

    def fresh(self, path: str) -> bool:
        return self.texts.get(path) is not None and path not in self.stale


def seen(messages: Sequence[Message]) -> Seen:
    """The files as the conversation shows them."""
    answers = {r.id: r for m in messages for r in m.responses}
    found = Seen()
    for message in messages:
        for call in message.calls:
            answer = answers.get(call.id)
            if call.name == "shell":
                command = str(call.args.get("command", ""))
                found.stale.update(p for p in found.texts if may_change(command, p))
            elif answer is not None and not answer.is_error:
                _follow(found, call, answer)
    return found


def may_change(command: str, path: str) -> bool:
    """Might the command have changed the file? Running or showing it does not."""
    return (path in command or "*" in command) and not _SHOWS.match(command)


def _follow(seen: Seen, call: FunctionCallPart, answer: FunctionResponsePart) -> None:
    path = call.args.get("path")
    if not isinstance(path, str):
        return
    path = path.removeprefix("./")
    found = seen.texts
    if call.name in ("read_file", "write_file"):
        seen.stale.discard(path)
    if call.name == "read_file":
        found[path] = unnumbered(answer.text)
    elif call.name == "write_file":
        text = call.args.get("content")
        found[path] = text if isinstance(text, str) else None
    elif call.name == "edit" and path in found:
        found[path] = _edited(found[path], call.args)


def _edited(text: str | None, args: Mapping[str, object]) -> str | None:
    old, new = args.get("old_string"), args.get("new_string")
    if text is None or not isinstance(old, str) or not isinstance(new, str) or not old or old not in text:
        return None
    return text.replace(old, new, -1 if args.get("replace_all") else 1)


def unnumbered(result: str) -> str | None:
    """The file's text out of a numbered reading that begins at line 1; None where it isn't whole."""
    lines: list[str] = []
    for line in result.splitlines():
        numbered = _NUMBERED.match(line)
        if numbered is None:
            if line.strip() and lines:
                return None  # a notice: there is more
            continue
        if int(numbered[1]) != len(lines) + 1 or len(lines) >= MOST_LINES:
            return None
        lines.append(numbered[2])
    return "\n".join(lines) if lines else None
