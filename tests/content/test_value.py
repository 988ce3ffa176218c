"""Values are dataclasses; pydantic is only asked where data does not fit at once, and then decides alike."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.content.events import AgentEvent, MessageAdded, Outcome, ToolFinished
from aicli.content.messages import Message, dump_history, load_history
from aicli.content.parts import FunctionCallPart, TextPart
from aicli.content.request import Usage
from aicli.content.results import DiffDisplay, ToolResult
from aicli.content.value import MISFIT, Misfit, Note, Value, adapter, checked, field, fitted
from aicli.settings import Secret, Settings


class Inner(Value):
    word: str
    many: tuple[int, ...] = ()


class Outer(Value):
    number: int = field(default=1, ge=1)
    share: float | None = field(default=None, gt=0, lt=1)
    level: Literal["", "low", "high"] = ""
    inner: Inner | None = None
    either: str | tuple[str, ...] = ""
    free: dict[str, Any] = {}


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.sampled_from([1 << 60, 10**400, "好", "\ud83d"])
    | st.floats(-1, 2)
    | st.sampled_from(["", "low", "1", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["word", "many", "number", "zzz"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(deadline=None)  # the first asks pydantic to be loaded
@given(st.dictionaries(st.sampled_from([*Outer.__annotations__, "zzz"]), anything, max_size=4))
def test_what_is_taken_unasked_is_what_pydantic_makes_of_it(data: dict[str, Any]) -> None:
    try:
        found = Outer.from_data(data)
    except Misfit:
        with pytest.raises(Misfit):
            checked(Outer, data)
    else:
        wanted = checked(Outer, data)
        assert found == wanted and repr(found) == repr(wanted)


@pytest.mark.parametrize("kind", [str, int, float, bool, Annotated[int, Note("N.", ge=1)], list[str], tuple[int, ...]])
@settings(deadline=None)
@given(value=anything)
def test_a_parameter_taken_unasked_is_what_pydantic_makes_of_it(kind: Any, value: Any) -> None:
    found = fitted(kind, value)
    if found is not MISFIT:
        assert repr(found) == repr(adapter(kind).validate_python(value))


def test_a_value_is_frozen_and_compares_by_content() -> None:
    one = Outer(inner=Inner(word="a"))
    assert one == Outer(inner=Inner(word="a")) and one != Outer() and hash(Inner(word="a")) == hash(Inner(word="a"))
    assert one.model_copy(update={"number": 2}).number == 2 and one.number == 1
    assert Outer().free is not Outer().free
    with pytest.raises(AttributeError):
        one.number = 3  # type: ignore[misc]
    for wrong in ({"zzz": 1}, {}):
        with pytest.raises(TypeError):
            Inner(**wrong)  # type: ignore[arg-type]


def test_a_misfit_names_where_and_what() -> None:
    with pytest.raises(Misfit, match=r"inner\.word is missing"):
        Outer.from_data({"inner": {}})
    with pytest.raises(Misfit) as e:
        Outer.from_data({"number": 0})
    assert (e.value.where, e.value.given) == ("number", 0) and "at least 1" in e.value.said


def test_events_come_back_from_their_data() -> None:
    call = FunctionCallPart(id="1", name="读", args={"a": [1, None, {"b": 2.5}]}, meta={"x": {"y": "z"}})
    message = Message(role="model", parts=(TextPart(text="你好"), call))
    shown = DiffDisplay(path="a", diff="-x\n", removed=1)
    for event in (
        MessageAdded(message=message, usage=Usage(input_tokens=3), cost_usd=0.5),
        ToolFinished(call_id="1", result=ToolResult.of("done", display=shown, n=1), outcome=Outcome.OK),
    ):
        assert checked(AgentEvent, json.loads(event.model_dump_json())) == event
    question = Message.user("?")
    assert load_history(dump_history([question])) == [question]


def test_what_json_has_no_word_for_is_text() -> None:
    data = ToolResult(data={"path": Path("a"), "kind": Outcome.OK, "pair": (1, {2})}).model_dump()["data"]
    assert data == {"path": "a", "kind": "ok", "pair": [1, [2]]}


def test_usage_takes_what_servers_report() -> None:
    odd: Any = {"input_tokens": 3.0, "output_tokens": None, "reasoning_tokens": "5", "cache_read_input_tokens": -1}
    assert Usage(**odd) == Usage(input_tokens=3)


def test_a_key_is_not_shown() -> None:
    ours = Settings.from_data({"api_key": "k-123456"})
    assert ours.api_key == Secret("k-123456") and ours.api_key.get_secret_value() == "k-123456"
    assert "123456" not in repr(ours) and "123456" not in str(ours.model_dump())


def test_values_do_without_pydantic() -> None:
    code = (
        "import sys\nfrom aicli.content import events, messages\nfrom aicli.settings import Settings\n"
        "m = messages.Message.user('hi')\nevents.MessageAdded(message=m).model_dump_json()\n"
        "Settings.from_data({'limits': {'max_turns': 3}, 'permissions': {'deny': ['shell(rm *)']}})\n"
        "assert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
