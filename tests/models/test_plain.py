"""HTTP/1.1 as servers really write it: lengths, chunks, closed connections, damage; any cut gives the same body."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aicli.errors import ConfigError, MalformedReply, StreamCut
from aicli.models import plain
from tests.models.support import ask, orchestrator, whole, with_model
from tests.support.model_server import ModelServer

BODY = "data: 世界 and more\n\n".encode()
CHUNKED = b"transfer-encoding: chunked\r\n\r\n5\r\ndata:\r\n%x;x=y\r\n%s\r\n0\r\n\r\n" % (len(BODY) - 5, BODY[5:])


async def serve(pieces: list[bytes], use: Callable[[str], Awaitable[bytes]]) -> tuple[bytes, bytes]:
    """(what `use` gave, what the server was sent) with a server that writes these pieces and closes."""
    seen = b""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        seen = await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        return await use(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/a b?c=d"), seen
    finally:
        server.close()


async def get(url: str) -> bytes:
    reply = await plain.send("GET", url, {"x-test": "1"}, b"", 5)
    try:
        assert reply.status == 200
        return b"".join([chunk async for chunk in reply.chunks()])
    finally:
        await reply.close()


def fetched(*pieces: bytes) -> bytes:
    return asyncio.run(serve(list(pieces), get))[0]


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY,
        OK + b"content-length:%d\r\n\r\n" % len(BODY) + BODY + b"trailing junk",
        OK + CHUNKED,
        OK + CHUNKED.replace(b"0\r\n\r\n", b"0\r\nX-Trailer: 1\r\n\r\n"),
        b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + CHUNKED,
        b"HTTP/1.1 200\r\n" + CHUNKED,
    ],
)
def test_bodies(answer: bytes) -> None:
    assert fetched(answer) == BODY


def test_the_request_on_the_wire() -> None:
    _, seen = asyncio.run(serve([OK + b"content-length: 0\r\n\r\n"], get))
    first, *lines = seen.decode().split("\r\n")
    assert first == "GET /a%20b?c=d HTTP/1.1"
    assert "connection: close" in lines and "x-test: 1" in lines and lines[0].startswith("host: 127.0.0.1:")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"", StreamCut),
        (b"HTTP/1.1 200 OK\r\ncontent-le", StreamCut),
        (OK + b"content-length: 99\r\n\r\nshort", StreamCut),
        (OK + b"transfer-encoding: chunked\r\n\r\n5\r\nda", StreamCut),
        (OK + b"transfer-encoding: chunked\r\n\r\n5\r\ndata:\r\n", StreamCut),
        (OK + b"transfer-encoding: chunked\r\n\r\nnonsense\r\n", MalformedReply),
        (OK + b"transfer-encoding: chunked\r\n\r\n-5\r\nabc", MalformedReply),
        (OK + b"transfer-encoding: chunked\r\n\r\n" + b"0" * 200_000, MalformedReply),
        (OK + b"content-encoding: gzip\r\ncontent-length: 2\r\n\r\nxx", MalformedReply),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", MalformedReply),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000 + b"\r\n", MalformedReply),
    ],
)
def test_damage(answer: bytes, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        fetched(answer)


@given(st.lists(st.integers(1, len(CHUNKED) - 1), max_size=12))
def test_chunks_cut_anywhere(cuts: list[int]) -> None:
    framed = CHUNKED.partition(b"\r\n\r\n")[2]
    bounds = [0, *sorted(c for c in cuts if c < len(framed)), len(framed)]
    body = plain._Chunked()
    out = b"".join(body.feed(framed[a:b]) for a, b in pairwise(bounds))
    assert out == BODY and body.done


def test_each_byte_alone() -> None:
    framed = CHUNKED.partition(b"\r\n\r\n")[2]
    body = plain._Chunked()
    assert b"".join(body.feed(framed[n : n + 1]) for n in range(len(framed))) == BODY and body.done


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-\u4e16", "sk-a\r\nX-Other: 1"])
def test_a_key_that_no_key_can_be(key: str) -> None:
    with ModelServer(["never"]) as server:
        with pytest.raises(ConfigError, match="the key for openai"):
            with_model(server.url, "openai", lambda m: whole(m, ask()), key=lambda n, u: key)
        assert server.all_requests == []


@pytest.mark.parametrize("url", ["ftp://x/y", "http://", "http:///v1"])
def test_no_usable_address(url: str) -> None:
    with pytest.raises(ConfigError, match="no usable address"):
        with_model(url, "vllm", lambda m: whole(m, ask()))


@pytest.mark.parametrize("through_proxy", [False, True])
def test_one_model_in_two_event_loops(through_proxy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(["one more", "two more"]) as server, ModelServer([]) as other:
        found = orchestrator(server.url, "openai")
        if through_proxy:
            monkeypatch.setenv("HTTP_PROXY", server.url)  # the server takes the absolute form of a proxy's request too
            found = orchestrator(other.url, "openai")
        for words in ("one more", "two more"):
            model = asyncio.run(found.resolve("openai:x"))

            async def once(m: object = model) -> str:
                try:
                    return (await whole(m, ask())).message().text  # type: ignore[arg-type]
                finally:
                    await found.close()

            assert asyncio.run(once()) == words
