"""Mistral's marker before arrays and before names."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import Case, case, check, weather

PARIS = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
TIME = '{"name": "get_time", "arguments": {}}'
CITY = '{"city": "Paris"}'

CASES = [
    case(f"[TOOL_CALLS] [{PARIS}]", weather()),
    case(f"[TOOL_CALLS][{PARIS}, {TIME}]", weather(), ("get_time", {})),
    case(f"[TOOL_CALLS][{PARIS}][/TOOL_CALLS]", weather()),
    case(f"Hello[TOOL_CALLS] [{TIME}]", ("get_time", {}), content="Hello"),
    case(f"[TOOL_CALLS] [{PARIS}]\nextra trailing data", weather(), content="extra trailing data"),
    case('[TOOL_CALLS] [{"arguments": {"city": "Paris"}, "name": "get_weather"}]', weather()),
    case(f"[TOOL_CALLS] {PARIS}", weather()),
    case(f"[TOOL_CALLS][TOOL_CALLS] [{PARIS}]", weather()),
    case(f"[TOOL_CALLS]  junk [{TIME}] trail", ("get_time", {}), content="trail"),
    case(f'[TOOL_CALLS] [3, {TIME}, "x"]', ("get_time", {}), content=""),
    case(f"[TOOL_CALLS]get_weather[ARGS]{CITY}", weather()),
    case(f"[TOOL_CALLS]get_weather{CITY}", weather()),
    case(f"[TOOL_CALLS]get_weather[CALL_ID]abc123def[ARGS]{CITY}", weather()),
    case(f"[TOOL_CALLS]get_weather[ARGS]{CITY}[TOOL_CALLS]get_time[ARGS]{{}}", weather(), ("get_time", {})),
    case(f"I look.[TOOL_CALLS]get_weather[ARGS]{CITY}</s>", weather(), content="I look."),
    case(f"get_weather[TOOL_CALLS]{CITY}", weather()),
    case(f"Now get_weather[TOOL_CALLS]{CITY}", weather(), content="Now"),
    case(f"get_weather[ARGS]{CITY}", weather()),
    case(f"[THINK]Rain?[/THINK]Ok.[TOOL_CALLS]get_weather[ARGS]{CITY}", weather(), reasoning="Rain?", content="Ok."),
    case(f"[THINK]Rain?[TOOL_CALLS]get_weather[ARGS]{CITY}", weather(), reasoning="Rain?"),
    case('[TOOL_CALLS]bash[ARGS]{"command": "echo [TOOL_CALLS] {\\"a\\"}"}', ("bash", {"command": 'echo [TOOL_CALLS] {"a"}'})),
    case('[TOOL_CALLS]bash[ARGS]{"command": "a\nb"}', ("bash", {"command": "a\nb"})),
    case('[TOOL_CALLS]teleport[ARGS]{"to": 1}', ("teleport", {"to": 1})),
    case("[TOOL_CALLS] not json at all", content="[TOOL_CALLS] not json at all"),
    case("The [TOOL_CALLS] marker", content="The [TOOL_CALLS] marker"),
    case('[TOOL_CALLS]get_weather[ARGS]{"city": "Pa', unreadable=("get_weather",), problem="get_weather"),
    case('[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Pa', unreadable=("get_weather",), problem="get_weather"),
    case("[TOOL_CALLS]get_time", ("get_time", {})),
    case("[TOOL_CALLS]获取天气[ARGS]{\"城市\": \"北京\"}", ("获取天气", {"城市": "北京"})),
    case(f"[TOOL_CALLS]get_weather[ARGS]{CITY}", weather(), dialect="mistral"),
    case(f"[TOOL_CALLS]get_weather[ARGS]{CITY}", content=f"[TOOL_CALLS]get_weather[ARGS]{CITY}", tools=()),
]  # fmt: skip


@pytest.mark.parametrize("each", CASES, ids=repr)
def test_mistral(each: Case) -> None:
    check(each)
