"""Compaction shrinks or stops, and never splits a call from its answer."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from aicli.agents.agent import Agent
from aicli.agents.context import Meter, compacted, message_tokens
from aicli.content.events import ContextCompacted
from aicli.content.messages import Message, answered
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, TextPart
from aicli.errors import ContextTooLong
from aicli.models.base import ModelInfo
from aicli.models.scripted import ScriptedModel, call
from aicli.tools.base import tool


def exchange(n: int, size: int) -> list[Message]:
    ask = FunctionCallPart(id=f"c{n}", name="read", args={"path": "a"})
    answer = FunctionResponsePart(id=f"c{n}", name="read", content=(TextPart(text="x" * size),))
    return [Message(role="model", parts=(ask,)), Message(role="tool", parts=(answer,))]


@seed(1)
@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 6_000), min_size=1, max_size=12), st.integers(100, 8_000), st.booleans())
def test_a_compacted_history_is_smaller_and_answered(sizes: list[int], target: int, helpful: bool) -> None:
    history = [Message.user("task")] + [m for n, size in enumerate(sizes) for m in exchange(n, size)]

    async def summary(_: object) -> str:
        return "short" if helpful else ""

    before = sum(map(message_tokens, history))
    try:
        prefix, replaced, _ = asyncio.run(compacted(history, target, summary))
    except ContextTooLong:
        return
    after = [*prefix, *history[replaced:]]
    assert sum(map(message_tokens, after)) < before
    assert answered(after) == after


def test_the_meter_counts_each_message_once_and_follows_cuts() -> None:
    meter, history = Meter(), [Message.user("a" * 400)]
    first = meter.count(history)
    history += exchange(0, 1_000)
    grown = meter.count(history)
    del history[1:]
    assert meter.count(history) == first < grown


def test_a_run_compacts_by_itself_near_the_window() -> None:
    @tool
    def much(n: int) -> str:
        """Much text."""
        return f"{n} " + "word " * 1_000

    info = ModelInfo(provider="scripted", name="small", window=4_000)
    replies = [[call("much", n=n)] for n in range(6)]
    script: list[object] = [*replies[:3], "the gist", *replies[3:5], "the gist again", "done"]
    model = ScriptedModel(script + ["done"] * 4, info=info)  # type: ignore[arg-type]
    events: list[object] = []
    outcome = Agent(model=model, tools=[much], sinks=[events.append]).run_sync("go")
    assert outcome.status == "completed"
    compactions = [e for e in events if isinstance(e, ContextCompacted)]
    assert compactions and all(e.after < e.before for e in compactions)


def test_a_single_huge_message_is_refused_rather_than_sent() -> None:
    with pytest.raises(ContextTooLong):
        asyncio.run(compacted([Message.user("y" * 100_000)], 1_000, None))
