from __future__ import annotations

from aicli.content import events as e
from aicli.content.messages import Message
from aicli.content.parts import TextPart, ThinkingPart
from aicli.content.results import CommandDisplay, ToolResult
from aicli.content.run_result import fold
from aicli.ui.plain import PlainRenderer, closing
from aicli.ui.words import Words
from tests.sessions.stories import a_run, call, said, started


def shown(events: list, **options: bool) -> str:
    lines: list[str] = []
    renderer = PlainRenderer(lines.append, **options)
    for event in events:
        renderer(event)
    return "\n".join(lines)


def test_a_call_is_one_line_in_words() -> None:
    assert shown(a_run()) == "ok    read   文件.txt  0.0 s"


def test_quiet_progress_leaves_warnings_and_refusals() -> None:
    denied = e.Denied(call_id="c1", name="shell", args={}, by="mode", why="nobody is there to approve it")
    events = [*a_run()[:5], denied, e.Warned(text="careful"), *a_run()[5:]]
    assert shown(events, progress=False) == "deny  read   文件.txt: nobody is there to approve it\nwarn  careful"


def test_a_refusal_is_not_said_twice() -> None:
    made = call("c1", "shell", command="rm -rf x")
    result = ToolResult.of("refused", is_error=True)
    events = [
        e.ToolStarted(call=made, title="Run rm -rf x", tool="shell"),
        e.Denied(call_id="c1", name="shell", by="mode", why="no"),
        e.ToolFinished(call_id="c1", name="shell", result=result, outcome=e.Outcome.DENIED),
    ]
    assert shown(events) == "deny  run    rm -rf x: no"


def test_failures_say_what_failed() -> None:
    made = call("c1", "shell", command="pytest")
    display = CommandDisplay(command="pytest", exit_code=1, tail="FAILED test_a", lines=1)
    result = ToolResult.of("exit code 1", is_error=True, display=display)
    events = [
        e.ToolStarted(call=made, title="Run pytest", tool="shell"),
        e.ToolFinished(call_id="c1", result=result, outcome=e.Outcome.FAILED, seconds=61),
    ]
    text = shown(events)
    assert text.startswith("FAIL  run    pytest  exit 1  1 min 01 s")
    assert "FAILED test_a" in text


def test_verbose_tells_of_starts_thinking_and_turns() -> None:
    reply = Message(role="model", parts=(ThinkingPart(text="hm\nmore"), TextPart(text="I look."), call()))
    text = shown([started(), e.TurnStarted(n=1), said(reply), *a_run()[4:6]], verbose=True)
    for line in ("start general on ollama:q", "turn  1", "think hm", "says  I look.", "run   read   文件.txt"):
        assert line in text


def test_retries_compaction_and_sub_agents() -> None:
    text = shown(
        [
            e.RetryScheduled(wait=2, why="429 too many requests"),
            e.ContextCompacted(before=100, after=10),
            e.HistoryCut(to=0, why="failed"),
            e.Delegated(call_id="p", event=a_run()[4]),
            e.Delegated(call_id="p", event=a_run()[5]),
        ]
    )
    assert text.splitlines() == [
        "wait  2.0 s: 429 too many requests",
        "note  older turns summarised: 100 -> 10 tokens",
        "note  the failed turn is taken back",
        "  ok    read   文件.txt  0.0 s",
    ]


def test_nothing_that_could_drive_a_terminal() -> None:
    made = call("c1", "shell", command="x")
    bad = "a\x1b[31mred\x1b]0;title\x07\r\n\x9b2J"
    events = [
        e.ToolStarted(call=made, title=f"Run {bad}", tool="shell"),
        e.ToolFinished(call_id="c1", result=ToolResult.of(bad, is_error=True), outcome=e.Outcome.FAILED),
    ]
    text = shown(events)
    assert not any(ord(c) < 32 and c != "\n" for c in text) and "\x9b" not in text


def test_the_last_lines() -> None:
    assert closing(fold(a_run(), 3.21), Words("en")) == "-" * 40 + "\nfinished, 1 call, 3.2 s, 30 tokens, $0.0020"
    failed = [*a_run()[:-1], e.RunFinished(status="failed", exit_code=1)]
    assert closing(fold(failed, 0.5), Words("en")).split("\n")[1].startswith("failed, ")
