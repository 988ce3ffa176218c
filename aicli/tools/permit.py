"""Permit: policy first, then the person if the verdict is ask; the answer becomes an event."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from aicli.content.events import AgentEvent, Approved, Denied
from aicli.content.kinds import ToolKind, Verdict
from aicli.content.parts import FunctionCallPart, JsonObject
from aicli.content.results import Display
from aicli.safety.shell_rules import parts
from aicli.tools.base import Tool, ToolContext, ToolFailed
from aicli.tools.host import Approval, ApprovalRequest, Host
from aicli.tools.state import RunState

if TYPE_CHECKING:
    from pydantic import BaseModel

    from aicli.tools.validate import Params


class Policy(Protocol):
    """The part of safety.policy.Policy that running calls needs. `untrusted`: text from outside was read."""

    untrusted: bool

    def verdict(self, name: str, kind: ToolKind, args: JsonObject) -> Verdict: ...
    def suggest(self, name: str, kind: ToolKind, args: JsonObject) -> str: ...
    def allow_for_session(self, rule: str) -> None: ...
    def covers(self, rule: str, name: str, kind: ToolKind, args: JsonObject) -> bool: ...


class Refused(Exception):
    """The call may not run; the text goes to the model."""


class StopTurn(Exception):
    """The person refused and wants the turn to end."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Permit:
    """`save_rule(rule, scope)` keeps an "always" answer; set by the composition root.

    A host that says `together = True` is asked about calls that may run together at the same time, others one by one.
    """

    def __init__(self, policy: Policy | None, host: Host, state: RunState) -> None:
        self.policy, self.host, self.state = policy, host, state
        self.save_rule: Callable[[str, str], None] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._asked: list[tuple[str, ToolKind, JsonObject, str]] = []
        self._open: dict[asyncio.Future[Approval], Callable[[], bool]] = {}
        self._covered_now: set[asyncio.Future[Approval]] = set()

    async def ask(
        self,
        tool: Tool,
        call: FunctionCallPart,
        params: BaseModel | Params,
        kind: ToolKind,
        emit: Callable[[AgentEvent], None],
    ) -> JsonObject | None:
        """None, or the arguments as the person changed them. Raises Refused or StopTurn. Blocks while a person thinks."""
        if self.policy is None:
            return None
        args = params.model_dump(mode="json", exclude_unset=True)
        self.policy.untrusted = self.policy.untrusted or self.state.untrusted
        verdict = self.policy.verdict(tool.name, kind, args)
        if verdict.decision == "allow":
            return None
        if verdict.decision == "deny":
            emit(Denied(call_id=call.id, name=tool.name, args=call.args, by="policy", why=verdict.why))
            raise Refused(f"not permitted: {verdict.why}")
        if not self.host.present:
            await self.host.approve(self._request(tool, call, params, kind, verdict))
            why = f"{verdict.why}; nobody is there to approve it" if verdict.why else "nobody is there to approve it"
            emit(Denied(call_id=call.id, name=tool.name, args=call.args, by="headless", why=why))
            raise Refused(f"not permitted: {why}")
        together = getattr(self.host, "together", False)
        async with contextlib.nullcontext() if together else self._one_at_a_time:
            again = self.policy.verdict(tool.name, kind, args)  # an answer just given may cover this one too
            if again.decision == "allow":
                return None
            return await self._person(tool, call, params, kind, verdict, emit)

    async def _person(
        self,
        tool: Tool,
        call: FunctionCallPart,
        params: BaseModel | Params,
        kind: ToolKind,
        verdict: Verdict,
        emit: Callable[[AgentEvent], None],
    ) -> JsonObject | None:
        policy = self.policy
        assert policy is not None
        given = params.model_dump(mode="json", exclude_unset=True)
        request = self._request(tool, call, params, kind, verdict)
        answer = await self._answer(request, lambda: policy.verdict(tool.name, kind, given).decision == "allow")
        if answer is None:
            return None
        if answer.decision in ("deny", "stop"):
            why = answer.reason or "the person said no"
            emit(Denied(call_id=call.id, name=tool.name, args=call.args, by="person", why=why))
            if answer.decision == "stop":
                raise StopTurn(f"refused by the person, who stopped the turn: {why}")
            raise Refused(f"refused by the person: {why}")
        rule = answer.rule or policy.suggest(tool.name, kind, given)
        if answer.decision in ("session", "always") and rule:
            policy.allow_for_session(rule)
            if answer.decision == "always" and self.save_rule:
                self.save_rule(rule, answer.scope)
            self._settle_covered()
        emit(Approved(call_id=call.id, by="person", why=verdict.why, scope=answer.decision, rule=rule))
        if answer.args is None:
            return None
        changed = policy.verdict(tool.name, kind, answer.args)
        if changed.decision == "deny":
            emit(Denied(call_id=call.id, name=tool.name, args=answer.args, by="policy", why=changed.why))
            raise Refused(f"not permitted: {changed.why}")
        return answer.args

    async def _answer(self, request: ApprovalRequest, covered: Callable[[], bool]) -> Approval | None:
        """The person's answer; None once a rule given for another call covers this one too."""
        asking = asyncio.ensure_future(self.host.approve(request))
        self._open[asking] = covered
        try:
            return await asking
        except asyncio.CancelledError:
            if asking in self._covered_now:
                return None
            raise
        finally:
            del self._open[asking]
            self._covered_now.discard(asking)

    def _settle_covered(self) -> None:
        for asking, covered in self._open.items():
            if not asking.done() and covered():
                self._covered_now.add(asking)
                asking.cancel()

    def _request(
        self, tool: Tool, call: FunctionCallPart, params: BaseModel | Params, kind: ToolKind, verdict: Verdict
    ) -> ApprovalRequest:
        assert self.policy is not None
        args = params.model_dump(mode="json", exclude_unset=True)
        state, title = self.state, tool.title_of(args)
        status = state.sandbox.status if state.sandbox else "off"
        rule = self.policy.suggest(tool.name, kind, args)
        request = ApprovalRequest(
            call=call,
            title=title,
            kind=kind.value,
            why=verdict.why,
            rule=rule,
            preview=self._preview(tool, call, params),
            cwd=str(state.workspace.root) if state.workspace else "",
            sandbox=status,
            network=args.get("network") is True or status in ("off", "none"),
            parts=tuple(p.text for p in parts(str(args.get("command", "")))) if kind is ToolKind.EXECUTE else (),
            covers=self._covered(rule),
        )
        self._asked.append((tool.name, kind, args, title))
        return request

    def _covered(self, rule: str) -> tuple[str, ...]:
        """The preview of a rule: which of the calls asked about so far it would have let pass."""
        policy = self.policy
        if not rule or policy is None:
            return ()
        return tuple(title for name, kind, args, title in self._asked if policy.covers(rule, name, kind, args))

    def _preview(self, tool: Tool, call: FunctionCallPart, params: Any) -> Display | None:
        if tool.preview is None:
            return None
        try:
            return tool.preview(ToolContext(state=self.state, host=self.host, call_id=call.id), params)
        except (ToolFailed, OSError, ValueError):
            return None  # the call itself will say what is wrong
