"""Answers that must fit a schema, whatever the schema does to whoever checks it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from aicli import Agent, Limits
from aicli.agents.fitting import checked, fitting, may_be_slow
from aicli.errors import InputError, SchemaFailed
from aicli.models.scripted import ScriptedModel

ENDLESS = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["a"]}
ANSWER = '{"a": "' + "a" * 60 + '!"}'
PLAIN: list[tuple[str, dict[str, Any], Any]] = [
    ('{"a": "aaa"}', ENDLESS, {"a": "aaa"}),
    ('```json\n{"a": "aaa"}\n```', ENDLESS, {"a": "aaa"}),
    ('{"数": "中文"}', {"patternProperties": {"^数$": {"type": "string"}}}, {"数": "中文"}),
    ("[1, [2]]", {"$ref": "#/$defs/x", "$defs": {"x": {"type": "array"}}}, [1, [2]]),
    ("7", {"type": "integer"}, 7),
]


@pytest.mark.parametrize(("text", "schema", "value"), PLAIN)
def test_what_fits_comes_back(text: str, schema: dict[str, Any], value: Any) -> None:
    assert asyncio.run(fitting(text, schema)) == checked(text, schema) == value


@pytest.mark.parametrize(
    ("text", "schema", "error", "words"),
    [
        ('{"a": "b"}', ENDLESS, SchemaFailed, "a: 'b' does not match"),
        ("no json", ENDLESS, SchemaFailed, "not JSON"),
        ("1", {"type": "string"}, SchemaFailed, "not of type"),
        ("1", {"$ref": "#/nowhere"}, InputError, "nowhere"),
        ('"x"', {"pattern": "("}, InputError, "pattern"),
    ],
)
def test_what_does_not_fit_is_told(text: str, schema: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        asyncio.run(fitting(text, schema))


def test_a_pattern_without_end_has_one() -> None:
    began = time.monotonic()
    with pytest.raises(InputError, match="can't be checked"):
        asyncio.run(fitting(ANSWER, ENDLESS, 0.5))
    assert time.monotonic() - began < 15


def test_only_what_may_be_slow_costs_a_child() -> None:
    assert may_be_slow(ENDLESS) and not may_be_slow({"type": "object", "properties": {"a": {"enum": [1, None]}}})


@pytest.mark.parametrize(("cap", "reason", "code"), [(0.6, "error_max_wall_time", 53)])
def test_the_time_cap_of_a_run_holds_for_it(cap: float, reason: str, code: int) -> None:
    model = ScriptedModel([ANSWER, "never said"])
    agent = Agent("x", instructions="", model=model, limits=Limits(max_wall_time=cap))
    result = agent.run_sync("go", output=ENDLESS)
    assert (result.reason, result.exit_code, len(model.requests)) == (reason, code, 1)


def test_it_can_be_cancelled() -> None:
    async def stopped() -> str:
        agent = Agent("x", instructions="", model=ScriptedModel([ANSWER]))
        run = asyncio.ensure_future(agent.run("go", output=ENDLESS))
        asyncio.get_running_loop().call_later(0.2, agent.cancel)
        return (await run).status

    assert asyncio.run(stopped()) == "cancelled"
