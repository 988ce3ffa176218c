"""For tests of your own: one tool call exactly as the program would make it, and a model that says what it is told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aicli.content.events import AgentEvent, ToolFinished
from aicli.content.parts import FunctionCallPart
from aicli.late import dataclass
from aicli.models.scripted import ScriptedModel
from aicli.runtime import RunOptions, build, load
from aicli.tools.host import Approval, ApprovalRequest, Question

__all__ = ["Outcome", "ScriptedModel", "call_tool"]

Answer = bool | str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model would get (`text`, `is_error`), whether a person was asked, and what was asked, in order."""

    text: str
    is_error: bool
    asked: bool
    questions: tuple[str, ...] = ()


class ScriptedHost:
    """Somebody who answers each question from a list, and no when the list is used up.

    True, "yes" and "once" allow a call; "session" and "always" for longer; anything else refuses it. A question of the
    model is answered with the text itself.
    """

    def __init__(self, answers: Sequence[Answer] = ()) -> None:
        self._answers = list(answers)
        self.questions: list[str] = []

    @property
    def present(self) -> bool:
        return True

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.questions.append(f"{request.title}: {request.why}")
        answer = self._answers.pop(0) if self._answers else False
        if answer is True or answer in ("yes", "y", "once"):
            return Approval("once")
        if answer == "session":
            return Approval("session")
        if answer == "always":
            return Approval("always")
        return Approval("deny", reason="the person said no")

    async def ask(self, question: Question) -> str | None:
        self.questions.append(question.text)
        answer = self._answers.pop(0) if self._answers else None
        return answer if isinstance(answer, str) else None


def call_tool(
    name: str,
    args: Mapping[str, Any],
    cwd: str | Path,
    mode: str = "default",
    answers: Sequence[Answer] = (),
) -> Outcome:
    """Makes one call in a run of its own in `cwd`: same settings, policy, sandbox and executor as the program.

    Every question is answered no unless `answers` says otherwise. `mode` is a permission mode in any spelling. HOME,
    PATH and proxy variables are read now. Blocks until the call has ended, also where an event loop is running.
    Raises AicliError when the settings, the mode or a required sandbox do not allow a run at all.
    """
    result: list[Outcome | BaseException] = []

    def work() -> None:
        try:
            result.append(asyncio.run(_call(name, dict(args), Path(cwd), mode, answers)))
        except BaseException as e:  # handed to the caller's thread
            result.append(e)

    thread = threading.Thread(target=work, name="call_tool")
    thread.start()
    thread.join()
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]


async def _call(name: str, args: dict[str, Any], cwd: Path, mode: str, answers: Sequence[Answer]) -> Outcome:
    host = ScriptedHost(answers)
    options = RunOptions(cwd=cwd, model="lmstudio:none", tools=("*",), ephemeral=True)
    session = await build(load({"permissions.mode": mode}, options), host, options)
    events: list[AgentEvent] = []
    try:
        call = FunctionCallPart(id="call_1", name=name, args=args)
        answer = (await session.agent.executor.execute_all([call], events.append))[0]
    finally:
        await session.close()
    finished = [e.result.text for e in events if isinstance(e, ToolFinished)]
    text = session.redact(finished[-1] if finished else answer.text)
    return Outcome(text, answer.is_error, bool(host.questions), tuple(host.questions))
