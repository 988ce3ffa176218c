"""Arguments are bent to the schema only where they can mean one thing."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.content.coerce import coerce
from tests.support.counts import count

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["file_path"],
    "properties": {
        "file_path": {"type": "string"},
        "limit": {"type": "integer"},
        "ratio": {"type": "number"},
        "all": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string"}},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object", "properties": {"maxDepth": {"type": "integer"}}},
        "mode": {"type": "string", "enum": ["read-only", "Write"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "maybe": {"type": ["integer", "null"]},
        "edits": {"type": "array", "items": {"type": "object", "properties": {"old_text": {"type": "string"}}}},
        "free": {},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}

CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"filePath": "a"}, {"file_path": "a"}),
    ({"FilePath": "a"}, {"file_path": "a"}),
    ({"file-path": "a"}, {"file_path": "a"}),
    ({"FILE_PATH": "a"}, {"file_path": "a"}),
    ({"path": "a"}, {"file_path": "a"}),
    ({"limit": "3"}, {"limit": 3}),
    ({"limit": " -3 "}, {"limit": -3}),
    ({"limit": 3.0}, {"limit": 3}),
    ({"limit": "3.0"}, {"limit": 3}),
    ({"limit": "abc"}, {"limit": "abc"}),
    ({"limit": 3.5}, {"limit": 3.5}),
    ({"limit": "3.5"}, {"limit": "3.5"}),
    ({"limit": ""}, {"limit": ""}),
    ({"limit": True}, {"limit": True}),
    ({"ratio": "0.5"}, {"ratio": 0.5}),
    ({"ratio": "2"}, {"ratio": 2}),
    ({"ratio": 2}, {"ratio": 2}),
    ({"ratio": "nan"}, {"ratio": "nan"}),
    ({"ratio": "1e999"}, {"ratio": "1e999"}),
    ({"all": "true"}, {"all": True}),
    ({"all": "False"}, {"all": False}),
    ({"all": "yes"}, {"all": "yes"}),
    ({"all": 1}, {"all": 1}),
    ({"names": "a.py"}, {"names": ["a.py"]}),
    ({"names": '["a", "b"]'}, {"names": ["a", "b"]}),
    ({"names": "['a', 'b']"}, {"names": ["a", "b"]}),
    ({"names": "[draft] notes.md"}, {"names": ["[draft] notes.md"]}),
    ({"lines": "4"}, {"lines": [4]}),
    ({"lines": ["4", 5]}, {"lines": [4, 5]}),
    ({"lines": "four"}, {"lines": "four"}),
    ({"options": '{"max_depth": "2"}'}, {"options": {"maxDepth": 2}}),
    ({"options": "nothing"}, {"options": "nothing"}),
    ({"mode": "READ_ONLY"}, {"mode": "read-only"}),
    ({"mode": "write"}, {"mode": "Write"}),
    ({"mode": "append"}, {"mode": "append"}),
    ({"either": "7"}, {"either": "7"}),
    ({"maybe": None}, {"maybe": None}),
    ({"maybe": "5"}, {"maybe": 5}),
    ({"limit": None}, {}),
    ({"file_path": None}, {"file_path": None}),
    ({"file_path": 404}, {"file_path": "404"}),
    ({"file_path": "42"}, {"file_path": "42"}),
    ({"file_path": "null"}, {"file_path": "null"}),
    ({"file_path": {"a": 1}}, {"file_path": {"a": 1}}),
    ({"edits": {"oldText": "x"}}, {"edits": [{"old_text": "x"}]}),
    ({"edits": '[{"oldText": "x"}]'}, {"edits": [{"old_text": "x"}]}),
    ({"free": "3"}, {"free": "3"}),
    ({"map": {"a": "1", "b": 2}}, {"map": {"a": 1, "b": 2}}),
    ({"arguments": {"filePath": "a", "limit": "1"}}, {"file_path": "a", "limit": 1}),
    ({"params": '{"file_path": "a"}'}, {"file_path": "a"}),
    ({"input": "a"}, {"input": "a"}),
    ({"file_path": "a", "colour": "red"}, {"file_path": "a", "colour": "red"}),
    ({"file_path": "a", "filePath": "b"}, {"file_path": "a", "filePath": "b"}),
    ({"filePath": "b", "file_path": "a"}, {"filePath": "b", "file_path": "a"}),
    ({"文件": "a"}, {"文件": "a"}),
]


@pytest.mark.parametrize("given_args, wanted", CASES)
def test_arguments_fit(given_args: dict[str, Any], wanted: dict[str, Any]) -> None:
    before = copy.deepcopy(given_args)
    got = coerce(given_args, SCHEMA, {"path": "file_path"})
    assert got == wanted and {k: type(v) for k, v in got.items()} == {k: type(v) for k, v in wanted.items()}
    assert given_args == before


def test_wrapper_that_is_a_parameter_stays() -> None:
    schema = {"type": "object", "properties": {"input": {"type": "object"}}}
    assert coerce({"input": {"a": 1}}, schema) == {"input": {"a": 1}}


def test_spelling_shared_by_two_parameters_means_neither() -> None:
    schema = {"type": "object", "properties": {"a_b": {}, "aB": {}}}
    assert coerce({"a-b": 1}, schema) == {"a-b": 1}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=count(100, 3000), deadline=None)
@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "filePath", "zzz"]), json_values, max_size=4))
def test_nothing_is_invented_or_lost_and_twice_is_once(args: dict[str, Any]) -> None:
    got = coerce(args, SCHEMA)
    dropped = sum(v is None for v in args.values())
    assert len(args) - dropped <= len(got) <= len(args)
    assert coerce(got, SCHEMA) == got
