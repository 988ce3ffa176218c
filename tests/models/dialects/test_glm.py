"""GLM's key and value tags, with the damage that is repaired."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import Case, case, check, weather


def call(name: str, *pairs: tuple[str, str], gap: str = "\n") -> str:
    return (
        f"<tool_call>{name}{gap}"
        + "".join(f"<arg_key>{k}</arg_key>{gap}<arg_value>{v}</arg_value>{gap}" for k, v in pairs)
        + "</tool_call>"
    )


PARIS = call("get_weather", ("city", "Paris"))
CASES = [
    case(PARIS, weather()),
    case(call("get_weather", ("city", "Paris"), ("days", "2"), gap=""), weather(days=2)),
    case("<tool_call>get_time</tool_call>", ("get_time", {})),
    case("<tool_call>get_time\n</tool_call>", ("get_time", {})),
    case(f"{PARIS}\n{call('get_time')}", weather(), ("get_time", {})),
    case(f"I look.\n{PARIS}", weather(), content="I look."),
    case(f"{PARIS}Done.", weather(), content="Done."),
    case(f"<think>Hm</think>\n{PARIS}", weather(), reasoning="Hm"),
    case(f"Hm</think>{PARIS}", weather(), reasoning="Hm"),
    case(f"<think>Hm {PARIS}", weather(), reasoning="Hm"),
    case(
        call("calc", ("x", "1.5"), ("flag", "true"), ("items", '["a"]'), ("config", '{"k": null}'), ("text", "42"), ("note", "null")),
        ("calc", {"x": 1.5, "flag": True, "items": ["a"], "config": {"k": None}, "text": "42", "note": None}),
    ),
    case(call("teleport", ("to", "1"), ("how", "fast"), ("opts", '{"a": 1}')), ("teleport", {"to": 1, "how": "fast", "opts": {"a": 1}})),
    case(call("write_file", ("path", "a"), ("content", " </think> <tool_call>\n&amp; <b> ")), ("write_file", {"path": "a", "content": " </think> <tool_call>\n&amp; <b> "})),
    case("<tool_call>get_weather\n<arg_key>city</arg_key>\nParis</arg_value>\n</tool_call>", weather("\nParis")),
    case("<tool_call>get_weather<arg_key>city</arg_key>Paris</arg_value></tool_call>", weather()),
    case("<tool_call>get_weather<arg_key>city<arg_value>Paris</arg_value></tool_call>", weather()),
    case("<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</tool_call>", weather()),
    case("<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris<arg_key>days</arg_key><arg_value>2</arg_value></tool_call>", weather(days=2)),
    case("<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value>", weather()),
    case("<tool_call>get_weather<arg_key>city</arg_key><arg_value>Pa", unreadable=("get_weather",), problem="never ended"),
    case('<tool_call>write_file\\n<arg_key>path</arg_key>\\n<arg_value>a</arg_value>\\n<arg_key>content</arg_key>\\n<arg_value>x\\n\\"y\\"</arg_value>\\n</tool_call>', ("write_file", {"path": "a", "content": 'x\n"y"'})),
    case(
        r'<tool_call>calc\n<arg_key>items</arg_key>\n<arg_value>[{\"p\": \"C:\\\\Users\\\\n\"}]</arg_value></tool_call>',
        ("calc", {"items": [{"p": "C:\\Users\\n"}]}),
    ),
    case('<tool_call>get_weather\n{"city": "Paris"}\n</tool_call>', weather()),
    case('<tool_call>get_weather\n{"city": "Paris"}', weather()),
    case("<user>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></user>", weather()),
    case(f"<tool_calls>\n{PARIS.replace('get_weather', 'get_weather<tool_sep>')}\n</tool_calls>", weather()),
    case(f"The <tool_call> tag.\n{PARIS}", weather(), content="The <tool_call> tag."),
    case("<tool_call>get_weather is a tool", content="<tool_call>get_weather is a tool"),
    case("<tool_call>获取天气<arg_key>城市</arg_key><arg_value>北京 🌧</arg_value></tool_call>", ("获取天气", {"城市": "北京 🌧"})),
    case('<tool_call>get_weather\n{"city": "Paris"}\n<tool_call>get_weather\n{"city": "Paris"}</tool_call>', weather()),
    case('I run it.<user>\n{"name": "bash", "arguments": {"command": "ls"}}\n</user>', ("bash", {"command": "ls"}), content="I run it."),
    case("<user>hello</user>", content="<user>hello</user>"),
    case("<tool_calls>\n<tool_call>get_time<tool_sep>\n</tool_call>\n</tool_calls>", ("get_time", {})),
    case(PARIS, content=PARIS, tools=()),
    case(PARIS, weather(), dialect="glm-4.7"),
]  # fmt: skip


def ifm(name: str, *pairs: tuple[str, str, str]) -> str:
    types = [f"<ifm|arg_type>{t}</ifm|arg_type>" if t else "" for _, t, _ in pairs]
    inner = "".join(
        f"<ifm|arg_key>{k}</ifm|arg_key>{t}<ifm|arg_value>{v}</ifm|arg_value>"
        for (k, _, v), t in zip(pairs, types, strict=True)
    )
    return f"<ifm|tool_call>{name}{inner}</ifm|tool_call>"


IFM = ifm("get_weather", ("city", "", "Paris"))
HORIZON = [
    case(f"<ifm|tool_calls>{IFM}</ifm|tool_calls>", weather()),
    case(
        f"Before <ifm|tool_calls>{IFM}\n{ifm('get_time')}</ifm|tool_calls> after.",
        weather(),
        ("get_time", {}),
        content="Beforeafter.",
    ),
    case(ifm("calc", ("n", "integer", "2"), ("text", "string", "2")), ("calc", {"n": 2, "text": "2"})),
    case(ifm("teleport", ("to", "integer", "2"), ("how", "string", "2")), ("teleport", {"to": 2, "how": "2"})),
    case(
        '<ifm|tool_calls><ifm|tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</ifm|tool_call></ifm|tool_calls>',
        weather(),
    ),
    case(f"<ifm|tool_calls>{IFM}", weather()),
    case(IFM, weather()),
    case(f"<think>Hm</think><ifm|tool_calls>{IFM}</ifm|tool_calls>", weather(), reasoning="Hm"),
    case(
        "<ifm|tool_calls><ifm|tool_call>get_weather<ifm|arg_key>city</ifm|arg_key><ifm|arg_value>Pa",
        unreadable=("get_weather",),
        problem="never ended",
    ),
    case(f"<ifm|tool_calls>{IFM}</ifm|tool_calls>", weather(), dialect="k2_horizon"),
]


@pytest.mark.parametrize("each", [*CASES, *HORIZON], ids=repr)
def test_glm(each: Case) -> None:
    check(each)
