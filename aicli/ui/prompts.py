"""TerminalHost: the person at the terminal as a Host; approvals and questions become panels, decisions one settled line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aicli.clean import sanitise, spelled
from aicli.content.results import DiffDisplay
from aicli.tools.host import Approval, ApprovalRequest, Question
from aicli.ui.approvals import ApprovalPanel
from aicli.ui.calls import split_title
from aicli.ui.cells import Line, sides, wrap
from aicli.ui.external import edit_text
from aicli.ui.pending import Pending, command_of
from aicli.ui.questions import LetterPanel, QuestionPanel
from aicli.ui.stage import Stage
from aicli.ui.theme import ASKS, BOLD, DIM, DONE, STOPPED, STYLE_OF


class TerminalHost:
    """`stage` may be given later (`bind`): until then nobody is there. `on_stop` is told when the person stops the turn."""

    def __init__(self, stage: Stage | None = None) -> None:
        self._stage = stage
        self._approvals: ApprovalPanel | None = None
        self.on_stop: Callable[[], None] = lambda: None

    together = True  # several calls that wait are one list

    def bind(self, stage: Stage) -> None:
        self._stage = stage

    @property
    def present(self) -> bool:
        return True

    @property
    def stage(self) -> Stage:
        if self._stage is None:
            raise RuntimeError("the terminal is not open yet")
        return self._stage

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Blocks until the person decided. Cancelling takes the question away."""
        stage = self.stage
        future: asyncio.Future[Approval] = asyncio.get_running_loop().create_future()

        def answer(approval: Approval) -> None:
            if not future.done():
                future.set_result(approval)

        pending = Pending(request, answer)
        panel = self._approvals
        if panel is None or not panel.pending:
            panel = self._approvals = ApprovalPanel(stage.words, stage.last_key, self._edit)
        panel.add(pending)
        stage.transcript.waiting(request.call.id, True, stage.now)
        stage.ask(panel)
        try:
            approval = await future
        finally:
            panel.remove(pending)
            stage.transcript.waiting(request.call.id, False, stage.now)
            if not panel.pending:
                stage.answered(panel)
        if approval.decision in ("deny", "stop"):
            stage.transcript.refused(request.call.id)
        stage.print([self._settled(request, approval)])
        return approval

    def _settled(self, request: ApprovalRequest, approval: Approval) -> Line:
        words = self.stage.words
        mark = STOPPED if approval.decision in ("deny", "stop") else DONE
        verb, subject = split_title(request.call.name, words.title(request.title))
        ran = command_of(request) is not None and (approval.args or {}).get("command")
        if ran:
            subject = spelled(str(ran))
        elif isinstance(request.preview, DiffDisplay) and approval.args is None:
            subject += f" +{request.preview.added} −{request.preview.removed}"
        done = words(f"approval.done_{approval.decision}")
        if approval.args is not None:
            done += words("approval.and_changed")
        if approval.decision in ("session", "always"):
            verb, subject = approval.rule, ""
        if approval.reason and approval.decision == "deny":
            subject += ": " + words.exactly(approval.reason)
        text = sanitise(f"{verb} {subject}".rstrip(), keep_newlines=False)
        left: Line = ((f"{mark} ", STYLE_OF[mark]), (f"{done}  ", ""), (text, DIM))
        return sides(left, (), self.stage.screen.width)

    def _edit(self, text: str, done: Callable[[str | None], None]) -> None:
        done(edit_text(self.stage, text))

    async def ask(self, question: Question) -> str | None:
        """Blocks until the person answered; None when there is no answer."""
        stage = self.stage
        future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        def answer(text: str | None) -> None:
            if not future.done():
                future.set_result(text)

        panel = QuestionPanel(stage.words, question, answer, stage.last_key)
        stage.transcript.asked_here = True
        stage.ask(panel)
        try:
            said = await future
        finally:
            stage.answered(panel)
        words = stage.words
        text = words("question.unanswered") if said is None else words("question.answered", text=said)
        head = sanitise(question.text, keep_newlines=False)
        stage.print(wrap(((head, DIM),), stage.screen.width, first=((f"{ASKS} ", DIM),), rest=(("  ", ""),)))
        stage.transcript.say_dim(text)
        return said

    async def pick(self, head: list[Line], choices: list[tuple[str, str]], *, wanted: bool = False) -> str:
        """One of the letters, or "" for Esc. Blocks until a letter stood alone.

        `wanted`: the person has just asked for it, so it is there at once, however short ago the last key was.
        """
        stage = self.stage
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def answer(letter: str) -> None:
            if not future.done():
                future.set_result(letter)

        panel = LetterPanel(stage.words, head, choices, answer, -1.0 if wanted else stage.last_key)
        stage.ask(panel)
        try:
            return await future
        finally:
            stage.answered(panel)


def asked(text: str) -> Line:
    return ((f"{ASKS} ", STYLE_OF[ASKS]), (text, BOLD))
