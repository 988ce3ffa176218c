"""DeepSeek: the token forms of V3 and V3.1, the DSML tags of V3.2 and V4."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import Case, case, check, weather

BS, ES = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
B, E, SEP = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"
CITY = '{"city": "Paris"}'


def v3(name: str, args: str) -> str:
    return f"{B}function{SEP}{name}\n```json\n{args}\n```{E}"


def v31(name: str, args: str) -> str:
    return f"{B}{name}{SEP}{args}{E}"


TOKENS = [
    case(f"{BS}{v3('get_weather', CITY)}{ES}", weather()),
    case(f"{BS}{v3('get_weather', CITY)}\n{v3('get_time', '{}')}{ES}", weather(), ("get_time", {})),
    case(f"{BS}{v31('get_weather', CITY)}{ES}", weather()),
    case(
        f"{BS}{v31('get_weather', CITY)}{v31('get_time', '{}')}{ES}<｜end▁of▁sentence｜>", weather(), ("get_time", {})
    ),
    case(f"Sure.\n{BS}{v31('get_weather', CITY)}{ES}", weather(), content="Sure."),
    case(f"<think>Hm</think>\n\n{BS}{v31('get_weather', CITY)}{ES}", weather(), reasoning="Hm"),
    case(f"Hm</think>{BS}{v31('get_weather', CITY)}{ES}", weather(), reasoning="Hm"),
    case(f"Hm{BS}{v31('get_weather', CITY)}{ES}", weather(), reasoning="Hm", starts=True),
    case(v31("get_weather", CITY), weather()),
    case(f"{BS}{v31('get_weather', CITY)}", weather()),
    case(f"{BS}{B}get_weather{SEP}{CITY}", weather()),
    case(f"{BS}{B}get_weather{SEP}{CITY}{ES}", weather()),
    case(f"{BS}{B}get_weather{SEP}{CITY}{B}get_time{SEP}{{}}{E}{ES}", weather(), ("get_time", {})),
    case(f"{BS}{v31('get_weather', CITY)}{ES}".replace("｜", "|"), weather()),
    case(f"{BS}{v3('get_weather', CITY)}{ES}".replace("｜", "|").replace("▁", "_"), weather()),
    case(f"{BS}{B}function{SEP}get_weather\n{CITY}{E}{ES}", weather()),
    case(f'{BS}{v31("bash", """{"command": "echo }```{ </x>"}""")}{ES}', ("bash", {"command": "echo }```{ </x>"})),
    case(f'{BS}{v31("teleport", """{"to": 1}""")}{ES}', ("teleport", {"to": 1})),
    case(f'{BS}{B}get_weather{SEP}{{"city": "Pa', unreadable=("get_weather",), problem="get_weather"),
    case(f"The {B} token", content=f"The {B} token"),
    case(f"{BS}{v31('get_weather', CITY)}{ES}", weather(), dialect="deepseek_v3_1"),
]


def dsml(name: str, *params: tuple[str, str, str], outer: str = "function_calls", bar: str = "｜DSML｜") -> str:
    inner = "".join(f'<{bar}parameter name="{k}"{a}>{v}</{bar}parameter>\n' for k, a, v in params)
    return f'<{bar}{outer}>\n<{bar}invoke name="{name}">\n{inner}</{bar}invoke>\n</{bar}{outer}>'


TRUE, FALSE = ' string="true"', ' string="false"'
CITY_PARAM = ("city", TRUE, "Paris")

DSML = [
    case(dsml("get_weather", CITY_PARAM), weather()),
    case(dsml("get_weather", CITY_PARAM, ("days", FALSE, "2")), weather(days=2)),
    case(dsml("get_weather", CITY_PARAM, outer="tool_calls"), weather()),
    case(dsml("get_weather", CITY_PARAM, outer="calls", bar="｜DSML｜ "), weather()),
    case(dsml("get_weather", CITY_PARAM, bar="|DSML|"), weather()),
    case(dsml("get_weather", CITY_PARAM, outer="toolcalls"), weather()),
    case(dsml("get_weather", CITY_PARAM, outer="tool"), weather()),
    case(dsml("get_weather", CITY_PARAM).split("\n", 1)[1], weather()),
    case(f"I look.\n\n{dsml('get_weather', CITY_PARAM)}", weather(), content="I look."),
    case(f"<think>Hm{dsml('get_weather', CITY_PARAM)}", weather(), reasoning="Hm"),
    case(dsml("calc", ("x", FALSE, "1.5"), ("flag", FALSE, "true"), ("items", FALSE, "[1]"), ("text", TRUE, " 42\n")), ("calc", {"x": 1.5, "flag": True, "items": [1], "text": " 42\n"})),
    case(dsml("calc", ("n", TRUE, "7"), ("text", FALSE, "7")), ("calc", {"n": 7, "text": "7"})),
    case(dsml("calc", ("n", "", "7"), ("text", "", "7")), ("calc", {"n": 7, "text": "7"})),
    case(dsml("teleport", ("to", FALSE, '{"x": 1}'), ("how", TRUE, '{"x": 1}')), ("teleport", {"to": {"x": 1}, "how": '{"x": 1}'})),
    case(dsml("get_weather", CITY_PARAM).replace("</｜DSML｜invoke>\n", ""), weather()),
    case(dsml("get_weather", CITY_PARAM, ("days", FALSE, "2")).replace("</｜DSML｜parameter>\n<", "<", 1), weather(days=2)),
    case('<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n{"city": "Paris"}\n</｜DSML｜invoke>\n</｜DSML｜function_calls>', weather()),
    case(dsml("get_time"), ("get_time", {})),
    case(dsml("get_time").replace("</｜DSML｜function_calls>", "") + dsml("get_weather", CITY_PARAM), ("get_time", {}), weather()),
    case(
        dsml("get_time").replace("\n</｜DSML｜function_calls>", '\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'),
        ("get_time", {}),
        weather(),
    ),
    case(dsml("write_file", ("path", TRUE, "a"), ("content", TRUE, "<b>&amp;</b>\n</think>")), ("write_file", {"path": "a", "content": "<b>&amp;</b>\n</think>"})),
    case('<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Pa', unreadable=("get_weather",), problem="never ended"),
    case(dsml("get_weather", CITY_PARAM), content=dsml("get_weather", CITY_PARAM), tools=()),
    case(dsml("get_weather", CITY_PARAM), weather(), dialect="dsml"),
]  # fmt: skip


@pytest.mark.parametrize("each", [*TOKENS, *DSML], ids=repr)
def test_deepseek(each: Case) -> None:
    check(each)
