"""The loop: calls, results and the next request, whatever goes wrong on the way."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import pytest

from aicli.agents.agent import Agent
from aicli.agents.limits import Limits
from aicli.content.events import (
    AgentEvent,
    HistoryCut,
    MessageAdded,
    ModelDelta,
    Outcome,
    RetryScheduled,
    RunFinished,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from aicli.content.kinds import ToolKind
from aicli.content.messages import Message, answered, dump_history, load_history, open_calls
from aicli.content.request import FinishReason, Usage
from aicli.content.stream import CallDelta, Finished, TextDelta
from aicli.errors import BadRequest, ConnectFailed, EmptyReply, StreamCut
from aicli.models.scripted import ScriptedModel, call, think
from aicli.testing import ModelServer
from aicli.testing.steps import hang, text
from aicli.tools.base import ToolFailed, tool
from aicli.tools.executor import RESULT_LIMIT


@tool(kind=ToolKind.READ, title="Weather in {city}")
def weather(city: str, days: int = 1) -> str:
    """The weather."""
    return f"rain in {city} for {days} days"


@tool(kind=ToolKind.READ)
def broken() -> str:
    """Fails."""
    raise ValueError("no such luck")


@tool(kind=ToolKind.READ)
def refuses() -> str:
    """Fails with advice."""
    raise ToolFailed("not like this; use weather")


def run(replies: list[Any], *tools: Any, **more: Any) -> tuple[Agent, ScriptedModel, list[AgentEvent]]:
    model = ScriptedModel(replies)
    events: list[AgentEvent] = []
    agent = Agent(model=model, tools=tools or (weather, broken, refuses), sinks=[events.append], **more)
    agent.result = agent.run_sync("go")  # type: ignore[attr-defined]
    return agent, model, events


def result(agent: Agent) -> Any:
    return agent.result  # type: ignore[attr-defined]


def test_calls_run_and_their_results_stand_in_the_next_request_under_their_ids() -> None:
    agent, model, events = run(
        [[think("hm"), call("weather", city="Paris"), call("weather", city="北京")], "It rains."]
    )
    assert result(agent).text == "It rains."
    assert result(agent).status == "completed" and result(agent).exit_code == 0
    user, reply, answers = model.requests[1].messages
    assert user.text == "go" and [c.name for c in reply.calls] == ["weather", "weather"]
    assert [(r.id, r.text) for r in answers.responses] == [
        (reply.calls[0].id, "rain in Paris for 1 days"),
        (reply.calls[1].id, "rain in 北京 for 1 days"),
    ]
    assert isinstance(events[-1], RunFinished)
    assert next(e.title for e in events if isinstance(e, ToolStarted)) == "Weather in Paris"


def test_what_a_tool_does_wrong_goes_to_the_model_and_the_loop_goes_on() -> None:
    steps = [
        call("broken"),
        call("refuses"),
        call("nothing_of_the_kind"),
        call("weather", town="Paris"),
        CallDelta(7, id="x", name="weather", args_json='{"city": '),
    ]
    agent, model, events = run([steps, "done"])
    answers = model.requests[1].messages[-1].responses
    assert all(r.is_error for r in answers)
    texts = [r.text for r in answers]
    assert "ValueError: no such luck" in texts[0] and "Traceback" not in texts[0]
    assert texts[1] == "not like this; use weather"
    assert "weather, broken, refuses" in texts[2]
    assert "city is missing" in texts[3] and "town is not a parameter" in texts[3]
    assert "not a JSON object" in texts[4]
    assert result(agent).exit_code == 0 and result(agent).failed_calls == 5
    assert {e.outcome for e in events if isinstance(e, ToolFinished)} == {Outcome.FAILED}


@pytest.mark.parametrize("name", ["", " ", "\n\x1b[2J", "we\nather", "w" * 5000])
def test_a_name_that_no_server_takes_back_never_enters_the_history(name: str) -> None:
    agent = Agent("x", instructions="", model=ScriptedModel([[call(name)], "done"]), tools=[weather])
    result = agent.run_sync("go")
    said = agent.history[1].calls[0].name
    assert result.text == "done" and re.fullmatch(r"[\w.:/-]{1,64}", said)
    assert agent.history[2].responses[0].name == said and "no tool named" in agent.history[2].responses[0].text


def test_a_tool_may_have_a_name_in_any_script() -> None:
    @tool(kind=ToolKind.READ, name="天气")
    def rain() -> str:
        """Rain."""
        return "雨"

    agent = Agent("x", instructions="", model=ScriptedModel([[call("天气")], "done"]), tools=[rain])
    agent.run_sync("go")
    assert agent.history[2].responses[0].text == "雨"


def test_reading_calls_run_together_and_writing_ones_in_order() -> None:
    log: list[str] = []
    both = asyncio.Event()

    @tool(kind=ToolKind.READ)
    async def look(name: str) -> str:
        """Waits for the other one."""
        log.append(f"+{name}")
        if len(log) == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 5)
        return name

    @tool(kind=ToolKind.EDIT)
    async def change(name: str) -> str:
        """Writes."""
        log.append(f"+{name}")
        await asyncio.sleep(0)
        log.append(f"-{name}")
        return name

    reply = [call("look", name="a"), call("look", name="b"), call("change", name="c"), call("change", name="d")]
    agent, model, _ = run([reply, "done"], look, change)
    assert sorted(log[:2]) == ["+a", "+b"]
    assert log[2:] == ["+c", "-c", "+d", "-d"]
    assert [r.text for r in model.requests[1].messages[-1].responses] == ["a", "b", "c", "d"]
    assert result(agent).tool_calls == 4


def test_a_cut_reply_is_asked_for_once_more_and_its_deltas_are_void() -> None:
    agent, model, events = run([[TextDelta("Hello wor"), StreamCut("cut")], "Hello world"])
    assert result(agent).text == "Hello world" and len(model.requests) == 2
    retry = next(e for e in events if isinstance(e, RetryScheduled))
    assert retry.discard
    assert [e.message.text for e in events if isinstance(e, MessageAdded)] == ["go", "Hello world"]


def test_a_second_cut_ends_the_run_with_75_and_leaves_the_history_clean() -> None:
    agent, _, events = run([[TextDelta("a"), StreamCut("cut")], [TextDelta("b"), StreamCut("cut again")]])
    assert (result(agent).exit_code, result(agent).reason) == (75, "error_network")
    assert agent.history == []
    assert any(isinstance(e, HistoryCut) and e.why == "failed" for e in events)


def test_the_fallback_is_asked_when_the_first_fails_for_good() -> None:
    first, second = ScriptedModel([[ConnectFailed("nobody there")]]), ScriptedModel(["hi"])
    agent = Agent(model=[first, second])
    assert agent.run_sync("go").text == "hi"


def test_a_failed_turn_is_rolled_back_so_that_the_next_is_clean() -> None:
    model = ScriptedModel([[BadRequest("no", status=400)], "fine"])
    agent = Agent(model=model)
    assert agent.run_sync("first").exit_code == 1
    assert agent.run_sync("second").text == "fine"
    assert [m.text for m in model.requests[1].messages] == ["second"]


@pytest.mark.parametrize(
    ("reason", "raw", "code", "subtype"),
    [
        (FinishReason.CONTENT_FILTER, "SAFETY", 1, "error_model"),
        (FinishReason.REFUSAL, "refusal", 1, "error_model"),
        (FinishReason.LENGTH, "length", 1, "error_model"),
        (FinishReason.UNKNOWN, "eos", 0, "success"),
        (FinishReason.MISSING, "", 0, "success"),
        (FinishReason.STOP, "stop", 0, "success"),
    ],
)
def test_each_end_of_a_reply_has_its_meaning(reason: FinishReason, raw: str, code: int, subtype: str) -> None:
    agent, _, _ = run([[TextDelta("half an answer"), Finished(reason, raw)]])
    assert (result(agent).exit_code, result(agent).reason) == (code, subtype)


def test_an_overloaded_or_aborted_reply_is_asked_for_again() -> None:
    for reason in (FinishReason.OVERLOADED, FinishReason.ABORTED):
        agent, _, _ = run([[TextDelta("x"), Finished(reason, "insufficient_system_resource")], "ok"])
        assert result(agent).text == "ok"


def test_a_paused_reply_is_sent_back_unchanged() -> None:
    agent, model, _ = run([[TextDelta("wait"), Finished(FinishReason.PAUSE, "pause_turn")], "rest"])
    assert model.requests[1].messages[-1].text == "wait"
    assert result(agent).text == "rest"


def test_calls_of_a_reply_cut_by_length_are_not_run() -> None:
    agent, model, events = run([[call("weather", city="Par"), Finished(FinishReason.LENGTH, "length")], "ok"])
    assert not any(isinstance(e, ToolStarted) for e in events)
    assert "not run" in model.requests[1].messages[-1].responses[0].text


def test_an_empty_reply_is_asked_for_once_then_is_an_error() -> None:
    agent, model, _ = run([[Finished(FinishReason.STOP, "stop")], "there"])
    assert result(agent).text == "there"
    agent, _, _ = run([[Finished(FinishReason.STOP)], [Finished(FinishReason.STOP)]])
    assert result(agent).reason == "error_model" and result(agent).error.type == EmptyReply.__name__


def test_two_unreadable_replies_lead_to_one_that_can_only_be_valid() -> None:
    bad = [CallDelta(0, id="x", name="weather", args_json="{city: Paris", raw="{city: Paris")]
    agent, model, _ = run([bad, bad, '{"tool": "weather", "args": {"city": "Rome"}}', "It rains."])
    forced = model.requests[2]
    assert forced.output_schema is not None and forced.tools == ()
    assert model.requests[3].messages[-1].responses[0].text == "rain in Rome for 1 days"
    assert result(agent).text == "It rains."


def test_caps_end_the_run_with_53_and_their_name() -> None:
    forever = [[call("weather", city=str(n))] for n in range(99)]
    cases = {
        "error_max_turns": Limits(max_turns=3),
        "error_max_tokens": Limits(max_tokens=40),
        "error_max_tool_calls": Limits(max_tool_calls=2),
        "error_max_wall_time": Limits(max_wall_time=0.000001),
    }
    for subtype, limits in cases.items():
        agent, _, _ = run(list(forever), limits=limits)
        assert (result(agent).reason, result(agent).exit_code, result(agent).status) == (subtype, 53, "limited")
        assert not open_calls(agent.history)


def test_a_silent_model_ends_at_the_wall_time() -> None:
    begin = time.monotonic()
    agent, _, _ = run([[60.0]], limits=Limits(max_wall_time=0.2))
    assert result(agent).reason == "error_max_wall_time" and time.monotonic() - begin < 5


def test_a_model_that_repeats_itself_is_warned_then_stopped() -> None:
    agent, model, _ = run([[call("weather", city="Paris")]] * 30)
    assert (result(agent).reason, result(agent).exit_code) == ("error_loop", 53)
    warned = [
        m.responses[0].text
        for m in agent.history
        if m.role == "tool" and "made this call before" in m.responses[0].text
    ]
    assert len(warned) == 1 and len(model.requests) < 12


def test_alternating_calls_without_progress_are_stopped_too() -> None:
    pair = [[call("weather", city="Paris")], [call("weather", city="Rome")]]
    agent, model, _ = run(pair * 20)
    assert result(agent).reason == "error_loop" and len(model.requests) < 14


def test_slow_polling_is_not_stopped() -> None:
    from aicli.agents.limits import Repeats
    from aicli.content.parts import FunctionCallPart, FunctionResponsePart, TextPart

    watch = Repeats()
    for n in range(40):
        one = FunctionCallPart(id=str(n), name="shell", args={"command": "sleep 5; status"})
        answer = FunctionResponsePart(id=str(n), name="shell", content=(TextPart(text="pending"),))
        watch.watch([one], [answer], 5.0)


def test_a_message_said_meanwhile_joins_at_the_next_tool_boundary() -> None:
    agent: Agent

    @tool(kind=ToolKind.READ)
    def listen() -> str:
        """Someone speaks."""
        agent.steer("and in Rome?")
        return "heard"

    model = ScriptedModel([[call("listen")], "both rain"])
    agent = Agent(model=model, tools=[listen])
    assert agent.run_sync("go").text == "both rain"
    assert [m.role for m in model.requests[1].messages] == ["user", "model", "tool", "user"]
    assert model.requests[1].messages[-1].text == "and in Rome?"


def test_cancel_answers_every_call_and_says_so() -> None:
    @tool(kind=ToolKind.EXECUTE, timeout=None)
    async def forever() -> str:
        """Never ends."""
        await asyncio.Event().wait()
        return ""

    async def main() -> tuple[Agent, Any, list[AgentEvent]]:
        events: list[AgentEvent] = []
        agent = Agent(model=ScriptedModel([[call("forever"), call("forever")]]), tools=[forever], sinks=[events.append])

        def stop_when_it_runs(event: AgentEvent) -> None:
            if isinstance(event, ToolStarted):
                asyncio.get_running_loop().call_soon(agent.cancel, 143)

        return agent, await agent.run("go", on_event=stop_when_it_runs), events

    agent, outcome, events = asyncio.run(asyncio.wait_for(main(), 10))
    assert (outcome.status, outcome.exit_code, outcome.reason) == ("cancelled", 143, "cancelled")
    assert [m.role for m in agent.history] == ["user", "model", "tool"]
    assert len(agent.history[-1].responses) == 2 and not open_calls(agent.history)
    assert isinstance(events[-1], RunFinished)
    assert [e.outcome for e in events if isinstance(e, ToolFinished)] == [Outcome.CANCELLED]


def test_what_was_said_before_a_stop_stays_in_the_history() -> None:
    async def main() -> tuple[Agent, ScriptedModel]:
        model = ScriptedModel([[think("hm"), TextDelta("One. Two. "), call("cut"), 60.0], "Three."])
        agent = Agent(model=model)

        def stop(event: AgentEvent) -> None:
            if isinstance(event, ModelDelta) and isinstance(event.event, CallDelta):
                agent.cancel()

        await agent.run("count", on_event=stop)
        await agent.run("go on")
        return agent, model

    agent, model = asyncio.run(asyncio.wait_for(main(), 10))
    assert [m.role for m in agent.history] == ["user", "model", "user", "model"]
    assert agent.history[1].text == "One. Two. " and not open_calls(agent.history)
    assert model.requests[1].messages == tuple(agent.history[:3])


def test_closing_a_stream_early_cancels_the_run() -> None:
    async def main() -> Agent:
        agent = Agent(model=ScriptedModel([[TextDelta("a"), 60.0]]))
        async for event in agent.stream("go"):
            if isinstance(event, TurnStarted):
                break
        return agent

    agent = asyncio.run(asyncio.wait_for(main(), 10))
    assert not open_calls(agent.history)


def test_an_answer_by_schema_is_asked_again_until_it_fits() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    model = ScriptedModel(["seven", '{"n": "7"}', '{"n": 7}'])
    outcome = asyncio.run(Agent(model=model).run("count", output=schema))
    assert outcome.structured_output == {"n": 7}
    assert model.requests[1].output_schema == schema
    model = ScriptedModel(["no"] * 3)
    outcome = asyncio.run(Agent(model=model).run("count", output=schema))
    assert (outcome.reason, outcome.exit_code) == ("error_schema", 1)


def test_a_long_result_is_cut_with_a_note() -> None:
    @tool(kind=ToolKind.READ)
    def long() -> str:
        """Much."""
        return "x" * 500_000

    _, model, _ = run([[call("long")], "ok"], long)
    text = model.requests[1].messages[-1].responses[0].text
    assert len(text) < RESULT_LIMIT + 200 and "characters left out" in text


def test_a_history_survives_json_and_stays_answered() -> None:
    agent, _, _ = run([[call("weather", city="巴黎")], "ok"])
    assert load_history(dump_history(agent.history)) == agent.history
    torn = agent.history[:2]
    assert open_calls(torn) and not open_calls(answered(torn))
    orphan = [Message.user("x"), agent.history[2], Message.model("y")]
    assert [m.role for m in answered(orphan)] == ["user", "model"]


def test_usage_is_added_up_and_two_agents_share_nothing() -> None:
    first, _, _ = run([[TextDelta("a"), Finished(FinishReason.STOP, "stop", Usage(input_tokens=7, output_tokens=3))]])
    second, _, _ = run(["b"])
    assert result(first).usage.total == 10
    assert first.history != second.history and first.state is not second.state


@pytest.mark.parametrize("provider", ("ollama", "openai", "responses", "anthropic", "gemini"))
def test_a_stop_loses_no_word_that_could_have_begun_a_call(provider: str) -> None:
    @tool
    def particular() -> str:
        """A name that begins like a word."""
        return ""

    async def main(server: ModelServer) -> Agent:
        agent = Agent(model=server.model(provider), tools=[particular])

        def stop(event: AgentEvent) -> None:
            if isinstance(event, ModelDelta) and isinstance(event.event, TextDelta):
                agent.cancel()

        await agent.run("go", on_event=stop)
        return agent

    with ModelServer([[text("It is part"), hang()]]) as server:
        agent = asyncio.run(asyncio.wait_for(main(server), 20))
    assert [m.text for m in agent.history] == ["go", "It is part"]
