"""Gemma 4 and FunctionGemma: braces with bare keys, and the repairs of their quotes."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

from typing import Any

import pytest

from tests.models.dialects.cases import Case, case, check, weather

B, C, Q = "<|tool_call>", "<tool_call|>", '<|"|>'


def args(text: str, **wanted: Any) -> Case:
    """A call of an undeclared tool with these braces."""
    return case(f"{B}call:f{text.replace('~', Q)}{C}", ("f", wanted))


PARIS = f"{B}call:get_weather{{city:{Q}Paris{Q}}}{C}"
GEMMA = [
    case(PARIS, weather()),
    case(f"{PARIS}{PARIS.replace('Paris', 'Rome')}", weather(), weather("Rome")),
    case(f"I look.{PARIS}", weather(), content="I look."),
    case(f"<|channel>thought\nHm<channel|>{PARIS}", weather(), reasoning="Hm"),
    case("<|channel>thought\nHm<channel|>So.", reasoning="Hm", content="So."),
    case("<|channel>first<channel|><|channel>second<channel|>So.", reasoning="firstsecond", content="So."),
    case("Hm.<channel|>So.", reasoning="Hm.", content="So."),
    case("Hm.<channel|>So.", reasoning="Hm.", content="So.", starts=True),
    args("{a:~x~,b:~y~}", a="x", b="y"),
    args("{n:42,x:-1.5,t:true,f:false,z:null}", n=42, x=-1.5, t=True, f=False, z=None),
    args("{o:{t:true,s:~x~},l:[~a~,~b \"q\"~,1]}", o={"t": True, "s": "x"}, l=["a", 'b "q"', 1]),
    args("{}"),
    args("{s:~date\n~}", s="date\n"),
    args('{s:~say \\"hi\\" and "bye"~}', s='say \\"hi\\" and "bye"'),
    args('{q:"raw \\"quoted\\"",n:~g "q"~}', q='raw "quoted"', n='g "q"'),
    args('{q:"keep , old: literal",n:~ok~}', q="keep , old: literal", n="ok"),
    args("{s:~C:\\users\\bob~}", s="C:\\users\\bob"),
    args("{s:~a,b:{c}[d]~}", s="a,b:{c}[d]"),
    args("{e:[\n  { new:~a~,\n   old:~b~},\n {new:~c~}\n]}", e=[{"new": "a", "old": "b"}, {"new": "c"}]),
    args("{c:{Basic LLM Chain:{main:[]}, Other One:{main:[1]}}}", c={"Basic LLM Chain": {"main": []}, "Other One": {"main": [1]}}),
    args('{~A B~:1,"C D":2}', **{"A B": 1, "C D": 2}),
    args("{节点 名称:~北京 🌧~}", **{"节点 名称": "北京 🌧"}),
    args("{p:':\\s*\\w+'}", p=":\\s*\\w+"),
    args("{i:~*.py~,p:'abc',d:~/tmp~}", i="*.py", p="abc", d="/tmp"),
    args("{p:'abc'~}", p="abc"),
    args("{c:~ls}", c="ls"),
    args("{p:~/tmp~,c:~ls}", p="/tmp", c="ls"),
    args("{c:~hello~", c="hello"),
    case(f"{PARIS}{C}Done.", weather(), content="Done."),
    case(f"{PARIS}<|tool_response>Done.", weather(), content="Done."),
    case(PARIS.replace("call:", ""), weather()),
    case(PARIS.replace("call:", "call: "), weather()),
    case(PARIS.removesuffix(C), weather()),
    case(PARIS.removeprefix(B), weather()),
    case(f"{B}call:bash{{command:{Q}echo {C} x{Q}}}{C}", ("bash", {"command": f"echo {C} x"})),
    case(f"{B}call:calc{{text:42,n:42}}{C}", ("calc", {"text": "42", "n": 42})),
    case(f'{B}{{"name": "get_weather", "arguments": {{"city": "Paris"}}}}{C}', weather()),
    case(f"{B}call:get_weather{{city:{Q}Pa", unreadable=("get_weather",), problem="get_weather"),
    case(PARIS.replace("call:", ":call:"), weather()),
    case("<call>" + PARIS.removeprefix(B).replace("call:", ""), weather()),
    case(PARIS.replace(C, "<turn|>"), weather()),
    case(f"<|channel>thought\nHm<channel|>{PARIS.removeprefix(B)}", weather(), reasoning="Hm"),
    case(f"The {B} token", content=f"The {B} token"),
    case("call:me{maybe}", content="call:me{maybe}"),
    case(PARIS, content=PARIS, tools=()),
    case(PARIS, weather(), dialect="gemma4"),
]  # fmt: skip

F, G, X = "<start_function_call>", "<end_function_call>", "<escape>"
CITY = f"{F}call:get_weather{{city:{X}Paris{X}}}{G}"
FUNCTION_GEMMA = [
    case(CITY, weather()),
    case(f"{CITY}<start_function_response>", weather()),
    case(f"{CITY}{F}call:get_time{{}}{G}", weather(), ("get_time", {})),
    case(f"Ok. {CITY}", weather(), content="Ok."),
    case(f"{F}call:calc{{n:3,flag:true,items:[{X}a{X}]}}{G}", ("calc", {"n": 3, "flag": True, "items": ["a"]})),
    case(
        f"{F}call:write_file{{path:{X}a,b{X},content:{X}{{x}}\n{X}}}{G}",
        ("write_file", {"path": "a,b", "content": "{x}\n"}),
    ),
    case(CITY.removesuffix(G), weather()),
    case(f"{F}call:get_weather{{city:{X}Paris}}{G}", weather()),
    case(f"{F}call:get_weather{{city:Paris}}{G}", weather()),
    case(f"{F}call:teleport{{to:1}}{G}", ("teleport", {"to": 1})),
    case(f"{F}call:get_weather{{city:{X}Pa", unreadable=("get_weather",), problem="get_weather"),
    case(CITY, weather(), dialect="functiongemma"),
]


@pytest.mark.parametrize("each", [*GEMMA, *FUNCTION_GEMMA], ids=repr)
def test_gemma(each: Case) -> None:
    check(each)
