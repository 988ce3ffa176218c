"""What of a task was refused or failed and stays undone, in sentences with which a small model's answer has to begin."""

from __future__ import annotations

from aicli.content.parts import FunctionCallPart, FunctionResponsePart
from aicli.content.request import ModelRequest
from aicli.late import regex
from aicli.models.embedded.steps import READ_ONLY, WRITES, has_failed, task_of, task_text

MOST_SAID = 160
_REFUSED = regex(r"(?i)(not permitted|refused by|cancelled|stopped|not run)\b")
_WIDE = regex(r"[\u4e00-\u9fff]")
_SAYS = {
    "write_file": ("{} was not written: {}", "{} 没有写入：{}"),
    "edit": ("{} was not changed: {}", "{} 没有改动：{}"),
    "shell": ("`{}` was not run: {}", "`{}` 没有运行：{}"),
    "": ("{} was not done: {}", "{} 没有执行：{}"),
}


def undone(request: ModelRequest) -> tuple[list[str], bool]:
    """A sentence for each call of the task that was refused, or write that failed, and was not made good later.

    With it: was anything but a look done? Where nothing was, there is nothing else to tell.
    """
    task = request.messages[task_of(request.messages) :]
    wide = bool(task) and _WIDE.search(task_text(task[0])) is not None
    calls = {c.id: c for m in task for c in m.calls}
    left: dict[str, str] = {}
    done = False
    for response in (r for m in task for r in m.responses):
        call = calls.get(response.id)
        if call is None or call.name in READ_ONLY:
            continue
        about = str(call.args.get("path" if call.name in WRITES else "command", "")).strip() or call.name
        refused = _REFUSED.match(response.text) is not None
        if refused or (call.name in WRITES and (response.is_error or has_failed(response))):
            left[about] = _sentence(call, about, response, wide)
        elif not has_failed(response):
            done = True
            left = {k: v for k, v in left.items() if k != about and not _makes_good(call, k)}
    return list(left.values()), done


def _makes_good(call: FunctionCallPart, about: str) -> bool:
    """Has a command done what the refused call was for? It names the same file."""
    return call.name == "shell" and about in str(call.args.get("command", ""))


def _sentence(call: FunctionCallPart, about: str, response: FunctionResponsePart, wide: bool) -> str:
    text = " ".join(response.text.split())
    why = _cut(text).rstrip(".")
    form = _SAYS.get(call.name, _SAYS[""])[wide]
    return form.format(_cut(about.splitlines()[0]), why) + ("。" if wide else ".")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SAID else text[: MOST_SAID - 1] + "…"
