"""The loop over each of the five wires against the strict server: one suite of scenarios, no wire knows better."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest
from pydantic import Field

from aicli.agents.agent import Agent
from aicli.content.events import AgentEvent, RetryScheduled
from aicli.content.run_result import RunResult
from aicli.tools.base import ToolFailed
from tests.models.support import PROVIDERS, orchestrator
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import (
    call,
    cut,
    end_early,
    error,
    finish,
    raw_call,
    redacted,
    text,
    think,
    usage,
)

EVERY = pytest.mark.parametrize("wire", PROVIDERS)
WORDS = {
    "length": {
        "ollama": "length",
        "openai": "length",
        "responses": "max_output_tokens",
        "anthropic": "max_tokens",
        "gemini": "MAX_TOKENS",
    },
    "filter": {"openai": "content_filter", "responses": "content_filter", "gemini": "SAFETY"},
    "refusal": {"anthropic": "refusal"},
    "unknown": {"ollama": "odd", "openai": "odd", "anthropic": "odd", "gemini": "ODD"},
}


def weather(city: Annotated[str, Field(description="A city.")]) -> str:
    """Tells the weather."""
    if city == "Atlantis":
        raise ToolFailed("there is no Atlantis; try Paris")
    return f"rain in {city} 雨"


def double(n: Annotated[int, Field(description="A number.")]) -> str:
    """Doubles a number."""
    return str(2 * n)


def run(
    server: ModelServer, wire: str, task: str = "What is the weather?", **more: Any
) -> tuple[RunResult, list[AgentEvent]]:
    events: list[AgentEvent] = []

    async def inner() -> RunResult:
        found = orchestrator(server.url, wire, on_retry=events.append, retries=2)
        try:
            model = await found.resolve(f"{wire}:test-model")
            agent = Agent(instructions="You help.", model=model, tools=[weather, double], sinks=[events.append], **more)
            return await agent.run(task)
        finally:
            await found.close()

    return asyncio.run(inner()), events


def fine(server: ModelServer, result: RunResult, text: str = "done") -> None:
    assert server.violations == []
    assert (result.status, result.exit_code, result.text) == ("completed", 0, text), result.error


@EVERY
def test_parallel_calls_are_answered_each_under_its_id(wire: str) -> None:
    with ModelServer(
        [[text("I ask."), call("weather", city="Paris"), call("double", n=21), usage(50, 9)], "done"]
    ) as server:
        result, _ = run(server, wire)
        fine(server, result)
        sent = json.dumps(server.bodies[1], ensure_ascii=False)
    assert "rain in Paris 雨" in sent and "42" in sent and "I ask." in sent
    assert (result.tool_calls, result.turns) == (2, 2)
    assert result.usage.input_tokens >= 50


@EVERY
def test_failures_are_told_to_the_model_which_recovers(wire: str) -> None:
    script: list[Any] = [
        [call("weather", city="Atlantis")],
        [call("wether", city="Paris")],
        [call("double", n="not a number")],
        [call("weather", city="Paris"), call("double", n="4")],
        "done",
    ]
    with ModelServer(script) as server:
        result, _ = run(server, wire)
        fine(server, result)
        sent = [json.dumps(b, ensure_ascii=False) for b in server.bodies]
    assert "try Paris" in sent[1]
    assert "weather" in sent[2] and "wether" in sent[2]
    assert "rain in Paris" in sent[4] and "8" in sent[4]
    assert result.failed_calls == 3


@EVERY
def test_thinking_is_kept_over_a_chain_of_calls(wire: str) -> None:
    opaque = [redacted("blob")] if wire in ("anthropic", "responses") else []
    script: list[Any] = [
        [think("first thought", pieces=3), *opaque, call("weather", city="Paris")],
        [think("second thought"), text("Now the other."), call("double", n=1), call("double", n=2)],
        [think("third"), "done"],
    ]
    with ModelServer(script) as server:
        result, _ = run(server, wire)
        fine(server, result)
        last = json.dumps(server.bodies[2])
    assert len(server.requests) == 3
    if wire in ("anthropic", "responses"):
        assert "first thought" in last and "second thought" in last and "sig-" in last
    if wire == "ollama":
        assert "first thought" in last


@EVERY
@pytest.mark.parametrize("broken", [cut(), end_early()])
def test_a_cut_reply_is_asked_again_and_shown_once(wire: str, broken: Any) -> None:
    with ModelServer([[text("Hello wor", pieces=2), broken], [text("Hello world", pieces=3)]]) as server:
        result, events = run(server, wire)
        fine(server, result, "Hello world")
    again = [e for e in events if isinstance(e, RetryScheduled)]
    assert len(server.requests) == 2 and again[-1].discard


@EVERY
def test_a_second_cut_ends_the_run(wire: str) -> None:
    with ModelServer([[text("Hello wor"), cut()], [text("Hello wor"), cut()]]) as server:
        result, _ = run(server, wire)
    assert (result.status, result.exit_code, result.reason) == ("failed", 75, "error_network")


@EVERY
def test_a_call_cut_in_the_middle_does_not_run(wire: str) -> None:
    with ModelServer([[call("weather", city="Paris"), cut()], "done"]) as server:
        result, _ = run(server, wire)
        fine(server, result)
    assert result.tool_calls == 0


@EVERY
def test_busy_then_fine(wire: str) -> None:
    busy = error(429, "slow down", retry_after_ms=10)
    with ModelServer([[busy], [call("weather", city="Paris")], [busy], "done"]) as server:
        result, events = run(server, wire)
        fine(server, result)
    assert [e.status for e in events if isinstance(e, RetryScheduled)] == [429, 429]


@EVERY
def test_always_busy_ends_with_try_again_later(wire: str) -> None:
    with ModelServer([[error(429, "slow down", retry_after_ms=10)]] * 3) as server:
        result, _ = run(server, wire)
    assert (result.exit_code, result.reason) == (75, "error_network")
    assert result.error is not None and result.error.status == 429 and "slow down" in result.error.message


@EVERY
def test_a_wrong_key(wire: str) -> None:
    with ModelServer([[error(401, "invalid api key")]]) as server:
        result, _ = run(server, wire)
    assert (result.exit_code, result.reason) == (41, "error_auth")


@EVERY
def test_context_too_long_is_made_shorter(wire: str) -> None:
    long = "many words " * 800
    script: list[Any] = [
        [call("weather", city="Paris" + long)],
        [call("double", n=2)],
        [error(400, "prompt is too long: 999999 tokens > 8192 maximum context length")],
        "The person asked for the weather; Paris was looked up.",
        "done",
    ]
    with ModelServer(script) as server:
        result, events = run(server, wire)
        fine(server, result)
        sizes = [len(json.dumps(b)) for b in server.bodies]
    assert any(e.type == "context_compacted" for e in events)
    assert sizes[-1] < sizes[2]


@EVERY
def test_output_limit(wire: str) -> None:
    word = WORDS["length"][wire]
    with ModelServer([[text("Hello wor"), finish(word)]]) as server:
        result, _ = run(server, wire)
    assert result.status == "failed" and result.exit_code == 1
    assert result.error is not None and "limit" in result.error.message


@EVERY
def test_a_call_cut_by_the_output_limit_does_not_run(wire: str) -> None:
    with ModelServer([[call("weather", city="Paris"), finish(WORDS["length"][wire])], "done"]) as server:
        result, _ = run(server, wire)
        fine(server, result)
        assert "rain in Paris" not in json.dumps(server.bodies[1])


@pytest.mark.parametrize("wire", WORDS["filter"])
def test_the_providers_filter(wire: str) -> None:
    with ModelServer([[text("Hello wor"), finish(WORDS["filter"][wire])]]) as server:
        result, _ = run(server, wire)
    assert result.reason == "error_model" and result.error is not None and "filter" in result.error.message


@pytest.mark.parametrize("wire", WORDS["refusal"])
def test_a_refusal(wire: str) -> None:
    with ModelServer([[text("No."), finish(WORDS["refusal"][wire])]]) as server:
        result, _ = run(server, wire)
    assert result.reason == "error_model" and result.error is not None and "declined" in result.error.message


@pytest.mark.parametrize("wire", WORDS["unknown"])
def test_a_word_that_nobody_knows_is_an_end_with_a_warning(wire: str) -> None:
    word = WORDS["unknown"][wire]
    with ModelServer([[text("done"), finish(word)]]) as server:
        result, events = run(server, wire)
        fine(server, result)
    assert result.stop_reason in (word, "unknown")
    assert any(e.type == "warned" and word in e.text for e in events)


def test_pause_is_gone_on_with() -> None:
    with ModelServer([[text("Part one."), finish("pause_turn")], "done"]) as server:
        result, _ = run(server, "anthropic")
        fine(server, result)
    assert len(server.requests) == 2


def test_a_malformed_call_is_asked_for_again() -> None:
    with ModelServer([[finish("MALFORMED_FUNCTION_CALL")], [call("double", n=3)], "done"]) as server:
        result, _ = run(server, "gemini")
        fine(server, result)


@EVERY
def test_an_empty_reply_is_asked_for_again(wire: str) -> None:
    with ModelServer([[usage(5, 0)], "done"]) as server:
        result, _ = run(server, wire)
        fine(server, result)
    assert len(server.requests) == 2


@pytest.mark.parametrize("wire", ["openai", "responses", "anthropic"])
def test_arguments_that_are_no_json(wire: str) -> None:
    with ModelServer([[raw_call("weather", '{"city": "Par')], [call("weather", city="Paris")], "done"]) as server:
        result, _ = run(server, wire)
        fine(server, result)
        assert "rain in Paris" in json.dumps(server.bodies[2], ensure_ascii=False)


@EVERY
def test_twelve_turns(wire: str) -> None:
    script: list[Any] = [[think(f"t{n}"), text(f"Step {n}."), call("double", n=n)] for n in range(12)]
    with ModelServer([*script, "done"], echo="required" if wire == "deepseek" else "any") as server:
        result, _ = run(server, wire)
        fine(server, result)
    assert result.tool_calls == 12


def test_deepseek_demands_its_reasoning_and_gets_it() -> None:
    script: list[Any] = [[think("look"), call("double", n=1)], [call("double", n=2)], "done"]
    with ModelServer(script, echo="required") as server:
        result, _ = run(server, "deepseek")
        fine(server, result)


def test_strict_openai_gets_none() -> None:
    with ModelServer([[think("look"), call("double", n=1)], "done"], echo="forbidden") as server:
        result, _ = run(server, "openai")
        fine(server, result)


def test_gemini_without_ids_and_with_an_old_schema() -> None:
    script: list[Any] = [[call("double", n=1), call("double", n=2)], [call("double", n=3)], "done"]
    with ModelServer(script, gemini_ids=False, gemini_old=True) as server:
        result, _ = run(server, "gemini")
        assert (result.status, result.text) == ("completed", "done")
        assert server.violations == [
            '/v1beta/models/test-model:streamGenerateContent: Unknown name "parametersJsonSchema": Cannot find field'
        ]


@pytest.mark.parametrize("wire", ["ollama", "openai"])
def test_a_model_without_native_calls_uses_text(wire: str) -> None:
    said = '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    no = [error(400, "this model does not support tools")]
    with ModelServer([no, said, "done"]) as server:
        result, events = run(server, wire)
        fine(server, result)
        last = json.dumps(server.bodies[2], ensure_ascii=False)
    assert "tools" not in server.bodies[2] and "rain in Paris" in last
    assert any(e.type == "call_recovered" for e in events)


def test_a_model_that_cannot_think_is_asked_without() -> None:
    no = [error(400, '"test-model" does not support thinking')]
    with ModelServer([no, "done"]) as server:
        result, _ = run(server, "ollama", thinking="high")
        fine(server, result)
        assert server.bodies[0]["think"] is True and "think" not in server.bodies[1]


def test_a_server_that_does_not_know_stream_options() -> None:
    with ModelServer([[error(400, "Unrecognized request argument: stream_options")], "done"]) as server:
        result, _ = run(server, "openai")
        fine(server, result)
        assert "stream_options" not in server.bodies[1]
