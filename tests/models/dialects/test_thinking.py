"""Thinking is told from content: every mark, unclosed, nested, orphaned, split anywhere."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from aicli.content.stream import Relabelled
from aicli.models.dialects import thinking
from tests.models.dialects.cases import Case, case, check, cuts, feed, message

TIME = '<tool_call>{"name": "get_time", "arguments": {}}</tool_call>'

CASES = [
    *(case(f"{o}Why.{c}Because.", reasoning="Why.", content="Because.") for o, c in thinking.PAIRS.items()),
    *(case(f"\n {o}\nWhy.\n{c}\n\nBecause. ", reasoning="Why.", content="Because. ") for o, c in thinking.PAIRS.items()),
    *(case(f"Why.{c}Because.", reasoning="Why.", content="Because.") for c in sorted(thinking.LONE_CLOSERS)),
    *(case(f"Why.{c}Because.", reasoning="Why.", content="Because.", starts=True) for c in sorted(thinking.LONE_CLOSERS)),
    *(case(f"{o}Why.{c}\nBecause.", reasoning="Why.", content="Because.") for o in sorted(thinking.WORDY) for c in map(thinking.PAIRS.get, sorted(thinking.WORDY))),
    case("<think>a <thinking>b</thinking> c</think>d", reasoning="a <thinking>b</thinking> c", content="d"),
    case("<think>a `</thinking>` b</think>c", reasoning="a `</thinking>` b", content="c"),
    case("<think>a</thinking>b</think>c", reasoning="ab", content="c"),
    case(f"<think>Why</thinking>\n{TIME}", ("get_time", {}), reasoning="Why"),
    case("<think>[/THINK] is no closer of mine", reasoning="[/THINK] is no closer of mine"),
    case("<think>Why", reasoning="Why"),
    case("<think>\n\n</think>\n\nHello", content="Hello"),
    case("<think></think>Hello", content="Hello"),
    case("</think>Hello", content="Hello"),
    case("\n</think>\nHello", content="Hello"),
    case("<think><think>Why</think>Hello", reasoning="Why", content="Hello"),
    case("<think>\n<think>\nWhy</think>Hello", reasoning="Why", content="Hello"),
    case("<think>a</think><think>b</think>c", reasoning="ab", content="c"),
    case("<think>a</think>\n</think>c", reasoning="a", content="c"),
    case("Hello <think>x</think> there", content="Hello <think>x</think> there"),
    case("The `</think>` tag", content="The `</think>` tag"),
    case("Code:\n```\n<think>a</think>\n```\n", content="Code:\n```\n<think>a</think>\n```\n"),
    case("x < y and y > z </thin", content="x < y and y > z </thin"),
    case("Why", reasoning="Why", starts=True),
    case("<think>Why</think>So", reasoning="Why", content="So", starts=True),
    case("Why</think>So", reasoning="Why", content="So", tools=()),
    case('So:\n{"name": "get_time", "arguments": {}}\nno</think>Yes', reasoning='So:\n{"name": "get_time", "arguments": {}}\nno', content="Yes"),
    case(f"<think>Why{TIME}", ("get_time", {}), reasoning="Why"),
    case(f"Why{TIME}\n</think>", ("get_time", {}), reasoning="Why"),
    case(f"<think>Why</think>{TIME}<think>More</think>", ("get_time", {}), reasoning="Why", content="<think>More</think>"),
    case("<think>Say `<tool_call>` maybe</think>So", reasoning="Say `<tool_call>` maybe", content="So"),
    case("<think>a tool_call <tool_call> is odd</think>So", reasoning="a tool_call <tool_call> is odd", content="So"),
    case('<think>{"name": "get_time", "arguments": {}}</think>So', reasoning='{"name": "get_time", "arguments": {}}', content="So"),
    case("<think>思考 🤔</think>答え", reasoning="思考 🤔", content="答え"),
    case("Hi<|im_end|>", content="Hi"),
    case("Hi\n<|eot_id|>\n", content="Hi"),
    case("Use `<|im_end|>` to stop", content="Use `<|im_end|>` to stop"),
    case("<s>struck</s> text", content="<s>struck</s> text"),
    case("text</s>", content="text"),
    case("text</s><|im_end|>\n", content="text"),
    case("  two  \n\n spaces  ", content="  two  \n\n spaces  "),
    case("<think>Why <|im_end|>", reasoning="Why"),
    case("", content=""),
    case("   ", content="   "),
]  # fmt: skip


@pytest.mark.parametrize("each", CASES, ids=repr)
def test_thinking(each: Case) -> None:
    check(each)


def test_an_orphan_closer_relabels_what_was_said() -> None:
    events, _ = feed(case("a b</think>c"), cuts("a b</think>c", 1))
    assert Relabelled() in events
    assert [(p["type"], p["text"]) for p in message(events)] == [("thinking", "a b"), ("text", "c")]


def test_content_is_passed_on_as_it_comes() -> None:
    from aicli.models.dialects import Parser

    parser = Parser()
    assert [e.text for e in parser.feed("Hello wor")] == ["Hello wor"]  # type: ignore[union-attr]
    assert parser.feed("ld <thi")[0].text == "ld"  # type: ignore[union-attr]
    assert parser.feed("s")[0].text == " <this"  # type: ignore[union-attr]
