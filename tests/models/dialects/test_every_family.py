"""Every family writes the same kinds of replies, each in its own form; a family without a form here is a failure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from aicli.content.stream import CallDelta
from aicli.models.dialects import names, parse
from tests.models.dialects import test_special_tokens as special
from tests.models.dialects.cases import TOOLS, Case, case, check, feed, same_in_any_cut
from tests.models.dialects.test_deepseek import BS, ES, v3
from tests.models.dialects.test_gemma import B as GEMMA_OPEN
from tests.models.dialects.test_gemma import C as GEMMA_CLOSE
from tests.models.dialects.test_gemma import F, G, Q, X
from tests.models.dialects.test_invoke import NS, invoke
from tests.models.dialects.test_kimi import SB, SE, k3

Write = Callable[[str, dict[str, Any]], str]
LEAST = 10


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def json_call(before: str, after: str, args: str = "arguments", name: str = "name") -> Write:
    return lambda n, a: before + dumps({name: n, args: a}) + after


def pairs(before: str, pair: str, after: str) -> Write:
    """`before`, `pair` and `after` have ~N for the name, ~K and ~V for an argument."""

    def write(name: str, args: dict[str, Any]) -> str:
        inner = "".join(pair.replace("~K", k).replace("~V", text_of(v)) for k, v in args.items())
        return before.replace("~N", name) + inner + after

    return write


def named(before: str, after: str) -> Write:
    return lambda n, a: before.replace("~N", n) + dumps(a) + after


def python(before: str, after: str) -> Write:
    return lambda n, a: before + f"{n}({', '.join(f'{k}={v!r}' for k, v in a.items())})" + after


def braces(before: str, quote: str, after: str) -> Write:
    def value(v: Any) -> str:
        if isinstance(v, str):
            return quote + v + quote
        if isinstance(v, dict):
            return "{" + ",".join(f"{k}:{value(w)}" for k, w in v.items()) + "}"
        return "[" + ",".join(map(value, v)) + "]" if isinstance(v, list) else dumps(v)

    return lambda n, a: before + f"call:{n}" + value(a) + after


def invoked(before: str, after: str, prefix: str = "") -> Write:
    return lambda n, a: before + invoke(n, *((k, text_of(v)) for k, v in a.items()), p=prefix) + after


def elements(name: str, args: dict[str, Any]) -> str:
    def inner(value: Any) -> str:
        if isinstance(value, dict):
            return "".join(f"<{k}>{inner(v)}</{k}>" for k, v in value.items())
        return "".join(f"<item>{inner(v)}</item>" for v in value) if isinstance(value, list) else text_of(value)

    text = f'<tool_call>\n<invoke name="{name}">{inner(args)}</invoke>\n</tool_call>'
    for tag in ("tool_call", "invoke", "item", *args, *(args.get("config") or ())):
        text = text.replace(f"<{tag}>", f"{NS}<{tag}>").replace(f"</{tag}>", f"{NS}</{tag}>")
    return text.replace("<invoke name", f"{NS}<invoke name")


def kimi_k3(name: str, args: dict[str, Any]) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", list: "array", dict: "object", str: "string"}
    return k3(name, *((k, kinds[type(v)], text_of(v)) for k, v in args.items()))


@dataclass(frozen=True)
class Form:
    """How a family writes a call. `sure`: its markup alone ends thinking. `gated`: only a declared name makes it a call."""

    write: Write
    sure: bool = True
    gated: bool = False
    join: str = "\n"
    frames: bool = False  # its markup also frames answers, so some of it goes even when no tools are offered


MUSE = '<|start|>assistant to=~N<|message|><atem:function_calls>\n<atem:invoke name="~N">\n'
ATEM = '<atem:parameter name="~K">~V</atem:parameter>\n'
RFL = '<rfl:parameter name="~K">~V</rfl:parameter>\n'
IFM = "<ifm|arg_key>~K</ifm|arg_key><ifm|arg_value>~V</ifm|arg_value>\n"
STEP = "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>"
FORMS = {
    "apertus": Form(lambda n, a: f"{special.TP}{dumps([{n: a}])}{special.TS}"),
    "command_r": Form(
        lambda n, a: f"{special.SA}{dumps([{'tool_call_id': '0', 'tool_name': n, 'parameters': a}])}{special.EA}",
        frames=True,
    ),
    "deepseek": Form(lambda n, a: f"{BS}{v3(n, dumps(a))}{ES}"),
    "functionary": Form(named(">>>~N\n", ""), sure=False),
    "gemma4": Form(braces(GEMMA_OPEN, Q, GEMMA_CLOSE), frames=True),
    "functiongemma": Form(braces(F, X, G)),
    "gigachat": Form(json_call("<|function_call|>", "")),
    "k2_horizon": Form(pairs("<ifm|tool_calls><ifm|tool_call>~N\n", IFM, "</ifm|tool_call></ifm|tool_calls>")),
    "glm": Form(
        pairs("<tool_call>~N\n", "<arg_key>~K</arg_key>\n<arg_value>~V</arg_value>\n", "</tool_call>"),
    ),
    "granite": Form(lambda n, a: f"<|tool_call|>{dumps([{'name': n, 'arguments': a}])}"),
    "harmony": Form(
        named("<|channel|>commentary to=functions.~N <|constrain|>json<|message|>", "<|call|>"), join="", frames=True
    ),
    "muse": Form(pairs(MUSE, ATEM, "</atem:invoke>\n</atem:function_calls>\n"), frames=True),
    "hermes": Form(json_call("<tool_call>\n", "\n</tool_call>")),
    "hunyuan": Form(lambda n, a: f"<tool_calls>{dumps([{'name': n, 'arguments': a}])}</tool_calls>"),
    "inkling": Form(json_call(special.MM + special.CI, special.EM, args="args"), frames=True),
    "internlm": Form(json_call("<|action_start|><|plugin|>", "<|action_end|>", args="parameters")),
    "anthropic_xml": Form(invoked("<function_calls>\n", "\n</function_calls>")),
    "dsml": Form(
        pairs(
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="~N">\n',
            '<｜DSML｜parameter name="~K">~V</｜DSML｜parameter>\n',
            "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        )
    ),
    "minimax": Form(invoked("<minimax:tool_call>\n", "\n</minimax:tool_call>")),
    "dots": Form(invoked("<dots_function_call>\n", "\n</dots_function_call>")),
    "step3": Form(invoked(STEP, "<｜tool_call_end｜><｜tool_calls_end｜>", "steptml:")),
    "atem": Form(pairs('<rfl:function_calls>\n<rfl:invoke name="~N">\n', RFL, "</rfl:invoke>\n</rfl:function_calls>")),
    "minicpm": Form(pairs('<function name="~N">', '<param name="~K">~V</param>', "</function>"), gated=True),
    "json": Form(json_call("", ""), sure=False),
    "kimi": Form(named(SB + "<|tool_call_begin|>functions.~N:0<|tool_call_argument_begin|>", "<|tool_call_end|>" + SE)),
    "kimi_k3": Form(kimi_k3, frames=True),
    "llama3": Form(json_call("<|python_tag|>", "", args="parameters")),
    "minimax_m3": Form(elements),
    "mistral": Form(named("[TOOL_CALLS]~N[ARGS]", "")),
    "phi4": Form(lambda n, a: f"functools{dumps([{'name': n, 'arguments': a}])}"),
    "firefunction": Form(lambda n, a: f" functools{dumps([{'name': n, 'arguments': a}])}"),
    "plamo": Form(lambda n, a: special.plamo(n, dumps(a))),
    "pythonic": Form(python("[", "]"), sure=False),
    "lfm2": Form(python("<|tool_call_start|>[", "]<|tool_call_end|>")),
    "olmo3": Form(python("<function_calls>\n", "\n</function_calls>")),
    "react": Form(named("Action: ~N\nAction Input: ", ""), sure=False),
    "qwen_xml": Form(
        pairs("<tool_call>\n<function=~N>\n", "<parameter=~K>\n~V\n</parameter>\n", "</function>\n</tool_call>")
    ),
}

PARIS = ("get_weather", {"city": "Paris"})
TIME: tuple[str, dict[str, Any]] = ("get_time", {})
CHINESE = ("获取天气", {"城市": "北京 🌧 é"})
TYPED = ("calc", {"n": 3, "x": 2.5, "flag": True, "items": ["a", "b"], "config": {"k": "v"}, "text": "42"})
ODD = ("write_file", {"path": "a b.py", "content": "if a < b && c: print(\"x, {y}\") # [z]; 'q'"})
LINES = ("write_file", {"path": "a", "content": "def f():\n    return 1\n\nf()"})
STRANGE = ("teleport", {"to": "x"})


def kinds(form: Form) -> dict[str, Case]:
    """The replies that any family may write."""
    write = form.write
    one, two = write(*PARIS), write(*TIME)
    found = {
        "one call": case(one, PARIS),
        "no arguments": case(two, TIME),
        "two in a row": case(one + form.join + two, PARIS, TIME),
        "words before": case(f"I look.\n{one}", PARIS, content="I look."),
        "behind thinking": case(f"<think>\nRain?\n</think>\n\n{one}", PARIS, reasoning="Rain?"),
        "behind an orphan closer": case(f"Rain?\n</think>\n{one}", PARIS, reasoning="Rain?"),
        "Chinese": case(write(*CHINESE), CHINESE),
        "typed values": case(write(*TYPED), TYPED),
        "odd characters": case(write(*ODD), ODD),
        "lines": case(write(*LINES), LINES),
        "an end token": case(f"{one}<|im_end|>\n", PARIS),
    }
    if form.sure:
        found["inside thinking"] = case(f"<think>Rain?\n{one}", PARIS, reasoning="Rain?")
    else:
        found["inside thinking"] = case(f"<think>Rain?\n{one}", reasoning=f"Rain?\n{one}")
    if form.sure and not form.gated:
        found["an unknown tool"] = case(write(*STRANGE), STRANGE)
    else:
        found["an unknown tool"] = case(write(*STRANGE), content=write(*STRANGE))
    if not form.frames:
        found["no tools offered"] = case(one, content=one, tools=())
    return found


CASES = {name: kinds(form) for name, form in FORMS.items()}
EVERY = [(name, kind) for name, found in CASES.items() for kind in found]


def test_no_family_has_fewer_cases_than_it_needs() -> None:
    assert {name: len(CASES.get(name, ())) for name in names() if len(CASES.get(name, ())) < LEAST} == {}
    assert set(CASES) <= set(names())
    for found in CASES.values():
        assert len({each.text for each in found.values()}) >= LEAST


@pytest.mark.parametrize("name, kind", EVERY, ids=[f"{name}, {kind}" for name, kind in EVERY])
def test_kind(name: str, kind: str) -> None:
    check(CASES[name][kind])


@pytest.mark.parametrize("name", CASES)
def test_the_dialect_named_beforehand_changes_no_call(name: str) -> None:
    for kind, each in CASES[name].items():
        parsed = parse(each.text, each.tools, name)
        assert tuple((c.name, c.args) for c in parsed.calls) == each.calls, kind


@pytest.mark.parametrize("name", CASES)
def test_without_tools_there_is_no_call(name: str) -> None:
    for each in CASES[name].values():
        same_in_any_cut(Case(each.text, tools=()), randoms=1)
        assert not parse(each.text).calls and not parse(each.text).unreadable


@pytest.mark.parametrize("name", CASES)
def test_what_the_length_limit_cut_is_not_run(name: str) -> None:
    """At no place where the reply may be cut does a call with other arguments come out, or a half one run."""
    text = CASES[name]["lines"].text
    for end in range(len(text)):
        events, _ = feed(Case(text, tools=TOOLS), [text[:end]], finish="length")
        run = [(e.name, e.args) for e in events if isinstance(e, CallDelta) and not e.raw]
        assert run in ([], [LINES]), text[:end]
