"""What a person is shown before a rule is kept."""

from __future__ import annotations

import asyncio

from aicli.content.kinds import ToolKind
from aicli.content.parts import FunctionCallPart
from aicli.safety.policy import Policy
from aicli.tools.base import tool
from aicli.tools.executor import LocalExecutor
from aicli.tools.host import Approval, ApprovalRequest, Question


class Once:
    present = True

    def __init__(self) -> None:
        self.requests: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.requests.append(request)
        return Approval("once")

    async def ask(self, question: Question) -> str | None:
        return None


@tool(kind=ToolKind.EXECUTE, title="$ {command}")
def shell(command: str) -> str:
    """Runs nothing."""
    return command


def test_a_rule_is_previewed_against_the_calls_of_the_session() -> None:
    host = Once()
    executor = LocalExecutor([shell], policy=Policy(sandbox_status="full"), host=host)
    lines = ["npm test one", "make dist", "npm test two"]
    calls = [FunctionCallPart(id=str(n), name="shell", args={"command": line}) for n, line in enumerate(lines)]
    asyncio.run(executor.execute_all(calls, lambda event: None))
    first, second, third = host.requests
    assert first.covers == () and second.covers == ()
    assert third.rule.startswith("shell(npm test") and third.covers == ("$ npm test one",)
