"""Line reading: events, comments, line ends, damage; any cut of the bytes gives the same values."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aicli.errors import MalformedReply
from aicli.models.sse import Framing, NdjsonReader, SseReader, WholeReader
from tests.support.counts import count, soaking


def read(reader: Framing, data: bytes, cuts: list[int] | None = None) -> list[object]:
    bounds = [0, *sorted(cuts or []), len(data)]
    out: list[object] = []
    for a, b in pairwise(bounds):
        out += reader.feed(data[a:b])
    return out + reader.close()


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b'data: {"a":1}\n\n', [{"a": 1}]),
        (b'data:{"a":1}\n\n', [{"a": 1}]),
        (b'data: {"a":1}\r\n\r\ndata: {"a":2}\r\n\r\n', [{"a": 1}, {"a": 2}]),
        (b': OPENROUTER PROCESSING\n\ndata: {"a":1}\n\n: keep-alive\n\n', [{"a": 1}]),
        (b'event: x\nid: 7\nretry: 10\ndata: {"a":1}\n\n', [{"a": 1}]),
        (b'data: {"a":\ndata: 1}\n\n', [{"a": 1}]),
        (b'data: {"a":1}\ndata: {"a":2}\n\n', [{"a": 1}, {"a": 2}]),
        (b'data: {"a":1}\n\ndata: [DONE]\n\n', [{"a": 1}, "[DONE]"]),
        (b'data: {"a":1}', [{"a": 1}]),
        (b'\xef\xbb\xbfdata: {"a":1}\n\n', [{"a": 1}]),
        (b'event: error\ndata: {"message":"no"}\n\n', [{"error": {"message": "no"}}]),
        (b"event: error\ndata: it broke\n\n", [{"error": "it broke"}]),
        (b'{"error":{"message":"bare"}}\n', [{"error": {"message": "bare"}}]),
        ('data: {"a":"x\u2028y\u0085z"}\n\n'.encode(), [{"a": "x\u2028y\u0085z"}]),
        (b"data:\n\ndata: \n\n", []),
        (b"", []),
    ],
)
def test_events(data: bytes, values: list[object]) -> None:
    assert read(SseReader(), data) == values
    for cut in range(len(data) + 1):
        assert read(SseReader(), data, [cut]) == values, cut
    assert read(SseReader(), data, list(range(len(data)))) == values


def test_lines_of_json() -> None:
    data = '{"a":"é\u2028"}\n\n{"b":2}\r\n{"c":3}'.encode()
    values = [{"a": "é\u2028"}, {"b": 2}, {"c": 3}]
    for cut in range(len(data)):
        assert read(NdjsonReader(), data, [cut]) == values


def test_whole_body() -> None:
    assert read(WholeReader(), b'[{"a":1},{"b":2}]', [3, 9]) == [{"a": 1}, {"b": 2}]
    assert read(WholeReader(), b'{"a":1}', [2]) == [{"a": 1}]
    assert read(WholeReader(), b"  ") == []


@pytest.mark.parametrize("reader", [SseReader, NdjsonReader, WholeReader])
def test_what_is_no_json_is_said_so(reader: type) -> None:
    with pytest.raises(MalformedReply, match="no JSON") as caught:
        read(reader(), b"data: {broken\n\n" if reader is SseReader else b"<html>\n")
    assert caught.value.raw


def test_bytes_that_are_no_utf8_do_not_stop_the_stream() -> None:
    assert read(SseReader(), b'data: {"a":"\xff"}\n\n') == [{"a": "\ufffd"}]


@given(st.lists(st.text(max_size=20), max_size=8), st.data())
def test_any_cut_gives_the_same_values(texts: list[str], data: st.DataObject) -> None:
    body = b"".join(
        b"data: " + json.dumps({"t": t}, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n" for t in texts
    )
    whole = read(SseReader(), body)
    for _ in range(count(3, 50) if soaking() else 3):
        cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=10))
        assert read(SseReader(), body, cuts) == whole
