"""Invoke tags in the wrappers of MiniMax, Anthropic style, Step 3, dots and MiniCPM; MiniMax M3's nested elements."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import Case, case, check, spec, weather


def invoke(name: str, *pairs: tuple[str, str], p: str = "") -> str:
    inner = "".join(f'<{p}parameter name="{k}">{v}</{p}parameter>\n' for k, v in pairs)
    return f'<{p}invoke name="{name}">\n{inner}</{p}invoke>'


PARIS = invoke("get_weather", ("city", "Paris"))
WRAP = "<function_calls>\n{}\n</function_calls>"
M2 = "<minimax:tool_call>\n{}\n</minimax:tool_call>"
MINICPM = '<function name="get_weather"><param name="city">Paris</param></function>'

CASES = [
    case(WRAP.format(PARIS), weather()),
    case(PARIS, weather()),
    case(f"I look.\n\n{WRAP.format(PARIS)}\nDone.", weather(), content="I look.Done."),
    case(WRAP.format(PARIS + "\n" + invoke("get_time")), weather(), ("get_time", {})),
    case(f"{PARIS}\n{invoke('get_time')}", weather(), ("get_time", {})),
    case(WRAP.format(invoke("teleport", ("to", "1"))), ("teleport", {"to": "1"})),
    case(invoke("teleport", ("to", "1")), content=invoke("teleport", ("to", "1"))),
    case(WRAP.format(invoke("calc", ("n", "3"), ("flag", "true"), ("items", "[1]"), ("text", "3"))), ("calc", {"n": 3, "flag": True, "items": [1], "text": "3"})),
    case(WRAP.format(invoke("write_file", ("path", "a"), ("content", "\n<b>&lt;</b>\n\n"))), ("write_file", {"path": "a", "content": "<b>&lt;</b>\n"})),
    case(f"<think>Hm</think>{WRAP.format(PARIS)}", weather(), reasoning="Hm"),
    case(f"<think>Hm {WRAP.format(PARIS)}", weather(), reasoning="Hm"),
    case(f"<tool_call>\n{PARIS}\n</tool_call>", weather()),
    case(f"<tool_calls>{PARIS}</tool_calls>", weather()),
    case(invoke("get_weather", ("city", "Paris"), p="antml:"), weather()),
    case("<invoke name='get_weather'><parameter name='city'>Paris</parameter></invoke>", weather()),
    case(PARIS.replace("</invoke>", ""), weather()),
    case(PARIS.replace("</parameter>", ""), weather()),
    case('<function_calls><invoke name="get_weather"><parameter name="city">Pa', unreadable=("get_weather",), problem="never ended"),
    case("Use <invoke> and <parameter> tags", content="Use <invoke> and <parameter> tags"),
    case(PARIS, content=PARIS, tools=()),
    case(M2.format(PARIS), weather()),
    case(M2.format(PARIS + invoke("get_time")), weather(), ("get_time", {})),
    case(f"Rain?\n</think>\n\n{M2.format(PARIS)}", weather(), reasoning="Rain?"),
    case(f"Rain?\n</think>\n\n{M2.format(PARIS)}", weather(), reasoning="Rain?", starts=True),
    case(f"So.{M2.format(PARIS)}", weather(), content="So."),
    case(M2.format(PARIS).split("</parameter>")[0], unreadable=("get_weather",), problem="never ended"),
    case(M2.format(PARIS).split("</invoke>")[0], weather()),
    case(M2.format(invoke("calc", ("note", "null"), ("x", "2.5"), ("config", '{"a": [1]}'))), ("calc", {"note": None, "x": 2.5, "config": {"a": [1]}})),
    case(M2.format(invoke("teleport")), ("teleport", {})),
    case(M2.format(PARIS), weather(), dialect="minimax_m2"),
    case(f"<dots_function_call>{PARIS}</dots_function_call>", weather()),
    case(f"<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>{invoke('get_weather', ('city', 'Paris'), p='steptml:')}<｜tool_call_end｜><｜tool_calls_end｜>", weather()),
    case(f"So.<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>{invoke('get_time', p='steptml:')}<｜tool_call_end｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>{invoke('calc', ('n', '2'), p='steptml:')}<｜tool_call_end｜><｜tool_calls_end｜>", ("get_time", {}), ("calc", {"n": 2}), content="So."),
    case(MINICPM, weather()),
    case(f"Ok.\n{MINICPM}\n{MINICPM.replace('Paris', 'Rome')}", weather(), weather("Rome"), content="Ok."),
    case(MINICPM.replace("</param>", ""), weather()),
    case('<function name="calc"><param name="n">3</param><param name="text">3</param></function>', ("calc", {"n": 3, "text": "3"})),
    case('<function name="get_time"></function>', ("get_time", {})),
    case(f"<think>Hm</think>{MINICPM}", weather(), reasoning="Hm"),
    case('<function name="teleport"></function>', content='<function name="teleport"></function>'),
    case('<function name="get_weather"><param name="city">Pa', unreadable=("get_weather",), problem="never ended"),
    case(MINICPM, weather(), dialect="minicpm5"),
    case(MINICPM.replace("n name", "nname").replace("m name", "mname"), weather()),
    case(MINICPM.replace(" name", "Ġname"), weather()),
    case(MINICPM.replace("Paris", "<![CDATA[Pa</b>\nris]]>"), weather("Pa</b>\nris")),
]  # fmt: skip

NS = "]<]minimax[>["
ORDER = spec(
    "create_order",
    user_id="integer",
    urgent="boolean",
    note="string",
    shipping={"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}}},
    items={
        "type": "array",
        "items": {"type": "object", "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}}},
    },
    metadata={"type": "object", "additionalProperties": {"type": "string"}},
    tags={"type": "object"},
)


def m3(*invokes: str) -> str:
    return f"<tool_call>\n{''.join(invokes)}\n</tool_call>".replace("<", f"{NS}<")


def order(inner: str) -> str:
    return f'<invoke name="create_order">{inner}</invoke>'


M3 = [
    Case(text, calls, tools=(ORDER,), **more)  # type: ignore[arg-type]
    for text, calls, more in [
        (m3(order("<user_id>42</user_id>")), (("create_order", {"user_id": 42}),), {}),
        ("So.\n" + m3(order("<urgent>true</urgent><note> hi \n</note>")), (("create_order", {"urgent": True, "note": " hi \n"}),), {"content": "So."}),
        (m3(order("<shipping><city>Rome</city><zip>018956</zip></shipping>")), (("create_order", {"shipping": {"city": "Rome", "zip": 18956}}),), {}),
        (m3(order("<items><item><sku>a</sku><qty>2</qty></item><item><sku>b</sku><qty>5</qty></item></items>")), (("create_order", {"items": [{"sku": "a", "qty": 2}, {"sku": "b", "qty": 5}]}),), {}),
        (m3(order("<metadata><source>42</source></metadata>")), (("create_order", {"metadata": {"source": "42"}}),), {}),
        (m3(order("<tags><tag>a</tag><tag>b</tag></tags>")), (("create_order", {"tags": {"tag": ["a", "b"]}}),), {}),
        (m3(order("<user_id>1</user_id>"), "\n", order("<user_id>2</user_id>")), (("create_order", {"user_id": 1}), ("create_order", {"user_id": 2})), {}),
        (m3(order("")), (("create_order", {}),), {}),
        (f"<mm:think>Hm</mm:think>{m3(order('<user_id>1</user_id>'))}", (("create_order", {"user_id": 1}),), {"reasoning": "Hm"}),
        (m3(order("<user_id>1</user_id>")).split(f"\n{NS}</tool_call>")[0], (("create_order", {"user_id": 1}),), {}),
        (m3(order("<user_id>1</user_id>"), order("<user_id>2</user_id>")).split("2")[0], (("create_order", {"user_id": 1}),), {"unreadable": ("create_order",), "problem": "never ended"}),
        (f"plain {NS}<tool_ca", (), {"content": f"plain {NS}<tool_ca"}),
        (m3('<invoke name="teleport"><to>1</to></invoke>'), (("teleport", {"to": "1"}),), {}),
    ]
]  # fmt: skip


@pytest.mark.parametrize("each", [*CASES, *M3], ids=repr)
def test_invoke(each: Case) -> None:
    check(each)
