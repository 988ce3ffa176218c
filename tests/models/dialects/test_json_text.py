"""JSON without markup: a call only if it is one, and an answer stays an answer."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import Case, case, check, weather

PARIS = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
TIME = '{"name": "get_time", "arguments": {}}'


def kept(text: str, **more: object) -> Case:
    return case(text, content=text, **more)  # type: ignore[arg-type]


CALLS = [
    case(PARIS, weather()),
    case(f"\n\n{PARIS}\n", weather()),
    case(PARIS.replace("arguments", "parameters"), weather()),
    case('{"tool": "get_weather", "args": {"city": "Paris"}}', weather()),
    case('{"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}', weather()),
    case('{"type": "function", "function": {"name": "get_time", "arguments": "{}"}}', ("get_time", {})),
    case('{"tool_calls": [{"name": "get_time", "arguments": {}}]}', ("get_time", {})),
    case(f"[{PARIS}, {TIME}]", weather(), ("get_time", {})),
    case(f"{PARIS}\n{TIME}", weather(), ("get_time", {})),
    case(f"{PARIS}; {TIME}", weather(), ("get_time", {})),
    case('{"arguments": {"city": "Paris"}, "name": "get_weather"}', weather()),
    case('{"name": "get_weather", "arguments": "{\\"city\\": \\"Paris\\"}"}', weather()),
    case("{'name': 'get_weather', 'arguments': {'city': 'Paris'}}", weather()),
    case('{\n  "name": "get_weather",\n  "arguments": {\n    "city": "Paris",\n  },\n}', weather()),
    case('{"name": "functions.get_weather", "arguments": {"city": "Paris"}}', weather()),
    case(f"I will look it up.\n{PARIS}", weather(), content="I will look it up."),
    case(f"{PARIS}\nThat should do.", weather(), content="That should do."),
    case(f"```json\n{PARIS}\n```", weather()),
    case(f"```\n{PARIS}\n```", weather()),
    case(f"```json\n[{PARIS}, {TIME}]\n```", weather(), ("get_time", {})),
    case(f"```json\n{PARIS}\n{TIME}\n```", weather(), ("get_time", {})),
    case(f"Sure.\n\n```json\n{PARIS}\n```\n", weather(), content="Sure."),
    case(f"Sure.\n```json\n{PARIS}\n```\nThis asks for it.", weather(), content="Sure.This asks for it."),
    case(f"First:\n```json\n{PARIS}\n```\nThen:\n```json\n{TIME}\n```", weather(), ("get_time", {}), content="First:Then:"),
    case(f"```json\n{PARIS}", weather()),
    case(f"```json\n{PARIS}```", weather()),
    case(f"```tool_call\n{PARIS}\n```", weather()),
    case(f"```xml\n<tool_call>\n{PARIS}\n</tool_call>\n```", weather()),
    case('```tool_code\nget_weather(city="Paris")\n```', weather()),
    case('```tool_code\nprint(get_weather(city="Paris"))\n```', weather()),
    case('```json\n{"name": "write_file", "arguments": {"path": "a", "content": "```py\\n1\\n```"}}\n```', ("write_file", {"path": "a", "content": "```py\n1\n```"})),
    case(f"<think>Rain?</think>{PARIS}", weather(), reasoning="Rain?"),
    case('{"name": "get_time"}', ("get_time", {})),
    case('{"name": "bash", "arguments": {"command": "echo hi\nls"}}', ("bash", {"command": "echo hi\nls"})),
    case('{"id": "call_1", "name": "get_time", "arguments": {}}', ("get_time", {})),
    case(f"{PARIS}<|im_end|>", weather()),
    case(f"{PARIS}\n<tool_call>{TIME}</tool_call>", ("get_time", {}), content=PARIS),
    case(f"The log is empty, so I ask:\n{PARIS}", weather(), content="The log is empty, so I ask:"),
    case(f"The file shows the city. Now the weather:\n{PARIS}", weather(), content="The file shows the city. Now the weather:"),
    case(f"Let me look at the log file:\n{PARIS}\n", weather(), content="Let me look at the log file:"),
    case(f"The tool call is:\n{PARIS}", weather(), content="The tool call is:"),
    case(f"I look it up.\n{PARIS}\nI will tell you then.", weather(), content="I look it up.I will tell you then."),
    case(f"I look it up.\n{PARIS}\n{TIME}\nOne moment.", weather(), ("get_time", {}), content="I look it up.One moment."),
    case(f"我来查一下：\n{PARIS}\n请稍等。", weather(), content="我来查一下：请稍等。"),
    case(f"日志里没有记录，我来查：\n{PARIS}", weather(), content="日志里没有记录，我来查："),
]  # fmt: skip

ANSWERS = [
    kept('{"name": "Bob", "age": 3}'),
    kept(
        '{"name": "get_weather", "description": "Tells the weather", "parameters": {"type": "object", "properties": {}}}'
    ),
    kept('{"name": "get_weather"}'),
    kept('{"name": "get_weather", "city": "Paris"}'),
    kept('{"name": "teleport", "arguments": {}}'),
    kept('[{"name": "Bob"}, {"name": "Eve", "arguments": {}}]'),
    kept(f"[{PARIS}, 3]"),
    kept('{"tools": [\n{"name": "get_time", "arguments": {}}\n]}'),
    kept('{\n  "calls": [\n    {"name": "get_time",\n     "arguments": {}}\n  ]\n}\n'),
    kept(f"Sure! {PARIS}"),
    kept(f"{PARIS} is how a call looks."),
    kept(f"For example:\n```json\n{PARIS}\n```\nAsk me for more."),
    kept(f"A call, e.g.\n{PARIS}\n"),
    kept(f"例如：\n```json\n{PARIS}\n```\n"),
    kept(f"````markdown\n# Tools\n```json\n{PARIS}\n```\n````\nThat is the page."),
    kept(f"```markdown\n# Tools\n```json\n{PARIS}\n```\n```\nEnd."),
    kept(f"```python\ncall = '''\n{PARIS}\n'''\n```"),
    kept(f"```python\nx = '<tool_call>{PARIS}</tool_call>'\n```\nSee?"),
    kept('```json\n{"name": "x", "version": "1"}\n```'),
    kept("```bash\nls -la\n```\n"),
    kept(f"The log says:\n{PARIS}\nSo the tool was used once."),
    kept(f"I looked. The last line of run.log is:\n{PARIS}"),
    kept(f"Line 3 reads:\n\n{PARIS}\n\nNothing else."),
    kept(f"The file contains:\n```json\n{PARIS}\n```\nand nothing else."),
    kept(f"I found one line.\n{PARIS}\nThis line is the only one."),
    kept(f"I found one line.\n{PARIS}\nwhich is the call of yesterday."),
    kept(f"{PARIS}\nThis is what stands in the log."),
    kept(f"It logged two calls.\n{PARIS}\n{TIME}\nThese were all.".replace("These", "That is all; these")),
    kept('In the log:\n{"name": "get_weather", "arguments": {"city": "Paris", "at": 7}}\nis new.'),
    kept(f"日志显示：\n{PARIS}\n只有这一次。"),
    kept(f"我找到一行。\n{PARIS}\n这一行就是昨天的调用。"),
    kept("[1, 2, 3]"),
    kept("[link](https://example.org) and [get_time] too"),
    kept("{ not json at all }"),
    kept("{\n  int x = 1;\n}\n"),
    kept("Use {braces} and [brackets]."),
    kept(PARIS, tools=()),
    kept(f"```json\n{PARIS}\n```", tools=()),
    kept('{"name": "get_weather", "arguments": {"city": "Par', problem="get_weather"),
    kept('{"name": "get_weather", "arguments": {"days": oh}}', problem="get_weather"),
    kept('```json\n{"name": "get_weather", "arguments": {"city": '),
]

BEHIND_BROKEN_JSON = case(
    f'{{"name": "get_weather", "arguments": {{"city": "Par\n<tool_call>{TIME}</tool_call>',
    ("get_time", {}),
    content='{"name": "get_weather", "arguments": {"city": "Par',
)
AFTER_AN_ODD_FENCE = case(
    f"```python\nprint(1)\n<tool_call>{TIME}</tool_call>", ("get_time", {}), content="```python\nprint(1)"
)


@pytest.mark.parametrize("each", [*CALLS, AFTER_AN_ODD_FENCE, BEHIND_BROKEN_JSON], ids=repr)
def test_calls_are_found(each: Case) -> None:
    check(each)


@pytest.mark.parametrize("each", ANSWERS, ids=repr)
def test_answers_stay_answers(each: Case) -> None:
    check(each)
