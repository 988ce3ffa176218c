"""Events to one message: ids and arguments of calls as servers really send them."""

from __future__ import annotations

import json

from aicli.content.stream import Assembler, CallDelta, read_arguments


def test_two_calls_of_one_id_are_told_apart() -> None:
    assembler = Assembler()
    for index, path in enumerate(("a", "b", "c")):
        assembler.feed(CallDelta(index, "call_0", "ls", f'{{"path": "{path}"}}'))
    message = assembler.message()
    assert [call.args["path"] for call in message.calls] == ["a", "b", "c"]
    ids = [call.id for call in message.calls]
    assert len(set(ids)) == 3 and ids[0] == "call_0"
    assert [call.id for call in assembler.message().calls] == ids


def test_arguments_nested_beyond_reason_are_no_arguments() -> None:
    text = '{"path": ' + "[" * 100_000 + "]" * 100_000 + "}"
    assert read_arguments(text) == ({}, text)


def test_arguments_that_no_log_could_keep_are_unreadable() -> None:
    nested: list[object] = []
    for _ in range(300):
        nested = [nested]
    for event in (
        CallDelta(0, "a", "ls", args={"path": nested}),
        CallDelta(0, "a", "ls", json.dumps({"path": nested})),
    ):
        assembler = Assembler()
        assembler.feed(event)
        message = assembler.message()
        assert message.calls[0].args == {} and message.calls[0].raw
        assert message.model_dump_json()
