"""JSON between call tags, and what goes wrong with it."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import Case, case, check, weather

PARIS = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
TIME = '{"name": "get_time", "arguments": {}}'

CASES = [
    case(f"<tool_call>\n{PARIS}\n</tool_call>", weather()),
    case(f"<tool_call>{PARIS}</tool_call>", weather()),
    case(f"Let me look.\n<tool_call>\n{PARIS}\n</tool_call>", weather(), content="Let me look."),
    case(f"<tool_call>{PARIS}</tool_call>\nDone.", weather(), content="Done."),
    case(f"<tool_call>\n{PARIS}\n</tool_call>\n<tool_call>\n{TIME}\n</tool_call>", weather(), ("get_time", {})),
    case(f"<tool_call>\n{PARIS}\n{TIME}\n</tool_call>", weather(), ("get_time", {})),
    case(f"<tool_call>[{PARIS}, {TIME}]</tool_call>", weather(), ("get_time", {})),
    case(f"<think>\nRain?\n</think>\n\n<tool_call>\n{PARIS}\n</tool_call>", weather(), reasoning="Rain?"),
    case(f"<think>Rain? <tool_call>{PARIS}</tool_call>", weather(), reasoning="Rain?"),
    case(f"<tool_call>\n{PARIS}", weather()),
    case(f"<tool_call>\n{PARIS}\n<tool_call>\n{TIME}\n</tool_call>", weather(), ("get_time", {})),
    case(f"<tool_call>\n{PARIS}}}\n</tool_call>", weather()),
    case(f"<tool_call>\n{PARIS[:-1]}\n</tool_call>", weather()),
    case(f"<tool_call>\n{PARIS[:-1]},}}\n</tool_call>", weather()),
    case(f"<tool_call>{PARIS}</tool_call></tool_call>", weather()),
    case(f"<tool_call>{PARIS}</tool_call>\n<tool_call>{PARIS}</tool_call>", weather()),
    case(f"<tool_call>{PARIS}</tool_call>{PARIS}</tool_call>", weather()),
    case(f"<tool_call>[{TIME}, {TIME}]</tool_call>", ("get_time", {}), ("get_time", {})),
    case(f"<tool_call>\n```json\n{PARIS}\n```\n</tool_call>", weather()),
    case(
        '<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "x </tool_call> y"}}</tool_call>',
        ("write_file", {"path": "a", "content": "x </tool_call> y"}),
    ),
    case(
        '<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "<tool_call>\\n{}"}}</tool_call> ok',
        ("write_file", {"path": "a", "content": "<tool_call>\n{}"}),
        content="ok",
    ),
    case(
        '<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "one\ntwo\tthree"}}</tool_call>',
        ("write_file", {"path": "a", "content": "one\ntwo\tthree"}),
    ),
    case("<tool_call>{'name': 'get_weather', 'arguments': {'city': 'Paris'}}</tool_call>", weather()),
    case(
        "<tool_call>{'name': 'calc', 'arguments': {'flag': True, 'note': None}}</tool_call>",
        ("calc", {"flag": True, "note": None}),
    ),
    case('<tool_call>{"name": "get_weather", "arguments": "{\\"city\\": \\"Paris\\"}"}</tool_call>', weather()),
    case('<tool_call>{"name": "get_time", "arguments": null}</tool_call>', ("get_time", {})),
    case('<tool_call>{"name": "get_time", "arguments": ""}</tool_call>', ("get_time", {})),
    case('<tool_call>{"name": "get_time"}</tool_call>', ("get_time", {})),
    case('<tool_call>{"arguments": {"city": "Paris"}, "name": "get_weather"}</tool_call>', weather()),
    case('<tool_call>{"name": "get_weather", "parameters": {"city": "Paris"}}</tool_call>', weather()),
    case(
        '<tool_call>{"type": "function", "function": {"name": "get_time", "arguments": {}}}</tool_call>',
        ("get_time", {}),
    ),
    case(
        '<tool_call>{"name": "get_weather", "arguments": {"name": "get_weather", "arguments": {"city": "Paris"}}}</tool_call>',
        weather(),
    ),
    case('<tool_call>{"name": "functions.get_time", "arguments": {}}</tool_call>', ("get_time", {})),
    case('<tool_call>{"name": "teleport", "arguments": {"to": 1}}</tool_call>', ("teleport", {"to": 1})),
    case(
        '<tool_call>{"name": "获取天气", "arguments": {"城市": "北京 🌧"}}</tool_call>', ("获取天气", {"城市": "北京 🌧"})
    ),
    case(
        f"The <tool_call> tag begins a call.\n<tool_call>{TIME}</tool_call>",
        ("get_time", {}),
        content="The <tool_call> tag begins a call.",
    ),
    case(f"Write `<tool_call>{TIME}</tool_call>` to call.", content=f"Write `<tool_call>{TIME}</tool_call>` to call."),
    *(
        case(text, content=text)
        for text in (
            'A call looks like <tool_call>{"name": ..., "arguments": ...}</tool_call> in this form.',
            'A call looks like "<tool_call>{"name": "tool", "arguments": {}}</tool_call>" in this form.',
            "Say <tool_call><function=get_weather></function></tool_call>, with a city.",
            "Say <function=get_weather></function>, with a city.",
            '<tools>[{"type": "function", "function": {"name": "get_time", "description": "x", "parameters": {}}}]</tools>',
        )
    ),
    case(f"<tools>\n{PARIS}\n</tools>", weather()),
    case(f"<tool>{PARIS}</tool>", weather()),
    case(f"<function_calls>\n[{PARIS}, {TIME}]\n</function_calls>", weather(), ("get_time", {})),
    case("<tool>hammer</tool>", content="<tool>hammer</tool>"),
    case(f"{PARIS}\n</tool_call>", weather()),
    case(f"So.\n{PARIS}</tool_call>\nDone.", weather(), content="So.Done."),
    case(f"So:\n<tools>\n{PARIS}", weather(), content="So:"),
    case(f"Now <tool_call>{PARIS}</tool_call> it rains.", weather(), content="Nowit rains."),
    case("a < b <tool_ca", content="a < b <tool_ca"),
    case(f"<tool_call>{TIME}</tool_call><|im_end|>", ("get_time", {})),
    case(f"<longcat_tool_call>{TIME}</longcat_tool_call>", ("get_time", {})),
    case(f"<TOOLCALL>[{PARIS}, {TIME}]</TOOLCALL>", weather(), ("get_time", {})),
    case(f"<tool_calls>[{PARIS}]</tool_calls>", weather()),
    case("<tool_calls>[]</tool_calls>Hi", content="Hi"),
    case(
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Par',
        unreadable=("get_weather",),
        problem="get_weather",
    ),
    case(
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}',
        unreadable=("get_weather",),
        problem="never ended",
    ),
    case(
        '<tool_call>{"name": "get_weather", "arguments": {"city": "x", "days": oh no!!}}</tool_call>',
        unreadable=("get_weather",),
        problem="get_weather",
    ),
    case(
        '<tool_call>{"name": "bash", "arguments": {"command": "echo "hi" there"}}</tool_call>',
        ("bash", {"command": 'echo "hi" there'}),
    ),
    case(
        '<tool_call>{"name": "bash", "arguments": {"command": "incomplete...</tool_call>',
        unreadable=("bash",),
        problem="bash",
    ),
    case(
        '<tool_call>{"name": "bash", "arguments": {"command": "a</tool_call>\n<tool_call>{"name": "get_time"}</tool_call>',
        ("get_time", {}),
        unreadable=("bash",),
        problem="bash",
    ),
    case(f"<tool_call>{TIME}</tool_call>", content=f"<tool_call>{TIME}</tool_call>", tools=()),
    case('<tool_call>{\r\n"name": "get_time",\r\n"arguments": {}\r\n}</tool_call>', ("get_time", {})),
]


LINES = [
    case("<tool_call>\nname: get_weather\narguments:\n  city: Paris\n</tool_call>", unreadable=("get_weather",), problem="no lines of keys and values"),
    case("I look.\n<tool_call>\n- name: get_weather\n  city: Paris\n</tool_call>\n", content="I look.", unreadable=("get_weather",), problem="one JSON object"),
    case("<tool_call>\ntool: teleport\nto: 1\n</tool_call>", unreadable=("teleport",), problem="teleport"),
    case("<tool_call>\nget_weather:\n  city: Paris\n</tool_call>", unreadable=("get_weather",), problem="get_weather"),
    case("<tool_call>get_weather city=Paris</tool_call>", unreadable=("get_weather",), problem="get_weather"),
    case("<tool_call>\n获取天气:\n  城市: 北京\n</tool_call>", unreadable=("获取天气",), problem="获取天气"),
    case(f"<tool_call>\nname: get_weather\n<tool_call>{TIME}</tool_call>", ("get_time", {}), content="<tool_call>\nname: get_weather"),
    case("<tool_call>\nname: get_weather\ncity: Pa", content="<tool_call>\nname: get_weather\ncity: Pa"),
    case("For example:\n<tool_call>\nname: x\n</tool_call>", content="For example:\n<tool_call>\nname: x\n</tool_call>"),
    case("Put <tool_call>name: x</tool_call> around it.", content="Put <tool_call>name: x</tool_call> around it."),
    case("<tool_call>\ncity: Paris\n</tool_call>", content="<tool_call>\ncity: Paris\n</tool_call>"),
    case(f"I use <tool_call>x</tool_call> here. {PARIS}", content=f"I use <tool_call>x</tool_call> here. {PARIS}"),
]  # fmt: skip


@pytest.mark.parametrize("each", [*CASES, *LINES], ids=repr)
def test_hermes(each: Case) -> None:
    check(each)


@pytest.mark.parametrize("each", CASES[:12], ids=repr)
def test_naming_the_dialect_changes_nothing(each: Case) -> None:
    check(case(each.text, *each.calls, content=each.content, reasoning=each.reasoning, dialect="hermes"))
