"""ReAct: an action and its input as the last lines of a reply."""
# ruff: noqa: E501 - a case is one line

from __future__ import annotations

import pytest

from tests.models.dialects.cases import Case, case, check, feed, weather

ACT = 'Action: get_weather\nAction Input: {"city": "Paris"}'
TIME = "Action: get_time\nAction Input: {}"

CASES = [
    case(ACT, weather()),
    case(f"Thought: is it raining?\n{ACT}\n", weather(), content="Thought: is it raining?"),
    case(f"{ACT}\nObservation:", weather()),
    case(f"{ACT}\nObservation: <|im_end|>\n", weather()),
    case(f"{ACT}\n\n{TIME}", weather(), ("get_time", {})),
    case('Action: `get_weather`\r\nAction Input: {\r\n  "city": "Paris"\r\n}', weather()),
    case('Action: get_weather\nAction Input:\n```json\n{"city": "Paris"}\n```', weather()),
    case("Action: get_weather\nAction Input: {'city': 'Paris'}", weather()),
    case('Action: 获取天气\nAction Input: {"城市": "北京"}', ("获取天气", {"城市": "北京"})),
    case('Action: bash\nAction Input: {"command": "echo \\"}\\"\\nAction: get_time"}', ("bash", {"command": 'echo "}"\nAction: get_time'})),
    case(f"<think>Hm</think>{ACT}", weather(), reasoning="Hm"),
    case(f"{ACT}\nObservation: it rains\nThought: done", content=f"{ACT}\nObservation: it rains\nThought: done", problem="made up"),
    case("Action: get_weather\nAction Input: Paris", content="Action: get_weather\nAction Input: Paris", problem="no JSON object"),
    case('Action: get_weather\nAction Input: {"city": oh no}', content='Action: get_weather\nAction Input: {"city": oh no}', problem="get_weather"),
    case('Action: get_weather\nAction Input: {"city": "Pa', content='Action: get_weather\nAction Input: {"city": "Pa'),
    case(f"{ACT}\nThen the weather comes.", content=f"{ACT}\nThen the weather comes."),
    case(f"For example:\n{ACT}", content=f"For example:\n{ACT}"),
    case(f"It writes {ACT}", content=f"It writes {ACT}"),
    case(f"Text:\n```python\n{ACT}\n```", content=f"Text:\n```python\n{ACT}\n```"),
    case("Action: teleport\nAction Input: {}", content="Action: teleport\nAction Input: {}"),
    case(f"{ACT}\nAction: teleport\nAction Input: {{}}", content=f"{ACT}\nAction: teleport\nAction Input: {{}}"),
    case("Action: get_time", content="Action: get_time"),
    case(ACT, content=ACT, tools=()),
    case(f"<think>{ACT}", reasoning=ACT),
    case('Action: get_weather\nAction Input: {"a: \n<tool_call>{"name": "get_time"}</tool_call>', ("get_time", {}), content='Action: get_weather\nAction Input: {"a:'),
    case(ACT, weather(), dialect="react"),
]  # fmt: skip


@pytest.mark.parametrize("each", CASES, ids=repr)
def test_react(each: Case) -> None:
    check(each)


def test_an_action_that_the_length_limit_ended_is_not_run() -> None:
    events, problem = feed(case(ACT), [ACT], finish="length")
    assert not [e for e in events if type(e).__name__ == "CallDelta" and not e.raw]  # type: ignore[union-attr]
    assert "cut off" in problem
