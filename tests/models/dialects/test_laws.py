"""Laws of the parser: text without a call yields none, any cut gives one message, and time grows with the length."""

# ruff: noqa: E501 - a case is one line
from __future__ import annotations

import gc
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.content.stream import CallDelta
from aicli.models.dialects import Parser, names, parse
from aicli.models.dialects.parser import families
from tests.models.dialects import (
    test_deepseek,
    test_every_family,
    test_gemma,
    test_glm,
    test_harmony,
    test_hermes,
    test_invoke,
    test_json_text,
    test_kimi,
    test_llama3,
    test_mistral,
    test_pythonic,
    test_qwen_xml,
    test_react,
    test_special_tokens,
    test_thinking,
)
from tests.models.dialects.cases import TOOLS, Case, case, cuts, feed, same_in_any_cut
from tests.support.counts import count

ALL: list[Case] = [
    *test_hermes.CASES, *test_qwen_xml.CASES, *test_json_text.CALLS, *test_json_text.ANSWERS, *test_thinking.CASES,
    *test_pythonic.BARE, *test_pythonic.LFM2, *test_pythonic.OLMO, *test_mistral.CASES, *test_deepseek.TOKENS,
    *test_deepseek.DSML, *test_harmony.HARMONY, *test_harmony.MUSE, *test_glm.CASES, *test_glm.HORIZON, *test_kimi.K2, *test_kimi.K3,
    *test_invoke.CASES, *test_invoke.M3, *test_gemma.GEMMA, *test_gemma.FUNCTION_GEMMA, *test_llama3.LLAMA3,
    *test_llama3.FUNCTIONARY, *test_llama3.FUNCTOOLS, *(each for group in test_special_tokens.GROUPS for each in group),
    *test_hermes.LINES, *test_pythonic.TAGS, *test_react.CASES,
    *(each for group in test_every_family.CASES.values() for each in group.values()),
]  # fmt: skip

words = st.sampled_from(
    [
        "the",
        "weather",
        "in",
        "Paris",
        "is",
        "a",
        "tool",
        "call",
        "<div>",
        "</div>",
        "<b>",
        "a<b",
        "&&",
        "c>d",
        "1.",
        "-",
        "*",
        "#",
        "`x`",
        "[1]",
        "[link](http://x.y)",
        "{a}",
        "f(x)",
        "get_weather",
        "get_time",
        "search",
        "bash",
        "name",
        "arguments",
        "function",
        "tool_call",
        "<tool>",
        "</tool>",
        "北京",
        "天气",
        "🌧",
        "=:",
        ";",
        "|",
        "||",
        "<|",
        "|>",
        "<<",
        ">>",
        "print(1)",
        "x",
        "=",
        "{'a':",
        "1}",
        "[1,",
        "2]",
        "null",
        "True",
        "analysis",
        "final",
        "to=me",
        "call:me",
        ">>>",
        "...",
        "---",
        "Action:",
        "functools",
        "assistant",
    ]
)
prose = st.lists(st.one_of(words, st.sampled_from([" ", "\n", "\n\n", "\t", ". ", ", "])), max_size=40).map("".join)
python = st.sampled_from(
    [
        "```python\ndef get_weather(city):\n    return {'name': 'get_weather'}\n```\n",
        "```\nget_weather(city='Paris')\n```\n",
        "```js\nconst x = [search(1), 2];\n```\n",
        "    x = [get_time() for _ in range(3)]\n",
        '~~~\nIt is <tool_call>{"name": "get_time"}</tool_call>\n~~~\n',
        "Use `get_time()` or `<tool_call>`.\n",
    ]
)
plain_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["id", "city", "name", "type", "value", "tools", "description"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
data = st.tuples(plain_json, st.sampled_from([None, 2])).map(
    lambda d: __import__("json").dumps(d[0], indent=d[1], ensure_ascii=False)
)
NAMED_LINE = re.compile(rf"\s*({'|'.join(re.escape(t.name) for t in TOOLS)})\s*\{{").match
"""A reply that begins with a tool's name and braces is how Functionary calls."""
no_calls = (
    st.lists(st.one_of(prose, python, data, data.map(lambda d: f"```json\n{d}\n```\n")), max_size=5)
    .map("\n".join)
    .filter(lambda text: not NAMED_LINE(text))
)


@settings(max_examples=count(60, 20_000), deadline=None)
@given(no_calls, st.integers(0, 10_000))
def test_text_without_a_call_never_yields_one(text: str, seed: int) -> None:
    parsed = parse(text, TOOLS)
    assert not parsed.calls and not parsed.unreadable and not parsed.problem
    assert parsed.content == text
    same_in_any_cut(case(text), parsed, randoms=1)


@settings(max_examples=count(40, 5_000), deadline=None)
@given(
    st.lists(st.sampled_from(ALL), min_size=2, max_size=3),
    st.integers(0, 40),
    st.integers(0, 40),
    st.sampled_from(["", "\n", " so "]),
)
def test_any_mixture_of_dialects_reads_the_same_in_any_cut(some: list[Case], head: int, tail: int, gap: str) -> None:
    text = gap.join(each.text for each in some)
    text = text[head if len(text) > 90 else 0 : len(text) - tail if len(text) > 90 else None]
    same_in_any_cut(case(text), randoms=2)


@settings(max_examples=count(80, 20_000), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *sorted(Parser(TOOLS)._reader.sure),
                "{",
                "}",
                "[",
                "]",
                '"',
                "'",
                "\n",
                "a",
                "get_time",
                ":",
                ",",
                "(",
                ")",
                "```",
                "<think>",
                "</think>",
                "\\",
                " ",
            ]
        ),
        max_size=25,
    ).map("".join)
)
def test_no_heap_of_markers_breaks_the_parser(text: str) -> None:
    same_in_any_cut(case(text), randoms=1)


