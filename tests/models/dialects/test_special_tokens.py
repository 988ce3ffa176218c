"""The families whose calls are JSON between tokens of their own."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import Case, case, check, weather

P = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
T = '{"name": "get_time", "arguments": {}}'
CUT = '{"name": "get_weather", "arguments": {"city": "Pa'

GRANITE = [
    case(f"<|tool_call|>[{P}]", weather()),
    case(f"<|tool_call|>[{P}, {T}]", weather(), ("get_time", {})),
    case(f"<tool_call>[{P}]", weather()),
    case(f"<tool_call>[{P}, {T}]", weather(), ("get_time", {})),
    case(f"So.<|tool_call|> [{P}]", weather(), content="So."),
    case(f"<function_call> {P}", weather()),
    case(f"<function_call> {P}\n<function_call> {T}", weather(), ("get_time", {})),
    case(f"<function_call> {P} <function_call> {T}<|end_of_text|>", weather(), ("get_time", {})),
    case(f"Here is my thought process:\nHm\nHere is my response:\n<tool_call>[{P}]", weather(), reasoning="Hm"),
    case("Here is my thought process: Hm Here is my response: Yes", reasoning="Hm", content="Yes"),
    case(f"<think>Hm</think><|tool_call|>[{P}]", weather(), reasoning="Hm"),
    case("<|tool_call|>[]", content=""),
    case(f"<|tool_call|>[{CUT}", unreadable=("get_weather",), problem="get_weather"),
    case(f"<|tool_call|>[{P}]", weather(), dialect="granite"),
]

INTERNLM = [
    case(f"<|action_start|><|plugin|>{P}<|action_end|>", weather()),
    case(f"<|action_start|><|plugin|>\n{P}<|action_end|>\n", weather()),
    case(f"<|action_start|> <|plugin|>{P.replace('arguments', 'parameters')}<|action_end|>", weather()),
    case(f"I look.<|action_start|><|plugin|>{P}<|action_end|>", weather(), content="I look."),
    case(f"<|action_start|><|plugin|>{P}<|action_end|>Done", weather(), content="Done"),
    case(
        f"<|action_start|><|plugin|>{P}<|action_end|><|action_start|><|plugin|>{T}<|action_end|>",
        weather(),
        ("get_time", {}),
    ),
    case(f"<|action_start|><|plugin|>{P}", weather()),
    case(f"<|action_start|><|plugin|>{CUT}", unreadable=("get_weather",), problem="get_weather"),
    case(f"<|action_start|><|plugin|>{P[:-1]}<|action_end|>", weather()),
    case(f"<think>Hm</think><|action_start|><|plugin|>{P}<|action_end|>", weather(), reasoning="Hm"),
    case(
        '<|action_start|><|plugin|>{"name": "teleport", "parameters": {"to": 1}}<|action_end|>', ("teleport", {"to": 1})
    ),
    case(f"<|action_start|><|plugin|>{P}<|action_end|>", weather(), dialect="internlm"),
]

CP = '{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}'
CT = '{"tool_call_id": "1", "tool_name": "get_time", "parameters": {}}'
SA, EA = "<|START_ACTION|>", "<|END_ACTION|>"
COMMAND_R = [
    case(f"{SA}[{CP}]{EA}", weather()),
    case(f"{SA}[\n    {CP},\n    {CT}\n]{EA}", weather(), ("get_time", {})),
    case(f"<|START_THINKING|>Hm<|END_THINKING|>{SA}[{CP}]{EA}", weather(), reasoning="Hm"),
    case("<|START_THINKING|>Hm<|END_THINKING|><|START_RESPONSE|>Yes<|END_RESPONSE|>", reasoning="Hm", content="Yes"),
    case("<|START_TEXT|>Yes<|END_TEXT|>", content="Yes"),
    case("<|START_RESPONSE|>It is <co>warm</co: 0:[1]> there<|END_RESPONSE|><|END_OF_TURN_TOKEN|>", content="It is warm there"),
    case("It is <co: 0,1>warm</co: 0,1>.", content="It is warm."),
    case(f"{SA}[{CP}]", weather()),
    case(f"Plan.{SA}[{CP}]{EA}", weather(), content="Plan."),
    case(f"Action:\n```json\n[{CP}]\n```", weather()),
    case(f"Action: ```json\n[{CP}, {CT}]\n```", weather(), ("get_time", {})),
    case('Action:\n```json\n[{"tool_name": "directly_answer", "parameters": {}}]\n```', content=""),
    case('Action:\n```json\n[{"tool_name": "run", "parameters": {}}]\n```', content='Action:\n```json\n[{"tool_name": "run", "parameters": {}}]\n```'),
    case(f'{SA}[{{"tool_name": "get_weather", "parameters": {{"city": "Pa', unreadable=("get_weather",), problem="get_weather"),
    case("<|START_RESPONSE|>Yes<|END_RESPONSE|>", content="Yes", tools=()),
    case("a <co is not a citation", content="a <co is not a citation"),
    case(f"{SA}[{CP}]{EA}", weather(), dialect="command-r7b"),
]  # fmt: skip

HUNYUAN = [
    case(f"<tool_calls>[{P}]</tool_calls>", weather()),
    case(f"<tool_calls>\n[{P}, {T}]\n</tool_calls>", weather(), ("get_time", {})),
    case("<think>\nHm\n</think>\n<answer>\nYes\n</answer>", reasoning="Hm", content="Yes"),
    case(f"<think>\nHm\n</think>\n<answer>\n<tool_calls>[{P}]</tool_calls>\n</answer>", weather(), reasoning="Hm"),
    case("<answer>Yes</answer>", content="Yes", tools=()),
    case("Say <answer>x</answer> here", content="Say <answer>x</answer> here"),
    case(f"<tool_calls>[{P}]", weather()),
    case(f"So.<tool_calls>[{P}]</tool_calls>", weather(), content="So."),
    case(f"<tool_calls>[{P}]</tool_calls>ok", weather(), content="ok"),
    case(f"<think>Hm <tool_calls>[{P}]</tool_calls>", weather(), reasoning="Hm"),
    case(f"<tool_calls>{P}\n{T}</tool_calls>", weather(), ("get_time", {})),
    case(f"<tool_calls>[{CUT}", unreadable=("get_weather",), problem="get_weather"),
    case(f"<tool_calls>[{P}]</tool_calls>", weather(), dialect="hunyuan"),
]

TP, TS = "<|tools_prefix|>", "<|tools_suffix|>"
APERTUS = [
    case(f'{TP}[{{"get_weather": {{"city": "Paris"}}}}]{TS}', weather()),
    case(f'{TP}[{{"get_weather": {{"city": "Paris"}}}}, {{"get_time": {{}}}}]{TS}', weather(), ("get_time", {})),
    case(f'So.{TP}[{{"get_time": {{}}}}]{TS}', ("get_time", {}), content="So."),
    case(f'{TP}[{{"get_time": {{}}}}]{TS}Done', ("get_time", {}), content="Done"),
    case(f'<|inner_prefix|>Hm<|inner_suffix|>{TP}[{{"get_time": {{}}}}]{TS}', ("get_time", {}), reasoning="Hm"),
    case(f'<|inner_prefix|>Hm{TP}[{{"get_time": {{}}}}]{TS}', ("get_time", {}), reasoning="Hm"),
    case(f'{TP}[{{"get_time": {{}}}}]', ("get_time", {})),
    case(f"{TP}[]{TS}Hi", content="Hi"),
    case(f'{TP}[{{"bash": {{"command": "echo {TS}"}}}}]{TS}', ("bash", {"command": f"echo {TS}"})),
    case(f'{TP}[{{"teleport": {{"to": 1}}}}]{TS}', ("teleport", {"to": 1})),
    case(f'{TP}[{{"get_weather": {{"city": "Pa', unreadable=("get_weather",), problem="get_weather"),
    case(f'{TP}[{{"get_time": {{}}}}]{TS}', ("get_time", {}), dialect="apertus"),
]

G3 = "<|message_sep|>\n\nfunction call<|role_sep|>\n"
GIGACHAT = [
    case(f"{G3}{P}", weather()),
    case(f"I look.{G3}{P}", weather(), content="I look."),
    case(f"I look.{G3}{P}</s>", weather(), content="I look."),
    case(f"function call<|role_sep|>\n{P}", weather()),
    case(f"<|function_call|>{P}", weather()),
    case(f"I look.<|function_call|>{P}</s>", weather(), content="I look."),
    case(f"<|function_call|>{T}", ("get_time", {})),
    case(f"<|function_call|>{P}<|function_call|>{T}", weather(), ("get_time", {})),
    case('<|function_call|>{"name": "teleport", "arguments": {"to": {"x": [1]}}}', ("teleport", {"to": {"x": [1]}})),
    case(f"<|function_call|>{CUT}", unreadable=("get_weather",), problem="get_weather"),
    case("A function call is made so.", content="A function call is made so."),
    case(f"<|function_call|>{P}", weather(), dialect="gigachat"),
]

MM, CT_, CX, CI, EM = (
    "<|message_model|>",
    "<|content_thinking|>",
    "<|content_text|>",
    "<|content_invoke_tool_json|>",
    "<|end_message|>",
)
IP = '{"name": "get_weather", "args": {"city": "Paris"}}'
INKLING = [
    case(f"{MM}{CT_}Why{EM}{MM}{CX}So{EM}", reasoning="Why", content="So"),
    case(f"{CT_}Why{EM}{MM}{CX}So<|content_model_end_sampling|>", reasoning="Why", content="So"),
    case(f"{MM}{CI}{IP}{EM}", weather()),
    case(f"{MM}get_weather{CI}{IP}{EM}<|content_model_end_sampling|>", weather()),
    case(f"{CT_}Why{EM}{MM}get_weather{CI}{IP}{EM}", weather(), reasoning="Why"),
    case(f"get_weather{CI}{IP}", weather()),
    case(f"get_weather{CI}{IP}{EM}get_time{CI}" + '{"name": "get_time", "args": {}}' + EM, weather(), ("get_time", {})),
    case(f"{MM}{CX}I look.{EM}{MM}{CI}{IP}{EM}", weather(), content="I look."),
    case(f"{CI}{IP}{EM}{MM}{CI}{{}}{EM}".replace("{}", '{"name": "get_time", "args": {}}'), weather(), ("get_time", {})),
    case(f'{CI}{{"name": "teleport", "args": {{"to": 1}}}}{EM}', ("teleport", {"to": 1})),
    case(f'{CI}{{"name": "get_weather", "args": {{"city": "Pa', unreadable=("get_weather",), problem="get_weather"),
    case(f"{CT_}Why{EM}{MM}{CX}So{EM}", reasoning="Why", content="So", tools=()),
    case(f"{MM}{CX}So{EM}", content="So", dialect="inkling"),
]  # fmt: skip


def plamo(name: str, args: str) -> str:
    def token(word: str) -> str:
        return f"<|plamo:{word}:plamo|>"

    return (
        token("begin_tool_request") + token("begin_tool_name") + name + token("end_tool_name")
        + token("begin_tool_arguments") + args + token("end_tool_arguments") + token("end_tool_request")
    )  # fmt: skip


PLAMO = [
    case(plamo("get_weather", '{"city": "Paris"}'), weather()),
    case(f"Ok.{plamo('get_time', '{}')}", ("get_time", {}), content="Ok."),
    case(plamo("get_weather", '{"city": "Paris"}') + plamo("get_time", "{}"), weather(), ("get_time", {})),
    case(plamo("teleport", '{"to": 1}'), ("teleport", {"to": 1})),
]

GROUPS = [GRANITE, INTERNLM, COMMAND_R, HUNYUAN, APERTUS, GIGACHAT, INKLING, PLAMO]


@pytest.mark.parametrize("each", [each for group in GROUPS for each in group], ids=repr)
def test_special_tokens(each: Case) -> None:
    check(each)
