"""People who answer an agent's questions, for tests."""

from __future__ import annotations

from aicli.tools.host import Approval, ApprovalRequest, Question


class SaysYes:
    """Allows each call once, and keeps what was asked."""

    present = True

    def __init__(self) -> None:
        self.requests: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.requests.append(request)
        return Approval("once")

    async def ask(self, question: Question) -> str | None:
        return None