@pytest.mark.parametrize("each", ALL[:: count(11, 1)], ids=repr)
def test_without_tools_nothing_is_a_call(each: Case) -> None:
    parsed = parse(each.text, (), each.dialect, each.starts)
    assert not parsed.calls and not parsed.unreadable


UNCLOSED = [each for each in ALL if each.calls and not each.content]


@pytest.mark.parametrize("each", UNCLOSED[:: count(8, 1)], ids=repr)
def test_a_call_that_the_length_limit_cut_is_never_run(each: Case) -> None:
    """Wherever the text is cut, what was still open at the cut gives no call, and what did come was whole."""
    for end in range(1, len(each.text), max(1, len(each.text) // count(9, 60))):
        text = each.text[:end]
        open_calls, _ = feed(
            Case(text, dialect=each.dialect, tools=each.tools, starts=each.starts), [text], finish="length"
        )
        run = [e for e in open_calls if isinstance(e, CallDelta) and not e.raw]
        whole = [(name, args) for name, args in each.calls]
        assert [(e.name, e.args) for e in run] == whole[: len(run)], text
        parser = Parser(each.tools, each.dialect, each.starts)
        parser.feed(text)
        assert not [e for e in parser.close("length") if isinstance(e, CallDelta) and not e.raw], text


GROWING = {
    "prose": "Hello world, this is prose with `code` and {braces} [x] <b>.\n\n",
    "white space": " ",
    "angles": "<",
    "fences": "```\n",
    "open calls": '<tool_call>{"name": "get_time", "a": "',
    "mentions": "<tool_call> ",
    "json": '{"name": "get_time", "arguments": {"a": "',
    "brackets": "[",
    "parameters": "<tool_call><function=bash><parameter=command></parameter> x ",
    "gemma": '<|tool_call>call:bash{command:<|"|><tool_call|> y ',
    "pythonic": "[get_time(a='x",
    "lfm2": "<|tool_call_start|>[get_time(a='x', b=",
    "lines": '{"name":"get_time","arguments":{}} x\n',
    "channels": "<|channel|>analysis<|message|>x<|end|>",
    "thinking": "<think>a</think>",
    "thinkers": "<think>a<thinking>b</thought>",
    "actions": "Action: get_time\nAction Input: {}\n",
    "open actions": 'Action: get_time\nAction Input: {"a": "x\n',
    "python in tags": "<tool_call>get_time(a='x",
    "lines in tags": "<tool_call>\nname: get_time\n",
}


@pytest.mark.parametrize("unit", GROWING.values(), ids=GROWING.keys())
@pytest.mark.parametrize("size", [1, 1 << 20], ids=["1 byte", "whole"])
def test_time_grows_with_the_length(unit: str, size: int) -> None:
    """Four times the text may cost ten times the time, never the sixteen of a quadratic reader."""

    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        pieces = cuts(text, size)
        parser = Parser(TOOLS)
        gc.collect()  # what other tests left is not the parser's time
        began = time.process_time()
        for piece in pieces:
            parser.feed(piece)
        parser.close()
        return time.process_time() - began

    short, long = count(10_000, 50_000), count(40_000, 200_000)
    assert seconds(long) < 10 * max(seconds(short), 0.02)


def test_every_family_is_found_by_folder_and_named_once() -> None:
    assert len(set(names())) == len(names())
    owners: dict[str, set[str]] = {}
    for each in families():
        for spelling in (each.name, *each.aliases):
            owners.setdefault("".join(filter(str.isalnum, spelling)), set()).add(each.name)
    assert {k: v for k, v in owners.items() if len(v) > 1} == {}
    wanted = "hermes qwen_xml qwen3_coder json llama3 pythonic mistral deepseek dsml harmony glm kimi kimi_k3 minimax minimax_m3"
    wanted += (
        " gemma4 functiongemma granite phi4 internlm command_r hunyuan apertus gigachat step3 minicpm muse inkling"
    )
    wanted += " anthropic_xml lfm2 olmo3 functionary firefunction plamo dots react seed_oss nemotron laguna gpt-oss Qwen3-Coder"
    for name in wanted.split():
        Parser(TOOLS, name)
    with pytest.raises(ValueError, match="hermes"):
        Parser(TOOLS, "klingon")
