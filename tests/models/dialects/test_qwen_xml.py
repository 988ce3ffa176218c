"""Functions and parameters as tags, and the damage that small quantised models do to them."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import Case, case, check, spec, weather


def call(name: str, **values: str) -> str:
    inner = "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in values.items())
    return f"<tool_call>\n<function={name}>\n{inner}</function>\n</tool_call>"


PARIS = call("get_weather", city="Paris")


def wrote(content: str) -> tuple[str, dict[str, str]]:
    return "write_file", {"path": "a.py", "content": content}


CASES = [
    case(PARIS, weather()),
    case(f"I'll look.\n\n{PARIS}", weather(), content="I'll look."),
    case(f"{PARIS}\nDone.", weather(), content="Done."),
    case(f"{PARIS}\n{call('get_time')}", weather(), ("get_time", {})),
    case(call("get_weather", city="Paris", days="007"), weather(days=7)),
    case(
        call("calc", x="3.14", n="-5", flag="TRUE", items='["a", 1]', config='{"a": null}', text="42"),
        ("calc", {"x": 3.14, "n": -5, "flag": True, "items": ["a", 1], "config": {"a": None}, "text": "42"}),
    ),
    case(call("calc", items="['a', True]", config="{'b': None}"), ("calc", {"items": ["a", True], "config": {"b": None}})),
    case(call("calc", n="many", flag="maybe", items="[1,"), ("calc", {"n": "many", "flag": "maybe", "items": "[1,"})),
    case(call("calc", text="true", note="null", either="12"), ("calc", {"text": "true", "note": None, "either": 12})),
    case(call("calc", text='{"a": 1}', note="nothing", either="twelve"), ("calc", {"text": '{"a": 1}', "note": "nothing", "either": "twelve"})),
    case(call("write_file", path="a.py", content="\n  x\n\n"), wrote("\n  x\n\n")),
    case(call("write_file", path="a.py", content="a && b < c > d &amp; \"q\""), wrote("a && b < c > d &amp; \"q\"")),
    case(call("write_file", path="a.py", content="</think> <tool_call> </tool_call>"), wrote("</think> <tool_call> </tool_call>")),
    case(call("write_file", path="a.py", content="use </parameter> here"), wrote("use </parameter> here")),
    case(call("write_file", path="a.py", content="def f():\n</function> tail"), wrote("def f():\n</function> tail")),
    case(call("write_file", path="a.py", content=PARIS), wrote(PARIS)),
    case(call("write_file", path="a.py", content="<parameter=other>x"), wrote("<parameter=other>x")),
    case(PARIS.removeprefix("<tool_call>\n"), weather()),
    case(PARIS.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>"), weather()),
    case("<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n<parameter=days>\n2\n</function>\n</tool_call>", weather(days=2)),
    case("<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</function>\n</tool_call>", weather()),
    case("<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</parameter>\n</function>\n</tool_call>", weather()),
    case("<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</tool_call>", weather()),
    case("<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>", weather()),
    case("<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>", weather()),
    case("<tool_call><function=get_weather><parameter=city>Paris</parameter></function></tool_call>", weather()),
    case(
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n<function=get_time>\n</function>\n</tool_call>",
        weather(),
        ("get_time", {}),
    ),
    case(f"The <tool_call> tag is next.\n{PARIS}", weather(), content="The <tool_call> tag is next."),
    case(f"<think>So </think>\n\nNow.\n{PARIS}", weather(), reasoning="So", content="Now."),
    case(f"<think>\nI call it.\n{PARIS}", weather(), reasoning="I call it."),
    case(f"I call it.\n{PARIS}", weather(), reasoning="I call it.", starts=True),
    case("<tool_call>\n<function=获取天气>\n<parameter=城市>\n北京 🌧\n</parameter>\n</function>\n</tool_call>", ("获取天气", {"城市": "北京 🌧"})),
    case(call("get current weather", **{"the city": "Rome"}), ("get current weather", {"the city": "Rome"})),
    case(call('"odd name"', **{'"k"': '"v"'}), ('"odd name"', {'"k"': '"v"'})),
    case(call("teleport", to="1"), ("teleport", {"to": "1"})),
    case("<function=teleport>\n<parameter=to>\n1\n</parameter>\n</function>", content="<function=teleport>\n<parameter=to>\n1\n</parameter>\n</function>"),
    case('<function=get_weather>{"city": "Paris"}</function>', weather()),
    case('<function=get_weather>{"city": "Paris"}</function>', weather(), dialect="llama3"),
    case(PARIS.replace("tool_call", "seed:tool_call"), weather()),
    case(f"<seed:think>Hm.</seed:think>{PARIS.replace('tool_call', 'seed:tool_call')}", weather(), reasoning="Hm."),
    case(PARIS.replace("\n", "\r\n"), weather()),
    case(
        "<tool_call>\n<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=content>\nhalf a fi",
        unreadable=("write_file",),
        problem="never ended",
    ),
    case(call("write_file", path="a.py", content='re.match("<function=(.*)>", s)'), wrote('re.match("<function=(.*)>", s)')),
    case(call("write_file", path="a.py", content='m = "<function=" + s') + "\n" + call("get_time"), wrote('m = "<function=" + s'), ("get_time", {})),
    case(call("write_file", path="a.py", content='if "<parameter=path>" in s: pass'), wrote('if "<parameter=path>" in s: pass')),
    case(call("write_file", path="a.py", content='if "<parameter=content>" in s: pass'), wrote('if "<parameter=content>" in s: pass')),
    case("A tag <function=get_time> is what it writes. Then </function>.", content="A tag <function=get_time> is what it writes. Then </function>."),
    case(PARIS, content=PARIS, tools=()),
    case(PARIS, weather(), dialect="qwen3_coder"),
    case(call("free", a="1"), ("free", {"a": "1"}), tools=(spec("free"),)),
]  # fmt: skip


@pytest.mark.parametrize("each", CASES, ids=repr)
def test_qwen_xml(each: Case) -> None:
    check(each)
