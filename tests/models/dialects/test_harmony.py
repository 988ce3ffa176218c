"""Harmony and Muse: channels and recipients in every broken order."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import Case, case, check, weather

A = "<|channel|>analysis<|message|>Rain?<|end|>"
S = "<|start|>assistant"
CITY = '{"city": "Paris"}'
CALL = f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{CITY}<|call|>"

HARMONY = [
    case(f"{A}{S}<|channel|>final<|message|>Yes.<|return|>", reasoning="Rain?", content="Yes."),
    case("<|channel|>final<|message|>Yes.", content="Yes."),
    case("<|channel|>analysis<|message|>Rain", reasoning="Rain"),
    case(CALL, weather()),
    case(f"{A}{S}{CALL}", weather(), reasoning="Rain?"),
    case(f"{S}{CALL}", weather()),
    case(f"{A}{S}<|channel|>commentary<|message|>I look.<|end|>{S}{CALL}", weather(), reasoning="Rain?", content="I look."),
    case(f"{S} to=functions.get_weather<|channel|>commentary json<|message|>{CITY}<|call|>", weather()),
    case(f"<|channel|>analysis to=functions.get_weather <|constrain|>json<|message|>{CITY}<|call|>", weather()),
    case(f"<|channel|>commentary to=functions.get_weather<|message|>{CITY}<|call|>", weather()),
    case(f"<|channel|>commentary to=functions.get_weather code<|message|>{CITY}<|call|>", weather()),
    case(f"<|channel|>commentary to=get_weather <|constrain|>json<|message|>{CITY}<|call|>", weather()),
    case(f"<|channel|>commentary to=functions.get_weather<|channel|>commentary json<|message|>{CITY}<|call|>", weather()),
    case(f"<|channel|>commentary to=functions.get_weather? <|constrain|>json<|message|>{CITY}<|call|>", weather()),
    case(f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{CITY}", weather()),
    case(f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{CITY}<|end|>{S}<|channel|>final<|message|>Ok<|return|>", weather(), content="Ok"),
    case(f"{CALL}{S}{CALL.replace('get_weather', 'get_time').replace(CITY, '')}", weather(), ("get_time", {})),
    case(f"{CALL}{S}<|channel|>commentary to=functions.get_time<|message|>{{}}<|call|>", weather(), ("get_time", {})),
    case('<|channel|>commentary to=functions.teleport<|message|>{"to": 1}<|call|>', ("teleport", {"to": 1})),
    case('<|channel|>commentary to=functions.get_weather<|message|>{"city": "Pa', unreadable=("get_weather",), problem="get_weather"),
    case("<|channel|>commentary to=functions.get_weather<|message|>Paris<|call|>", unreadable=("get_weather",), problem="get_weather"),
    case('<|channel|>commentary to=functions.bash<|message|>{"command": "echo <|end|> x"}<|call|>', ("bash", {"command": "echo <|end|> x"})),
    case(f"assistant{A}{S}<|channel|>final<|message|>Yes.", reasoning="Rain?", content="Yes."),
    case("analysis<|message|>Rain?<|end|><|start|>assistant<|channel|>final<|message|>Yes.", reasoning="Rain?", content="Yes.", dialect="harmony"),
    case(f"Rain?<|end|>{S}<|channel|>final<|message|>Yes.", reasoning="Rain?", content="Yes.", starts=True, dialect="harmony"),
    case(f"{A}{S}<|channel|>final<|message|>Yes.<|return|>", reasoning="Rain?", content="Yes.", tools=()),
    case("<|channel|>final<|message|>思考 🤔<|return|>", content="思考 🤔"),
    case("The `<|channel|>` token and <|channel|> too", content="The `<|channel|>` token and <|channel|> too"),
    case("Plain answer.", content="Plain answer.", dialect="gpt-oss"),
]  # fmt: skip


def atem(name: str, *params: tuple[str, str]) -> str:
    inner = "".join(f'<atem:parameter name="{k}">{v}</atem:parameter>\n' for k, v in params)
    return f'<atem:function_calls>\n<atem:invoke name="{name}">\n{inner}</atem:invoke>\n</atem:function_calls>\n'


PARIS = atem("get_weather", ("city", "Paris"))
MUSE = [
    case(" to=user<|message|>Hello", content="Hello"),
    case(" to=self<|message|>Check.", reasoning="Check."),
    case(f" to=self<|message|>Check.<|eom|>{S} to=user<|message|>Answer<|eot|>", reasoning="Check.", content="Answer"),
    case(f" to=get_weather<|message|>{PARIS}<|eot|>", weather()),
    case(f" to=self<|message|>Think<|eom|>{S} to=get_weather<|message|>{PARIS}<|eom|>{S} to=get_time<|message|>{atem('get_time')}<|eot|>", weather(), ("get_time", {}), reasoning="Think"),
    case(f" to=calc<|message|>{atem('calc', ('text', ' keep  spaces '), ('n', '3'), ('flag', 'true'), ('note', 'null'))}", ("calc", {"text": " keep  spaces ", "n": 3, "flag": True, "note": None})),
    case(f" to=write_file<|message|>{atem('write_file', ('path', 'a'), ('content', 'literal <|eot|> and <|start|>assistant to=user<|message|> x'))}<|eot|>", ("write_file", {"path": "a", "content": "literal <|eot|> and <|start|>assistant to=user<|message|> x"})),
    case(f" to=get_weather<|message|>{atem('get_weather<|message|>', ('city', 'Paris'))}<|eot|>", weather()),
    case(f"<|message|>{PARIS}<|eom|>", weather()),
    case(f" to=user<|message|>{PARIS}<|eot|>", weather()),
    case(f"<|message|>{PARIS}{S} to=user<|message|>Done<|eot|>", weather(), content="Done"),
    case(" to=user<|message|>Hi<|eot|>", content="Hi", tools=()),
    case("Reply to=user please", content="Reply to=user please"),
    case("to=do is a list", content="to=do is a list"),
]  # fmt: skip


@pytest.mark.parametrize("each", [*HARMONY, *MUSE], ids=repr)
def test_harmony(each: Case) -> None:
    check(each)
