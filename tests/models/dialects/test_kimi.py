"""Kimi K2's section tokens and ids, Kimi K3's open and close tokens."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from aicli.models.dialects import parse
from tests.models.dialects.cases import TOOLS, Case, case, check, weather

SB, SE = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
B, A, E = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
CITY = '{"city": "Paris"}'
PARIS = f"{B}functions.get_weather:0{A}{CITY}{E}"
TIME = f"{B}functions.get_time:1{A}{{}}{E}"

K2 = [
    case(f"{SB}{PARIS}{SE}", weather()),
    case(f"{SB}{PARIS}{TIME}{SE}", weather(), ("get_time", {})),
    case(f"I look.\n{SB}{PARIS}{SE}", weather(), content="I look."),
    case(f"{SB}{PARIS}{SE}Done.", weather(), content="Done."),
    case(f"<think>Hm</think>{SB}{PARIS}{SE}", weather(), reasoning="Hm"),
    case(f"<think>Hm {SB}{PARIS}{SE}", weather(), reasoning="Hm"),
    case(f"◁think▷Hm◁/think▷{SB}{PARIS}{SE}", weather(), reasoning="Hm"),
    case(PARIS, weather()),
    case(f"{SB}{PARIS}{SE}".replace("tool_calls_section", "tool_call_section"), weather()),
    case(f"{SB}{B} functions.get_weather:0 {A} {CITY} {E}{SE}", weather()),
    case(f"{SB}{B}functionsget_weather0{A}{CITY}{E}{SE}", weather()),
    case(f"{SB}{B}get_weather:3{A}{CITY}{E}{SE}", weather()),
    case(f"{SB}{B}get_weather{A}{CITY}{E}{SE}", weather()),
    case(f"{SB}{B}functions.get_weather:0{A}{CITY}{B}functions.get_time:1{A}{{}}{E}{SE}", weather(), ("get_time", {})),
    case(f"{SB}{B}functions.get_weather:0{A}{CITY}{SE}", weather()),
    case(f"{SB}{B}functions.get_weather:0{A}{CITY}", weather()),
    case(f'{SB}{B}functions.bash:0{A}{{"command": "echo {E}"}}{E}{SE}', ("bash", {"command": f"echo {E}"})),
    case(f'{SB}{B}functions.teleport:9{A}{{"to": 1}}{E}{SE}', ("teleport", {"to": 1})),
    case(f'{SB}{B}functions.get_weather:0{A}{{"city": "Pa', unreadable=("get_weather",), problem="get_weather"),
    case(f"{SB}{SE}Hi", content="Hi"),
    case(f"The {SB} token", content=f"The {SB} token"),
    case(f'{SB}{B}functions.获取天气:0{A}{{"城市": "北京"}}{E}{SE}', ("获取天气", {"城市": "北京"})),
    case(f"{SB}{PARIS}{SE}", weather(), dialect="kimi-k2"),
]


def opened(kind: str, text: str, attributes: str = "") -> str:
    return f"<|open|>{kind}{attributes}<|sep|>{text}<|close|>{kind}<|sep|>"


def k3(name: str, *pairs: tuple[str, str, str]) -> str:
    inner = "".join(opened("argument", v, f' key="{k}" type="{t}"') for k, t, v in pairs)
    return opened("tools", opened("call", inner, f' tool="{name}" index="1"'))


K3 = [
    case(opened("think", "Why") + opened("response", "So"), reasoning="Why", content="So"),
    case(opened("response", "So") + "<|close|>message<|sep|>", content="So"),
    case("Hello<|close|>message<|sep|>", content="Hello"),
    case(k3("get_weather", ("city", "string", "Paris")), weather()),
    case(opened("think", "Why") + k3("get_weather", ("city", "string", "Paris"), ("days", "number", "2")), weather(days=2), reasoning="Why"),
    case(k3("calc", ("flag", "boolean", "true"), ("items", "array", "[1]"), ("config", "object", '{"a": 1}'), ("text", "string", "42"), ("note", "null", "null")), ("calc", {"flag": True, "items": [1], "config": {"a": 1}, "text": "42", "note": None})),
    case(k3("teleport", ("to", "number", "1"), ("how", "string", "1")), ("teleport", {"to": 1, "how": "1"})),
    case(opened("tools", opened("call", "", ' tool="get_time" index="1"') + opened("call", opened("argument", "Paris", ' key="city" type="string"'), ' tool="get_weather" index="2"')), ("get_time", {}), weather()),
    case(k3("write_file", ("path", "string", "a"), ("content", "string", " <|open|>x </think>\n")), ("write_file", {"path": "a", "content": " <|open|>x </think>\n"})),
    case(opened("response", "I look.") + k3("get_time"), ("get_time", {}), content="I look."),
    case(k3("get_weather", ("city", "string", "Paris")).removesuffix("<|close|>tools<|sep|>"), weather()),
    case(k3("get_weather", ("city", "string", "Paris")).split("<|close|>call")[0], weather()),
    case(k3("get_weather", ("city", "string", "Paris")).split("is<|close|>")[0], unreadable=("get_weather",), problem="never ended"),
    case("Why<|close|>think<|sep|>" + opened("response", "So"), reasoning="Why", content="So"),
    case("Why<|close|>think<|sep|>" + opened("response", "So"), reasoning="Why", content="So", starts=True),
    case(opened("think", "Why") + opened("response", "So"), reasoning="Why", content="So", tools=()),
    case(opened("response", "So"), content="So", dialect="kimi_k3"),
]  # fmt: skip


@pytest.mark.parametrize("each", [*K2, *K3], ids=repr)
def test_kimi(each: Case) -> None:
    check(each)


def test_the_id_of_k2_is_kept_as_written() -> None:
    parsed = parse(f"{SB}{PARIS}{TIME}{SE}", TOOLS)
    assert [c.id for c in parsed.calls] == ["functions.get_weather:0", "functions.get_time:1"]
