"""Host: whoever can be asked. A terminal, a test or nobody implements it; facts go by events instead."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, Protocol

from aicli.content.parts import FunctionCallPart, JsonObject
from aicli.content.results import Display
from aicli.late import dataclass


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One call that waits for a yes. `rule` is what "session" or "always" would allow from then on, "" if nothing may be.

    `call` carries the tool's own name and the validated arguments by the tool's own names, never the model's spelling:
    exactly they would run. `parts` are the simple commands of a shell line, for showing; `cwd` and `sandbox` say where
    and how it would run; `covers` are the titles of calls asked about earlier in this session that the rule
    would have let pass.
    """

    call: FunctionCallPart
    title: str
    kind: str
    why: str
    rule: str = ""
    preview: Display | None = None
    cwd: str = ""
    sandbox: str = ""
    network: bool = False
    parts: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Approval:
    """The answer. `reason` goes to the model on a no; stop refuses and ends the turn.

    `args` are all arguments of the call in place of those asked about, by the tool's own names: they are validated and
    judged anew, and exactly they run.
    """

    decision: Literal["once", "session", "always", "deny", "stop"]
    reason: str = ""
    args: JsonObject | None = None
    scope: Literal["user", "project"] = "user"
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What the model asks of the person; free text is always possible unless `only_choices`."""

    text: str
    choices: tuple[str, ...] = ()
    only_choices: bool = False


class Host(Protocol):
    """Whoever can be asked. Implement these three; nothing needs to be inherited.

    One with an attribute `together = True` may be asked about several calls at the same time.
    """

    @property
    def present(self) -> bool:
        """Is there somebody who can answer?"""
        ...

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Blocks until decided; may be cancelled."""
        ...

    async def ask(self, question: Question) -> str | None:
        """The answer, or None when nobody gave one."""
        ...


@dataclass
class HeadlessHost:
    """Nobody is there: every question is answered no, and kept."""

    asked: list[ApprovalRequest | Question] = field(default_factory=list)

    @property
    def present(self) -> bool:
        return False

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        return Approval("deny", reason="nobody is there to approve it")

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        return None
