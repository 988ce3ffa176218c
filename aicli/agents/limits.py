"""Caps of a run and the watch for loops. One Budget is shared by an agent and its sub-agents."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import field

from aicli.content.parts import FunctionCallPart, FunctionResponsePart
from aicli.content.request import Usage
from aicli.errors import LimitReached, LoopDetected
from aicli.late import dataclass


@dataclass(frozen=True)
class Limits:
    """Caps for one task; None means none. `max_wall_time` in seconds."""

    max_turns: int = 50
    max_tokens: int | None = None
    max_budget_usd: float | None = None
    max_tool_calls: int | None = None
    max_wall_time: float | None = None


@dataclass
class Budget:
    """What has been spent of `limits`. `nested()` spends of the same purse with turns of its own."""

    limits: Limits = Limits()
    usage: Usage = Usage()
    cost_usd: float | None = 0.0
    tool_calls: int = 0
    turns_used: int = 0
    begun: float = field(default_factory=time.monotonic)
    parent: Budget | None = None

    def nested(self, max_turns: int | None = None) -> Budget:
        turns = self.limits.max_turns if max_turns is None else min(max_turns, self.limits.max_turns)
        return Budget(Limits(**{**self.limits.__dict__, "max_turns": turns}), begun=self.begun, parent=self)

    def turns(self) -> Iterator[int]:
        """Numbers from 1, going on where an earlier loop of the task stopped; checks every cap. Raises LimitReached."""
        while self.turns_used < self.limits.max_turns:
            self.check()
            self.turns_used += 1
            yield self.turns_used
        raise LimitReached(
            f"stopped after {self.limits.max_turns} turns, the cap of this run",
            subtype="error_max_turns",
            hint="Raise it with --max-turns",
        )

    def spend(self, usage: Usage, cost_usd: float | None) -> None:
        self.usage += usage
        self.cost_usd = None if self.cost_usd is None or cost_usd is None else self.cost_usd + cost_usd
        if self.parent:
            self.parent.spend(usage, cost_usd)

    def count_calls(self, number: int) -> None:
        """Raises LimitReached before calls that would pass the cap."""
        root = self.root
        if root.limits.max_tool_calls is not None and root.tool_calls + number > root.limits.max_tool_calls:
            raise LimitReached(
                f"stopped: more than {root.limits.max_tool_calls} tool calls, the cap of this run",
                subtype="error_max_tool_calls",
                hint="Raise it with --max-tool-calls",
            )
        root.tool_calls += number

    @property
    def root(self) -> Budget:
        return self.parent.root if self.parent else self

    @property
    def seconds_left(self) -> float | None:
        root = self.root
        if root.limits.max_wall_time is None:
            return None
        return root.limits.max_wall_time - (time.monotonic() - root.begun)

    def check(self) -> None:
        """Raises LimitReached if a cap other than turns is used up."""
        root = self.root
        caps = root.limits
        if caps.max_tokens is not None and root.usage.total >= caps.max_tokens:
            raise LimitReached(
                f"stopped: {root.usage.total} tokens used of {caps.max_tokens}",
                subtype="error_max_tokens",
                hint="Raise it with --max-tokens",
            )
        if caps.max_budget_usd is not None and root.cost_usd is not None and root.cost_usd >= caps.max_budget_usd:
            raise LimitReached(
                f"stopped: ${root.cost_usd:.4f} spent of ${caps.max_budget_usd:g}",
                subtype="error_max_budget",
                hint="Raise it with --max-budget-usd",
            )
        left = self.seconds_left
        if left is not None and left <= 0:
            raise wall_time_reached(caps.max_wall_time or 0)


def wall_time_reached(seconds: float) -> LimitReached:
    return LimitReached(
        f"stopped after {seconds:g} s, the time cap of this run",
        subtype="error_max_wall_time",
        hint="Raise it with --max-wall-time",
    )


class Repeats:
    """Notices calls that bring nothing new: the same call with the same result, alternating pairs, no progress.

    A call counts as new when its name, arguments and result were not seen together before. Calls that take time
    (polling) weigh little: a loop of a second each may go on for dozens of rounds.
    """

    WARN, STOP = 3.0, 7.0

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._weight = 0.0
        self._warned = False

    def watch(self, calls: Sequence[FunctionCallPart], answers: Sequence[FunctionResponsePart], seconds: float) -> str:
        """Text for the model when it repeats itself, else "". Raises LoopDetected when it does not stop."""
        fresh = False
        for call, answer in zip(calls, answers, strict=True):
            key = hash((call.name, json.dumps(call.args, sort_keys=True), call.raw, answer.text))
            fresh = fresh or key not in self._seen
            self._seen.add(key)
        if fresh:
            self._weight, self._warned = 0.0, False
            return ""
        self._weight += 1.0 if seconds < 0.9 else 0.15
        if self._weight >= self.STOP:
            name = calls[-1].name if calls else "a tool"
            raise LoopDetected(
                f"stopped: the model repeats {name} with the same arguments and the same result",
                hint="Say more precisely what it should do, or try another model",
            )
        if self._weight >= self.WARN - 1 and not self._warned:
            self._warned = True
            return (
                "Note: you have made this call before, with the same result. Doing it again brings nothing new. "
                "Try something different, or give your answer with what you know."
            )
        return ""
