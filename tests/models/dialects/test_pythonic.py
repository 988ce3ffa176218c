"""Calls written as Python, bare and in the tags of Llama 4, LFM2 and OLMo 3."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import TOOLS, Case, case, check, spec, weather

S, E = "<|tool_call_start|>", "<|tool_call_end|>"
ORDER = "[grocery.order(items=[{'name': 'apple', 'n': 2}], address='1 Main St')]"
ORDERED = ("grocery.order", {"items": [{"name": "apple", "n": 2}], "address": "1 Main St"})

BARE = [
    case('[get_weather(city="Paris")]', weather()),
    case("[get_weather(city='Paris', days=2), get_time()]", weather(days=2), ("get_time", {})),
    case("[get_time()]", ("get_time", {})),
    case("[calc(x=1.5, n=-2, flag=True, items=[1, 'a'], config={'k': None})]", ("calc", {"x": 1.5, "n": -2, "flag": True, "items": [1, "a"], "config": {"k": None}})),
    case("[calc(flag=true, note=null, items=[false])]", ("calc", {"flag": True, "note": None, "items": [False]})),
    case("[calc(items=(1, 2), config={})]", ("calc", {"items": [1, 2], "config": {}})),
    case(ORDER, ORDERED),
    case("I will check.\n[get_time()]", ("get_time", {}), content="I will check."),
    case("[get_time()]\nDone.", ("get_time", {}), content="Done."),
    case("[\n  get_time(),\n  get_weather(city='Paris'),\n]", ("get_time", {}), weather()),
    case("[get_weather(city=\"Martha\\'s Vineyard\")]", weather("Martha's Vineyard")),
    case("[获取天气(城市='北京')]", ("获取天气", {"城市": "北京"})),
    case("[text](https://example.org) is a link", content="[text](https://example.org) is a link"),
    case("[get_time](https://example.org)", content="[get_time](https://example.org)"),
    case("[foo(a=1)]", content="[foo(a=1)]"),
    case("[get_time(), foo()]", content="[get_time(), foo()]"),
    case("[1] see the source", content="[1] see the source"),
    case("Say [get_time()] to call.", content="Say [get_time()] to call."),
    case("Here it is: [get_time()]", ("get_time", {}), content="Here it is:"),
    case("Now [get_time()] and more", ("get_time", {}), content="Nowand more", dialect="pythonic"),
    case("[get_time()]<|python_end|>", ("get_time", {})),
    case("[get_time()]<|tool_call_end|>\nOk", ("get_time", {}), content="Ok"),
    case("[get_time()] is a call.", content="[get_time()] is a call."),
    case("[get_weather(city='Par", content="[get_weather(city='Par"),
    case("[get_time()]", content="[get_time()]", tools=()),
    case("<|python_start|>[get_time()]<|python_end|>", ("get_time", {})),
    case("<|python_start|>get_weather(city='Paris')<|python_end|>", weather()),
    case("<|python_start|>[teleport(to=1)]<|python_end|><|eom|>", ("teleport", {"to": 1})),
    case("<|python_start|>print(1 + 2)<|python_end|>", unreadable=("print",), problem="print"),
]  # fmt: skip

LFM2 = [
    case(f"{S}[get_weather(city='Paris')]{E}", weather()),
    case(f"{S}get_weather(city='Paris'){E}", weather()),
    case(f"{S} [get_time()]{E}\nChecking.", ("get_time", {}), content="Checking."),
    case(f"{S}[get_time(), get_weather(city='Paris')]{E}", ("get_time", {}), weather()),
    case(f"Let me see. {S}[get_time()]{E}", ("get_time", {}), content="Let me see."),
    case(f"{S}{ORDER}{E}", ORDERED),
    case(f"{S}{ORDER}{E}{ORDER}{E}", ORDERED),
    case(f"{S}[]{E}", content=""),
    case(f"{S}[ ]{E}Hi", content="Hi"),
    case(f"{S}[set_date(month=07, day=05)]{E}", ("set_date", {"month": 7, "day": 5})),
    case(f"{S}[label(tags={{'b', 'a'}})]{E}", ("label", {"tags": ["a", "b"]})),
    case(f"{S}[bash(command='sed -n '360,450p' /x/common.py')]{E}", ("bash", {"command": "sed -n '360,450p' /x/common.py"})),
    case(
        f"{S}[bash(command='cd /t && python3 -c \"from sympy import latex\nprint(latex(3*x, mul_symbol='\\,'))\"')]{E}",
        ("bash", {"command": "cd /t && python3 -c \"from sympy import latex\nprint(latex(3*x, mul_symbol='\\,'))\""}),
    ),
    case(f"{S}[bash(command='cat > f << EOF\nimport csv\nEOF')]{E}", ("bash", {"command": "cat > f << EOF\nimport csv\nEOF"})),
    case(f"{S}[bash(command='printf a\x00b')]{E}", ("bash", {"command": "printf a\x00b"})),
    case(f"{S}[bash(command='grep -F \"]\" log')]{E}", ("bash", {"command": 'grep -F "]" log'})),
    case(f"{S}[get_time(), bad(x=b'z')]{E}", ("get_time", {})),
    case(f"{S}[get_time(), bash(command='rm ' + path + '/x')]{E}", ("get_time", {})),
    case(f"{S}[bash(command='rm {{}}'.format('x'))]{E}", unreadable=("bash",), problem="bash"),
    case(f"{S}[bash(command='a' + \"b\")]{E}", ("bash", {"command": "ab"})),
    case(f"{S}[send(from='a', class='b', to='c')]{E}", ("send", {"from": "a", "class": "b", "to": "c"})),
    case(f'{S}[{{"name": "get_time", "arguments": {{}}}}]{E}', ("get_time", {})),
    case(f'{S}{{"name": "get_weather", "arguments": {{"city": "Paris"}}}}{E}', weather()),
    case(f"{S}[get_time()]", ("get_time", {})),
    case(f"{S}[get_weather(city='Pa", unreadable=("get_weather",), problem="get_weather"),
    case(f"<think>Hm</think>{S}[get_time()]{E}<|im_end|>", ("get_time", {}), reasoning="Hm"),
    case(f"{S}[get_time()]{E}", ("get_time", {}), dialect="lfm2"),
]  # fmt: skip

TOLD = "a call tag holds one JSON object"
TAGS = [
    case('<tool_call>get_weather(city="Paris")</tool_call>', weather()),
    case('I look.\n<tool_call>\nget_weather(city="Paris", days=2)\n</tool_call>', weather(days=2), content="I look."),
    case('<tool_call>\n[get_weather(city="Paris"), get_time()]\n</tool_call>', weather(), ("get_time", {})),
    case('<tool_call>get_weather(city="Paris")</tool_call>\n<tool_call>get_time()</tool_call>', weather(), ("get_time", {})),
    case("<tool_call>\nget_weather(city='Paris')\nget_time()\n</tool_call>", weather(), ("get_time", {})),
    case("<tool_call>\n```python\nget_time()\n```\n</tool_call>", ("get_time", {})),
    case("<tool_call>bash(command='a </tool_call> \"b\"')</tool_call>", ("bash", {"command": 'a </tool_call> "b"'})),
    case("<tool_call>获取天气(城市='北京')</tool_call>", ("获取天气", {"城市": "北京"})),
    case("<think>Hm\n<tool_call>get_time()</tool_call>", ("get_time", {}), reasoning="Hm"),
    case("<tool_call>get_time()", ("get_time", {})),
    case("<tool_call>teleport(to=1)</tool_call>", ("teleport", {"to": 1})),
    case('<tool_call>get_weather("Paris")</tool_call>', unreadable=("get_weather",), problem=TOLD),
    case("<tool_call>get_weather(city=place.name)</tool_call>", unreadable=("get_weather",), problem=TOLD),
    case('<tool_call>get_weather(city="Pa', unreadable=("get_weather",), problem="never ended"),
    case("Write <tool_call>f(x)</tool_call> there.", content="Write <tool_call>f(x)</tool_call> there."),
    case("`<tool_call>get_time()</tool_call>`", content="`<tool_call>get_time()</tool_call>`"),
    case("<tool_call>get_time()</tool_call>", content="<tool_call>get_time()</tool_call>", tools=()),
]  # fmt: skip
OLMO = [
    case("<function_calls>get_time()</function_calls>", ("get_time", {})),
    case("<function_calls>\nget_time()\nget_weather(city=\"Paris\")\n</function_calls>", ("get_time", {}), weather()),
    case("<function_calls>\nget_weather(\n  city='Paris',\n  days=2)\n</function_calls>", weather(days=2)),
    case("Wait.\n<function_calls>\nget_time()\n</function_calls>\nOk", ("get_time", {}), content="Wait.Ok"),
    case("<think>a</think><function_calls>get_time()</function_calls>", ("get_time", {}), reasoning="a"),
    case("<function_calls>\nget_time()", ("get_time", {})),
    case("<function_calls>calc(flag=true, note=null)</function_calls>", ("calc", {"flag": True, "note": None})),
    case("<function_calls>teleport(to='x')</function_calls>", ("teleport", {"to": "x"})),
    case("<function_calls>get_weather(city='P", unreadable=("get_weather",), problem="get_weather"),
    case("<function_calls> is a tag", content="<function_calls> is a tag"),
    case("<function_calls>\nwrite_file(path='a', content='x\\ny')\n</function_calls>", ("write_file", {"path": "a", "content": "x\ny"})),
    case("<function_calls>get_time()</function_calls>", ("get_time", {}), dialect="olmo3"),
]  # fmt: skip


@pytest.mark.parametrize("each", [*BARE, *LFM2, *TAGS, *OLMO], ids=repr)
def test_pythonic(each: Case) -> None:
    check(each)


def test_dotted_names_stay_dotted() -> None:
    check(case("[repo.read(path='a')]", ("repo.read", {"path": "a"}), tools=(*TOOLS, spec("repo.read", path="string"))))
