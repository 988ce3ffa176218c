"""Llama 3's JSON, Functionary's recipients, and lists behind one word."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import Case, case, check, weather

PARIS = '{"name": "get_weather", "parameters": {"city": "Paris"}}'
TIME = '{"name": "get_time", "parameters": {}}'
TAG = "<|python_tag|>"

LLAMA3 = [
    case(PARIS, weather()),
    case(f"{TAG}{PARIS}", weather()),
    case(f"{TAG} {PARIS}<|eom_id|>", weather()),
    case(f"{TAG}{PARIS}; {TIME}", weather(), ("get_time", {})),
    case(f"{TAG}{PARIS} ;\n {TIME}", weather(), ("get_time", {})),
    case(f"{TAG}{PARIS};{TIME};", weather(), ("get_time", {})),
    case(f"{TAG}{PARIS}{TAG}{TIME}", weather(), ("get_time", {})),
    case(f"{PARIS};{TIME}", weather(), ("get_time", {})),
    case(f"{PARIS};\n{TIME}<|eot_id|>", weather(), ("get_time", {})),
    case(f"Some intro. {TAG}{PARIS}", weather(), content="Some intro."),
    case(f"Here it is: {PARIS} Would you like more?", weather(), content="Here it is:Would you like more?", dialect="llama3"),
    case(f"Here it is: {PARIS} Would you like more?", content=f"Here it is: {PARIS} Would you like more?"),
    case('{"name": "bash", "parameters": {"command": "a; b {c} [d]"}}', ("bash", {"command": "a; b {c} [d]"})),
    case('{"name": "get_time", "parameters": {{"name": "get_time", "parameters": {}}', ("get_time", {})),
    case(f'{TAG}{{"name": "get_weather", "parameters": {{{{"name": "get_weather", "parameters": {{"city": "Paris"}}}}', weather()),
    case('{"type": "function", "name": "get_weather", "parameters": {"city": "Paris"}}', weather()),
    case(f'{TAG}brave_search.call(query="rain in \\"Paris\\"")', ("brave_search", {"query": 'rain in "Paris"'})),
    case(f"{TAG}print(1 + 2)", content=f"{TAG}print(1 + 2)"),
    case(f'{TAG}{{"name": "teleport", "parameters": {{"to": 1}}}}', ("teleport", {"to": 1})),
    case(f'{TAG}{{"name": "get_weather", "parameters": {{"city": "Pa', unreadable=("get_weather",), problem="get_weather"),
    case(PARIS, weather(), dialect="llama3.2"),
]  # fmt: skip

FUNCTIONARY = [
    case('>>>get_weather\n{"city": "Paris"}', weather()),
    case('>>>all\nI look.>>>get_weather\n{"city": "Paris"}', weather(), content="I look.", dialect="functionary"),
    case('>>>all\nI look.\n>>>get_weather\n{"city": "Paris"}', weather(), content="I look."),
    case('all\nI look.\n>>>get_weather\n{"city": "Paris"}', weather(), content="I look.", dialect="functionary"),
    case('get_weather\n{"city": "Paris"}', weather()),
    case('get_weather\n{"city": "Paris"}\n>>>get_time\n{}', weather(), ("get_time", {})),
    case('get_weather\n{"city": "Paris"}>>>get_time\n{}', weather(), ("get_time", {})),
    case('get_weather\n{"city": "Paris"}', weather(), dialect="functionary"),
    case("all\nHello", content="Hello", dialect="functionary"),
    case("all\nHello", content="all\nHello"),
    case('get_weather\nis a tool', content="get_weather\nis a tool"),
    case('>>>print("x")\n1', content='>>>print("x")\n1'),
    case(">>> get_time()\n12:00", content=">>> get_time()\n12:00"),
    case('>>>get_weather\n{"city": "Pa', unreadable=("get_weather",), problem="get_weather"),
    case('<function=get_weather>{"city": "Paris"}</function>', weather()),
    case('<function=get_weather>{"city": "Paris"}</function><function=get_time>{}</function>', weather(), ("get_time", {})),
]  # fmt: skip

A = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
B = '{"name": "get_time", "arguments": {}}'
FUNCTOOLS = [
    case(f"functools[{A}]", weather()),
    case(f" functools[{A}]", weather()),
    case(f"functools[{A}, {B}]", weather(), ("get_time", {})),
    case(f"I look.\nfunctools[{A}]", weather(), content="I look."),
    case(f"functools[{A}]\nDone", weather(), content="Done"),
    case(f"functools[\n  {A},\n  {B}\n]<|end|>", weather(), ("get_time", {})),
    case('functools[{"name": "get_weather", "parameters": {"city": "Paris"}}]', weather()),
    case('functools[{"name": "get_weather", "arguments": "{\\"city\\": \\"Paris\\"}"}]', weather()),
    case('functools[{"name": "bash", "arguments": {"command": "ls ] }"}}]', ("bash", {"command": "ls ] }"})),
    case('functools[{"name": "teleport", "arguments": {}}]', ("teleport", {})),
    case('functools[{"name": "get_weather", "arguments": {"city": "Pa', unreadable=("get_weather",), problem="get_weather"),
    case("functools[0] is an item", content="functools[0] is an item"),
    case(f"<think>Hm</think>functools[{A}]", weather(), reasoning="Hm"),
    case(f"functools[{A}]", weather(), dialect="phi4-mini"),
    case(f" functools[{A}]", weather(), dialect="firefunction"),
]  # fmt: skip


@pytest.mark.parametrize("each", [*LLAMA3, *FUNCTIONARY, *FUNCTOOLS], ids=repr)
def test_llama3(each: Case) -> None:
    check(each)
