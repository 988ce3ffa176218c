"""The law of histories: every call answered, under an id of its own."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from aicli.content.messages import Message, answered, open_calls
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, TextPart


def asks(*ids: str) -> Message:
    return Message(role="model", parts=tuple(FunctionCallPart(id=i, name="ls", args={"path": i}) for i in ids))


def says(*pairs: tuple[str, str]) -> Message:
    parts = (FunctionResponsePart(id=i, name="ls", content=(TextPart(text=text),)) for i, text in pairs)
    return Message(role="tool", parts=tuple(parts))


def test_a_history_in_order_stays_as_it_is() -> None:
    history = [Message.user("go"), asks("a", "b"), says(("a", "1"), ("b", "2")), Message.model("done")]
    assert answered(history) == history


def test_calls_of_one_id_get_their_own() -> None:
    history = [asks("a"), says(("a", "1")), asks("a", "a"), says(("a", "2"), ("a", "3")), asks("a_2")]
    found = answered(history)
    assert len({c.id for m in found for c in m.calls}) == 4
    assert [r.text for m in found for r in m.responses][:3] == ["1", "2", "3"]


SOME = st.lists(st.sampled_from("abc"), max_size=3)


@given(st.lists(st.tuples(st.sampled_from(["ask", "say", "user"]), SOME), max_size=8))
def test_whatever_the_order_and_the_ids(story: list[tuple[str, list[str]]]) -> None:
    history = [
        asks(*ids) if what == "ask" else says(*((i, i) for i in ids)) if what == "say" else Message.user("x")
        for what, ids in story
    ]
    found = answered(history)
    ids = [c.id for m in found for c in m.calls]
    assert len(ids) == len(set(ids)) and open_calls(found) == ()
    for message, after in itertools.pairwise([*found, Message.user("end")]):
        if message.calls:
            assert [c.id for c in message.calls] == [r.id for r in after.responses]
    assert answered(found) == found
