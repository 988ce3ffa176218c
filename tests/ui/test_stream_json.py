from __future__ import annotations

import json

import pytest

from aicli.content import events as e
from aicli.content.messages import Message
from aicli.content.parts import (
    CodeExecutionResultPart,
    ExecutableCodePart,
    FileDataPart,
    InlineDataPart,
    TextPart,
    ThinkingPart,
)
from aicli.content.request import FinishReason
from aicli.content.results import Task, TasksDisplay, ToolResult
from aicli.content.run_result import fold
from aicli.content.stream import CallDelta, Finished, PartAdded, Relabelled, Restarted, TextDelta, ThinkingDelta
from aicli.ui.stream_json import StreamJson, line, result_object
from tests.sessions.stories import a_run, call, said, started
from tests.support.schemas import check_line, check_result


def lines_of(events: list, partials: bool = False) -> list[dict]:
    found: list[dict] = []
    stream = StreamJson(found.append, partials=partials)
    for event in events:
        stream(event)
    for value in found:
        check_line(json.loads(line(value)))
    return found


def test_a_run_is_init_then_messages() -> None:
    found = lines_of(a_run("s9"))
    assert [v["type"] for v in found] == ["system", "user", "assistant", "user", "assistant"]
    assert found[0]["subtype"] == "init" and found[0]["models"] == {"fast": None, "thinking": None, "embedding": None}
    assert {v["session_id"] for v in found} == {"s9"}
    assert found[2]["message"]["content"][1] == {
        "type": "tool_use",
        "id": "c1",
        "name": "read_file",
        "input": {"path": "文件.txt"},
    }
    result = found[3]["message"]["content"][0]
    assert (result["type"], result["tool_use_id"], result["is_error"]) == ("tool_result", "c1", False)


@pytest.mark.parametrize(
    ("event", "subtype"),
    [
        (e.RetryScheduled(wait=1.5, why="429", status=429, discard=True), "api_retry"),
        (e.ContextCompacted(before=9, after=3, replaced=2, summary="s"), "compact_boundary"),
        (e.CallRecovered(dialect="hermes", call_id="c", name="ls"), "call_recovered"),
        (e.Approved(call_id="c", by="rule", rule="edit"), "permission"),
        (e.Denied(call_id="c", name="shell", args={"command": "x"}, by="mode", why="no"), "permission"),
        (e.Warned(text="注意"), "warning"),
        (e.ModelChanged(role="fast", model="a:b"), "model_changed"),
        (e.HistoryCut(to=3, why="failed"), "history_cut"),
        (
            e.ToolFinished(
                call_id="c",
                result=ToolResult(display=TasksDisplay(tasks=(Task(text="a"),))),
                outcome=e.Outcome.OK,
            ),
            "task_update",
        ),
    ],
)
def test_system_lines_fit_the_schema_nested_ones_too(event: e.AgentEvent, subtype: str) -> None:
    for wrapped in (event, e.Delegated(call_id="p1", event=event)):
        last = lines_of([started(), wrapped])[-1]
        assert last["subtype"] == subtype
        assert last.get("parent_tool_use_id") == (None if wrapped is event else "p1")


def test_every_part_has_its_block() -> None:
    parts = (
        TextPart(text="[/INST] \u2028"),
        ThinkingPart(text="想", meta={"anthropic": {"signature": "x"}}),
        InlineDataPart(mime="image/png", data="aGk="),
        FileDataPart(mime="application/pdf", uri="https://x.example/a.pdf"),
        ExecutableCodePart(code="1+1"),
        CodeExecutionResultPart(output="2"),
    )
    content = lines_of([started(), said(Message(role="model", parts=parts))])[-1]["message"]["content"]
    assert [block["type"] for block in content] == ["text", "thinking", "image", "document", "text", "text"]
    assert "signature" not in json.dumps(content)


def test_partials_only_when_asked_for() -> None:
    deltas = [
        TextDelta("a"),
        ThinkingDelta("b"),
        CallDelta(0, name="ls", args={"path": "."}),
        CallDelta(0, args_json='{"a'),
        PartAdded(TextPart(text="x")),
        Relabelled(),
        Restarted(),
        Finished(FinishReason.STOP),
    ]
    events = [started(), *(e.ModelDelta(d) for d in deltas), e.ToolProgress(call_id="c", text="out")]
    assert len(lines_of(events)) == 1
    found = lines_of(events, partials=True)[1:]
    assert [v["event"]["type"] for v in found] == [
        *["content_block_delta"] * 4,
        "content_block",
        "relabelled_as_thinking",
        "message_restart",
        "tool_progress",
    ]
    assert [v["event"]["delta"]["type"] for v in found[:3]] == ["text_delta", "thinking_delta", "input_json_delta"]


def test_a_line_is_one_line_whatever_it_holds() -> None:
    text = line({"a": "x\u2028y\r\n\x00 中文 \ud800"})
    assert text.count("\n") == 1 and text.endswith("\n")
    assert json.loads(text)["a"] == "x\u2028y\r\n\x00 中文 \ud800"
    assert "中文" in line({"a": "中文"})


def test_the_result_of_a_run() -> None:
    denied = e.Denied(call_id="c2", name="shell", args={"command": "rm x"}, by="mode", why="nobody is there")
    events = a_run()
    value = result_object(fold([*events[:-1], denied, events[-1]], 1.2345), sandbox="full")
    check_result(value)
    assert (value["subtype"], value["is_error"], value["result"]) == ("success", False, "done ✓")
    assert (value["num_turns"], value["num_tool_calls"], value["duration_ms"], value["duration_api_ms"]) == (
        2,
        1,
        1234,
        1000,
    )
    assert (value["failed_calls"], value["recovered_calls"]) == (0, 0)
    assert value["usage"]["input_tokens"] == 20 and value["model_usage"]["ollama:q"]["output_tokens"] == 10
    assert value["total_cost_usd"] == pytest.approx(0.002)
    assert value["permission_denials"] == [
        {"tool_name": "shell", "tool_use_id": "c2", "tool_input": {"command": "rm x"}, "why": "nobody is there"}
    ]


def test_the_result_of_a_failure() -> None:
    error = e.ErrorInfo(type="AuthFailed", message="no key", hint="set one", status=401)
    end = e.RunFinished(status="failed", reason="error_auth", exit_code=41, error=error)
    value = result_object(fold([started(), end]))
    check_result(value)
    assert value["is_error"] and value["error"]["status"] == 401 and value["total_cost_usd"] is None


def test_a_run_cut_short_is_an_error() -> None:
    value = result_object(fold([started(), said(Message(role="model", parts=(call(),)))]))
    check_result(value)
    assert value["is_error"] and value["subtype"] == "error_during_execution"
