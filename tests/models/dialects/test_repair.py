"""The ladder of repairs on its own: what it mends, and where it gives up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.models.dialects import jsontext, names, repaired_arguments
from aicli.models.dialects.typed import convert
from tests.models.dialects.cases import spec
from tests.support.counts import count

WRITE = spec("write_file", ["path", "content"], path="string", content="string", lines="integer")
GOOD = {"path": "a", "content": "b"}


@pytest.mark.parametrize(
    "text, wanted",
    [
        ('{"path": "a", "content": "b"}', GOOD),
        ('{"path": "a", "content": "b",}', GOOD),
        ('{"path": "a", "content": "b"}}', GOOD),
        ('{"path": "a", "content": "b"}{"path": "a", "content": "b"}', GOOD),
        ("{'path': 'a', 'content': 'b'}", GOOD),
        ('"{\\"path\\": \\"a\\", \\"content\\": \\"b\\"}"', GOOD),
        ('{"path": "a", "content": "one\ntwo"}', {"path": "a", "content": "one\ntwo"}),
        ('{path: "a", content: "b"}', GOOD),
        ('{"path": "a" "content": "b"}', GOOD),
        ("", {}),
        ("null", {}),
        ('{"path": "a", "content": "b"', None),
        ('{"path": "a", "content": "b', None),
        ('{"path": "a", "colour": b}', None),
        ('{"path": "a", "content": "b", "lines": many}', None),
        ("[1, 2]", None),
        ("not json", None),
        ('{"path": "a", "content": "b"} and more', None),
    ],
)
def test_arguments_of_a_structured_call(text: str, wanted: dict[str, Any] | None) -> None:
    assert (repaired_arguments(text, WRITE) if text else {}) == wanted


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=count(150, 10_000), deadline=None)
@given(st.dictionaries(st.text(max_size=5), values, max_size=3), st.integers(0, 60))
def test_good_json_is_read_as_it_is_and_its_end_is_found(value: dict[str, Any], at: int) -> None:
    text = jsontext.dumps(value)
    assert jsontext.read(text) == (value, "")
    assert jsontext.read(f"{text} tail") == (value, "tail")
    balance = jsontext.Balance()
    at = min(at, len(text))
    first = balance.feed(text[:at])
    assert first == (at if at == len(text) else -1)
    if first < 0:
        assert balance.feed(text[at:] + " tail") == len(text) - at


@pytest.mark.parametrize(
    "text, schema, wanted",
    [
        ("007", {"type": "integer"}, 7),
        ("-100", {"type": "integer"}, -100),
        ("3.0", {"type": "integer"}, 3),
        ("3.5", {"type": "integer"}, "3.5"),
        ("99999999999999999999", {"type": "integer"}, 99999999999999999999),
        ("100.0", {"type": "number"}, 100.0),
        ("1.23e5", {"type": "number"}, 123000.0),
        ("1e999", {"type": "number"}, "1e999"),
        ("TRUE", {"type": "boolean"}, True),
        ("yes", {"type": "boolean"}, "yes"),
        (" 42 ", {"type": "string"}, " 42 "),
        ("null", {"type": "string"}, "null"),
        ("null", {"type": ["string", "null"]}, None),
        ("null", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None),
        ("12", {"type": ["string", "integer"]}, 12),
        ("[1]", {"type": ["string", "array"]}, [1]),
        ("{1, 2}", {"type": "array"}, [1, 2]),
        ("(1, 'a')", {"type": "array"}, [1, "a"]),
        ("{'a': True}", {"type": "object"}, {"a": True}),
        ('{"a": true', {"type": "object"}, '{"a": true'),
        ("x", {"enum": ["x", "y"]}, "x"),
        ("2", {"enum": [1, 2]}, 2),
        ("2", {}, "2"),
        ("2", None, "2"),
        ("7", {"type": "int"}, 7),
        ("NaN", {"type": "number"}, "NaN"),
    ],
)
def test_text_becomes_what_its_schema_declares(text: str, schema: dict[str, Any] | None, wanted: Any) -> None:
    got = convert(text, schema)
    assert got == wanted and type(got) is type(wanted)


def test_the_docstring_names_every_dialect() -> None:
    import aicli.models.dialects as package

    assert set(names()) <= set((package.__doc__ or "").replace("(", " ").replace(")", " ").split())
