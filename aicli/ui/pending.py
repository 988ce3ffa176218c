"""One request that waits for a yes, and its text made visible: nothing hides in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import field

from aicli.clean import spelled
from aicli.content.parts import JsonObject
from aicli.content.results import CommandDisplay, DiffDisplay, TextDisplay
from aicli.late import dataclass
from aicli.tools.host import Approval, ApprovalRequest
from aicli.ui.cells import Line, hard_wrap
from aicli.ui.display import diff_lines, short_path
from aicli.ui.hunks import Hunk, hunks_of
from aicli.ui.words import Words

_BLANKS = re.compile(r"[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000\u3164]{9,}")


@dataclass
class Pending:
    """One request and who waits for its answer."""

    request: ApprovalRequest
    answer: Callable[[Approval], None]
    shown: bool = False
    hunk_name: str = ""
    hunks: list[Hunk] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hunk_name, self.hunks = hunks_of(self.args, self.request.preview)

    @property
    def args(self) -> JsonObject:
        """What would run: every argument by the tool's own name."""
        return self.request.call.args

    @property
    def command(self) -> str | None:
        return command_of(self.request)

    @property
    def editable(self) -> str:
        """The argument that `e` opens: the command, else the longest text of several lines, else ""."""
        if self.command is not None:
            return "command"
        if self.hunk_name:
            return self.hunk_name
        texts = [(len(v), k) for k, v in self.args.items() if isinstance(v, str)]
        return max(texts)[1] if texts else ""


def command_of(request: ApprovalRequest) -> str | None:
    """The line that a tool which runs something would run; None for every other tool, whatever its arguments say."""
    value = request.call.args.get("command") if request.kind == "execute" else None
    return value if isinstance(value, str) else None


def _settings(request: ApprovalRequest) -> JsonObject:
    """The arguments beside a command that `settings` has words for."""
    args = request.call.args if request.call.name == "shell" and command_of(request) is not None else {}
    kinds: dict[str, type | tuple[type, ...]] = {
        "cwd": str,
        "network": bool,
        "background": bool,
        "timeout": (int, float),
    }
    return {name: args[name] for name, kind in kinds.items() if isinstance(args.get(name), kind)}


def settings(request: ApprovalRequest, words: Words, path: str = "") -> list[str]:
    """How and where a command would run, beside its text: the folder first, as `path` or whole. [] for other tools."""
    if request.kind != "execute":
        return []
    given = _settings(request)
    said = [words("approval.cwd", cwd=path or visible(short_path(request.cwd)))] if request.cwd else []
    said.append(words("approval.network_on" if request.network else "approval.network_off"))
    if request.sandbox and request.sandbox != "full":
        said.append(words("approval.sandbox", state=words.said(request.sandbox)))
    if given.get("background"):
        said.append(words("approval.background"))
    if "timeout" in given:
        said.append(words("approval.timeout", seconds=f"{given['timeout']:.10g}"))
    return said


def what_runs(request: ApprovalRequest, columns: int) -> list[Line]:
    """The command or the change, and each argument that neither of them nor `settings` tells; nothing is cut."""
    command, preview, args = command_of(request), request.preview, dict(request.call.args)
    if command is not None:
        del args["command"]
        rest = {name: value for name, value in args.items() if name not in _settings(request)}
        return [*text_lines(command, columns), *_listed(rest, columns)]
    if isinstance(preview, DiffDisplay) and (lines := diff_lines(preview.diff, columns, " ")):
        return lines
    shown: list[Line] = []
    if isinstance(preview, TextDisplay) and preview.text:
        shown = text_lines(preview.text, columns)
    if isinstance(preview, CommandDisplay):
        shown = text_lines(preview.command, columns)
    return [*shown, *_listed(args, columns)] or text_lines(request.title, columns)


def _listed(args: JsonObject, columns: int) -> list[Line]:
    """One line for each argument; further lines of its value stand deeper, so that none looks like another argument."""
    lines: list[Line] = []
    for name, value in args.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines += text_lines(f"{spelled(name)}: {text}".replace("\n", "\n    "), columns)
    return lines


def visible(text: str) -> str:
    """Made safe; long runs of blanks as a count, so that nothing hides behind them."""
    return _BLANKS.sub(lambda m: f"⟨{len(m[0])} blanks⟩", spelled(text.expandtabs(4)))


def text_lines(text: str, columns: int) -> list[Line]:
    return [((" " * 2, ""), *part) for row in text.split("\n") for part in hard_wrap(visible(row), max(8, columns - 2))]
