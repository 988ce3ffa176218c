"""Permit: policy first, then the person if the verdict is ask; the answer becomes an event."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
from collections.abc import Callable
from typing import Protocol

from aicli.content.events import AgentEvent, Approved, Denied
from aicli.content.kinds import ToolKind, Verdict
from aicli.content.parts import FunctionCallPart, JsonObject
from aicli.content.results import Display
from aicli.safety.shell_rules import READ_ONLY, parts
from aicli.tools.base import ToolContext, ToolFailed
from aicli.tools.host import Approval, ApprovalRequest, Host
from aicli.tools.state import RunState
from aicli.tools.validate import Ready, changed
from aicli.workspace.faults import WorkspaceError


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

    async def ask(self, ready: Ready, emit: Callable[[AgentEvent], None]) -> Ready:
        """What may run: the call, or what the person made of it. Blocks while a person thinks.

        Raises Refused or StopTurn; BadArguments for a change that does not fit the tool.
        """
        if self.policy is None:
            return ready
        self.policy.untrusted = self.policy.untrusted or self.state.untrusted
        verdict = self._verdict(ready)
        self.state.only_reads.discard(ready.call.id)
        if verdict.decision == "allow":
            if verdict.rule == READ_ONLY:
                self.state.only_reads.add(ready.call.id)
            return ready
        if verdict.decision == "deny":
            emit(_denied(ready, "policy", verdict.why))
            raise Refused(f"not permitted: {verdict.why}")
        if not self.host.present:
            await self.host.approve(self._request(ready, verdict))
            why = f"{verdict.why}; nobody is there to approve it" if verdict.why else "nobody is there to approve it"
            emit(_denied(ready, "headless", why))
            raise Refused(f"not permitted: {why}")
        together = getattr(self.host, "together", False)
        async with contextlib.nullcontext() if together else self._one_at_a_time:
            if self._verdict(ready).decision == "allow":  # an answer just given may cover this one too
                return ready
            return await self._person(ready, verdict, emit)

    def _verdict(self, ready: Ready) -> Verdict:
        assert self.policy is not None
        return self.policy.verdict(ready.tool.name, ready.kind, ready.args)

    async def _person(self, ready: Ready, verdict: Verdict, emit: Callable[[AgentEvent], None]) -> Ready:
        policy = self.policy
        assert policy is not None
        answer = await self._answer(self._request(ready, verdict), lambda: self._verdict(ready).decision == "allow")
        if answer is None:
            return ready
        if answer.decision in ("deny", "stop"):
            why = answer.reason or "the person said no"
            emit(_denied(ready, "person", why))
            if answer.decision == "stop":
                raise StopTurn(f"refused by the person, who stopped the turn: {why}")
            raise Refused(f"refused by the person: {why}")
        rule = answer.rule or policy.suggest(ready.tool.name, ready.kind, ready.args)
        if answer.decision in ("session", "always") and rule:
            policy.allow_for_session(rule)
            if answer.decision == "always" and self.save_rule:
                self.save_rule(rule, answer.scope)
            self._settle_covered()
        told = Approved(call_id=ready.call.id, by="person", why=verdict.why, scope=answer.decision, rule=rule)
        if answer.args is not None:
            ready = changed(ready, answer.args)
            told = told.model_copy(update={"args": ready.args, "title": ready.title})
            if (again := self._verdict(ready)).decision == "deny":
                emit(_denied(ready, "policy", again.why))
                raise Refused(f"not permitted: {again.why}")
        emit(told)
        return ready

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

    def _request(self, ready: Ready, verdict: Verdict) -> ApprovalRequest:
        assert self.policy is not None
        state, args, name = self.state, ready.args, ready.tool.name
        status = state.sandbox.status if state.sandbox else "off"
        rule = self.policy.suggest(name, ready.kind, args)
        request = ApprovalRequest(
            call=FunctionCallPart(id=ready.call.id, name=name, args=copy.deepcopy(args)),
            title=ready.title,
            kind=ready.kind.value,
            why=verdict.why,
            rule=rule,
            preview=self._preview(ready),
            cwd=self._folder(ready),
            sandbox=status,
            network=args.get("network") is True or status in ("off", "none"),
            parts=tuple(p.text for p in parts(str(args.get("command", "")))) if ready.kind is ToolKind.EXECUTE else (),
            covers=self._covered(rule),
        )
        self._asked.append((name, ready.kind, args, ready.title))
        return request

    def _folder(self, ready: Ready) -> str:
        """Where it would run: a command of the shell tool in the folder kept from before it, then in its `cwd`."""
        root = self.state.workspace
        given = str(ready.args.get("cwd") or "") if ready.tool.name == "shell" else ""
        inside = os.path.join(self.state.shell_cwd, given) if ready.tool.name == "shell" else ""
        if root is None:
            return os.path.abspath(os.path.expanduser(inside)) if inside else ""
        try:
            return str(root.real(inside).path if inside else root.root)
        except WorkspaceError:
            return os.path.join(root.root, inside)  # the tool will say what is wrong with it

    def _covered(self, rule: str) -> tuple[str, ...]:
        """The preview of a rule: which of the calls asked about so far it would have let pass."""
        policy = self.policy
        if not rule or policy is None:
            return ()
        return tuple(title for name, kind, args, title in self._asked if policy.covers(rule, name, kind, args))

    def _preview(self, ready: Ready) -> Display | None:
        if ready.tool.preview is None:
            return None
        try:
            context = ToolContext(state=self.state, host=self.host, call_id=ready.call.id)
            return ready.tool.preview(context, ready.params)
        except (ToolFailed, OSError, ValueError):
            return None  # the call itself will say what is wrong


def _denied(ready: Ready, by: str, why: str) -> Denied:
    return Denied(call_id=ready.call.id, name=ready.tool.name, args=ready.args, by=by, why=why)
