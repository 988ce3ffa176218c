"""What a person is shown before a rule is kept."""

from __future__ import annotations

import asyncio

from aicli.content.kinds import ToolKind
from aicli.content.parts import FunctionCallPart
from aicli.safety.policy import Policy
from aicli.tools.base import tool
from aicli.tools.executor import LocalExecutor
from aicli.tools.host import Approval, ApprovalRequest, Question
from tests.support.hosts import SaysYes


@tool(kind=ToolKind.EXECUTE, title="$ {command}")
def shell(command: str) -> str:
    """Runs nothing."""
    return command


def test_a_rule_is_previewed_against_the_calls_of_the_session() -> None:
    host = SaysYes()
    executor = LocalExecutor([shell], policy=Policy(sandbox_status="full"), host=host)
    lines = ["npm test one", "make dist", "npm test two"]
    calls = [FunctionCallPart(id=str(n), name="shell", args={"command": line}) for n, line in enumerate(lines)]
    asyncio.run(executor.execute_all(calls, lambda event: None))
    first, second, third = host.requests
    assert first.covers == () and second.covers == ()
    assert third.rule.startswith("shell(npm test") and third.covers == ("$ npm test one",)


@tool(kind=ToolKind.FETCH, title="Fetch {url}")
async def web_fetch(url: str) -> str:
    """Fetches nothing."""
    return url


class List:
    """Waits until so many calls were asked about, then gives a rule for the first and nothing for the others."""

    present, together = True, True

    def __init__(self, many: int) -> None:
        self.requests: list[ApprovalRequest] = []
        self.taken_away = 0
        self._all = asyncio.Event()
        self._many = many

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.requests.append(request)
        if len(self.requests) == self._many:
            self._all.set()
        await self._all.wait()
        if request is self.requests[0]:
            return Approval("session", rule=request.rule)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.taken_away += 1
            raise
        raise AssertionError

    async def ask(self, question: Question) -> str | None:
        return None


def test_calls_that_may_run_together_are_asked_about_together_and_a_rule_answers_for_those_it_covers() -> None:
    host = List(2)
    executor = LocalExecutor([web_fetch], policy=Policy(sandbox_status="full"), host=host)
    calls = [FunctionCallPart(id=str(n), name="web_fetch", args={"url": f"https://example.org/{n}"}) for n in range(2)]
    answers = asyncio.run(asyncio.wait_for(executor.execute_all(calls, lambda event: None), 20))
    assert [answer.content[0].text for answer in answers] == ["https://example.org/0", "https://example.org/1"]  # type: ignore[union-attr]
    assert len(host.requests) == 2 and host.taken_away == 1


def test_a_host_that_shows_one_at_a_time_is_asked_one_at_a_time() -> None:
    host = SaysYes()
    busy = 0

    async def approve(request: ApprovalRequest) -> Approval:
        nonlocal busy
        busy += 1
        assert busy == 1
        await asyncio.sleep(0)
        busy -= 1
        return Approval("once")

    host.approve = approve  # type: ignore[method-assign]
    executor = LocalExecutor([web_fetch], policy=Policy(sandbox_status="full"), host=host)
    calls = [FunctionCallPart(id=str(n), name="web_fetch", args={"url": f"https://example.org/{n}"}) for n in range(3)]
    assert len(asyncio.run(executor.execute_all(calls, lambda event: None))) == 3
