"""What comes back: the streams of every wire to one Message, and any cut of the bytes gives the same."""

from __future__ import annotations

from typing import Any

import pytest

from aicli.content.stream import Assembler, StreamEvent
from aicli.models.faults import Asked
from aicli.models.providers import anthropic, gemini, ollama, openai, responses
from aicli.models.sse import NdjsonReader, SseReader
from tests.models.replies import (
    ALL,
    COMMON,
    DONE,
    OK,
    WIRES,
    Stream,
    ch,
    common,
    ge,
    om,
    own,
    sse,
    start,
    stop,
    text_block,
    use,
)
from tests.models.support import LS, READ, ask

EVERY = pytest.mark.parametrize("stream", ALL, ids=[f"{s.wire}: {s.name}" for s in ALL])
DECODERS: dict[str, Any] = {
    "ollama": ollama.Decode,
    "chat": openai.Decode,
    "anthropic": anthropic.Decode,
    "gemini": gemini.Decode,
    "responses": responses.Decode,
}


def events(stream: Stream, pieces: list[bytes]) -> list[StreamEvent]:
    request = ask("x", tools=(LS, READ) if stream.want.tools else ())
    decoder = DECODERS[stream.wire](request, Asked(stream.wire, "m"))
    reader = NdjsonReader() if stream.wire == "ollama" else SseReader()
    out: list[StreamEvent] = []
    for piece in pieces:
        for value in reader.feed(piece):
            out.extend(decoder.feed(value))
    for value in reader.close():
        out.extend(decoder.feed(value))
    return [*out, *decoder.close()]


def folded(stream: Stream) -> Assembler:
    assembler = Assembler(stream.wire)
    for event in events(stream, [stream.data]):
        assembler.feed(event)
    return assembler


def named(wire: str, name: str) -> Stream:
    return next(s for s in ALL if (s.wire, s.name) == (wire, name))


@EVERY
def test_stream(stream: Stream) -> None:
    want = stream.want
    if want.error is not None:
        with pytest.raises(want.error):
            folded(stream)
        return
    said = folded(stream)
    message, finish = said.message(), said.finish
    assert finish is not None
    assert (message.text.strip(), message.thinking.strip()) == (want.text, want.thinking)
    assert len(message.calls) == len(want.calls)
    for call, (id_, name, args) in zip(message.calls, want.calls, strict=True):
        assert call.name == name and call.id and (not id_ or call.id == id_)
        assert (call.raw if isinstance(args, str) else call.args) == args
    assert finish.reason is want.reason
    if want.raw is not None:
        assert finish.raw == want.raw
    if want.usage is not None:
        u = finish.usage
        cache = (u.cache_read_input_tokens, u.cache_creation_input_tokens)
        assert (u.input_tokens, u.output_tokens, *cache, u.reasoning_tokens) == want.usage


@EVERY
def test_cut_at_every_byte(stream: Stream) -> None:
    data = stream.data
    if stream.want.error is not None:
        with pytest.raises(stream.want.error):
            events(stream, [data[n : n + 1] for n in range(len(data))])
        return
    whole = events(stream, [data])
    for cut in range(1, len(data)):
        assert events(stream, [data[:cut], data[cut:]]) == whole, cut
    assert events(stream, [data[n : n + 1] for n in range(len(data))]) == whole


def test_every_wire_says_every_common_reply_it_has_words_for() -> None:
    missing = {(s, n) for s in WIRES for n in COMMON} - {(s.wire, s.name) for s in ALL}
    assert missing == {("ollama", "filtered"), ("anthropic", "filtered"), ("responses", "a word of tomorrow")}


def test_opaque_data_rides_on_its_part() -> None:
    message = folded(named("anthropic", "thinking, text, call")).message()
    assert message.parts[0].meta == {"anthropic": {"signature": "sig"}}  # type: ignore[union-attr]
    message = folded(named("gemini", "parallel calls without ids")).message()
    assert [c.meta for c in message.calls] == [{"gemini": {"signature": "s"}}, {}]
    message = folded(named("responses", "reasoning with its item")).message()
    assert message.parts[0].meta["responses"]["item"]["encrypted_content"] == "e"  # type: ignore[union-attr]


def test_openrouter_details_are_joined_in_order() -> None:
    pieces = [
        {"type": "reasoning.text", "text": "Look ", "index": 0},
        {"type": "reasoning.text", "text": "first.", "index": 0, "signature": "s1"},
        {"type": "reasoning.encrypted", "data": "x", "index": 1},
    ]
    said = (ch(reasoning="r", reasoning_details=[p]) for p in pieces)
    message = folded(own("chat", "", OK, *said, ch(content="ok"), ch("stop"), DONE)).message()
    details = next(p.meta["chat"]["details"] for p in message.parts if getattr(p, "meta", {}))
    assert details == [{"type": "reasoning.text", "text": "Look first.", "index": 0, "signature": "s1"}, pieces[2]]


@pytest.mark.parametrize("wire", WIRES)
def test_text_that_might_have_become_a_marker_stays_before_the_call(wire: str) -> None:
    stream = common(wire, "text and a call")
    stream.data = stream.data.replace(b"I look.", b"I look. <")
    assert [p.type for p in folded(stream).message().parts][:2] == ["text", "function_call"]


def test_where_models_call_natively_text_is_text() -> None:
    words = 'Like this: <tool_call>\n{"name": "ls", "arguments": {"path": "a"}}\n</tool_call>'
    request = ask("x")
    for make, url, value in (
        (openai.Decode, "https://api.openai.com/v1", ch("stop", content=words)),
        (gemini.Decode, "https://generativelanguage.googleapis.com", ge({"text": words}, finish="STOP")),
    ):
        for at, found in ((url, 0), ("http://127.0.0.1:8000", 1)):
            decoder, said = make(request, Asked("x", "m", at)), Assembler("x")
            for event in (*decoder.feed(value), *decoder.close()):
                said.feed(event)
            assert len(said.message().calls) == found
            assert (words in said.message().text) == (not found)


def test_text_before_a_block_stays_before_it() -> None:
    data = sse(
        start(), *text_block(0, "I look. <"), *use(1, '{"path":"a"}'), *text_block(2, "Then <"), *stop("tool_use")
    )
    message = folded(Stream("anthropic", "", data, OK)).message()
    assert [getattr(p, "text", p.type) for p in message.parts] == ["I look. <", "function_call", "Then <"]


def test_a_cut_input_is_said() -> None:
    request = ask("word " * 9000)
    decoder = ollama.Decode(request, Asked("ollama"), sent=7500)
    decoder.feed(om("stop", content="ok"))
    *_, finish = decoder.close()
    assert "was cut" in finish.detail  # type: ignore[union-attr]
    decoder = ollama.Decode(request, Asked("ollama"), sent=5)
    decoder.feed(om("stop", content="ok"))
    assert decoder.close()[-1].detail == ""  # type: ignore[union-attr]
