"""Permit: policy first, then the person if the verdict is ask; the answer becomes an event."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from pydantic import BaseModel

from aicli.content.events import AgentEvent, Approved, Denied
from aicli.content.kinds import ToolKind, Verdict
from aicli.content.parts import FunctionCallPart, JsonObject
from aicli.content.results import Display
from aicli.safety.shell_rules import parts
from aicli.tools.base import Tool, ToolContext, ToolFailed
from aicli.tools.host import ApprovalRequest, Host
from aicli.tools.state import RunState


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
    """`save_rule(rule, scope)` keeps an "always" answer; set by the composition root."""

    def __init__(self, policy: Policy | None, host: Host, state: RunState) -> None:
        self.policy, self.host, self.state = policy, host, state
        self.save_rule: Callable[[str, str], None] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._asked: list[tuple[str, ToolKind, JsonObject, str]] = []

    async def ask(
        self, tool: Tool, call: FunctionCallPart, params: BaseModel, kind: ToolKind, emit: Callable[[AgentEvent], None]
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
        async with self._one_at_a_time:
            again = self.policy.verdict(tool.name, kind, args)  # an answer just given may cover this one too
            if again.decision == "allow":
                return None
            return await self._person(tool, call, params, kind, verdict, emit)

    async def _person(
        self,
        tool: Tool,
        call: FunctionCallPart,
        params: BaseModel,
        kind: ToolKind,
        verdict: Verdict,
        emit: Callable[[AgentEvent], None],
    ) -> JsonObject | None:
        assert self.policy is not None
        answer = await self.host.approve(self._request(tool, call, params, kind, verdict))
        if answer.decision in ("deny", "stop"):
            why = answer.reason or "the person said no"
            emit(Denied(call_id=call.id, name=tool.name, args=call.args, by="person", why=why))
            if answer.decision == "stop":
                raise StopTurn(f"refused by the person, who stopped the turn: {why}")
            raise Refused(f"refused by the person: {why}")
        rule = answer.rule or self.policy.suggest(tool.name, kind, params.model_dump(mode="json", exclude_unset=True))
        if answer.decision in ("session", "always") and rule:
            self.policy.allow_for_session(rule)
            if answer.decision == "always" and self.save_rule:
                self.save_rule(rule, answer.scope)
        emit(Approved(call_id=call.id, by="person", why=verdict.why, scope=answer.decision, rule=rule))
        if answer.args is None:
            return None
        changed = self.policy.verdict(tool.name, kind, answer.args)
        if changed.decision == "deny":
            emit(Denied(call_id=call.id, name=tool.name, args=answer.args, by="policy", why=changed.why))
            raise Refused(f"not permitted: {changed.why}")
        return answer.args

    def _request(
        self, tool: Tool, call: FunctionCallPart, params: BaseModel, kind: ToolKind, verdict: Verdict
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
