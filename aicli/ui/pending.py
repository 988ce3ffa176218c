"""One request that waits for a yes, and its text made visible: nothing hides in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field

from aicli.clean import spelled
from aicli.late import dataclass
from aicli.tools.host import Approval, ApprovalRequest
from aicli.ui.cells import Line, hard_wrap
from aicli.ui.hunks import Hunk, hunks_of

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
        self.hunk_name, self.hunks = hunks_of(self.request.call.args, self.request.preview)

    @property
    def command(self) -> str | None:
        value = self.request.call.args.get("command")
        return value if isinstance(value, str) else None

    @property
    def editable(self) -> str:
        """The argument that `e` opens: the command, else the longest text of several lines, else ""."""
        if self.command is not None:
            return "command"
        if self.hunk_name:
            return self.hunk_name
        texts = [(len(v), k) for k, v in self.request.call.args.items() if isinstance(v, str)]
        return max(texts)[1] if texts else ""


def visible(text: str) -> str:
    """Made safe; long runs of blanks as a count, so that nothing hides behind them."""
    return _BLANKS.sub(lambda m: f"⟨{len(m[0])} blanks⟩", spelled(text.expandtabs(4)))


def text_lines(text: str, columns: int) -> list[Line]:
    return [((" " * 2, ""), *part) for row in text.split("\n") for part in hard_wrap(visible(row), max(8, columns - 2))]
