"""HTTP/1.1 to a server on plain http, over asyncio's streams: for model servers on this machine and network.

A full client costs 0.1 s to import and more than the decoding of each token; TLS and proxies go through httpx.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from urllib.parse import quote, urlsplit

from aicli.errors import MalformedReply, StreamCut

_BLOCK = 1 << 16
_HEAD = 1 << 16


async def send(method: str, url: str, headers: Mapping[str, str], content: bytes, connect: float) -> PlainReply:
    """Sends one request on a connection of its own; returns when the head of the answer is there.

    Raises OSError or TimeoutError for the connection, StreamCut or MalformedReply for the answer.
    """
    parts = urlsplit(url)
    async with asyncio.timeout(connect):
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80, limit=_HEAD)
    try:
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=-._~") + (f"?{parts.query}" if parts.query else "")
        lines = [f"{method} {path} HTTP/1.1", f"host: {parts.netloc}", "connection: close", "accept-encoding: identity"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if content or method == "POST":
            lines.append(f"content-length: {len(content)}")
        writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content)
        await writer.drain()
        status, answered = await _head(reader)
        while 100 <= status < 200:
            status, answered = await _head(reader)
    except OSError as error:
        writer.transport.abort()
        raise StreamCut(f"the server closed the connection before it answered ({error.strerror or error})") from None
    except BaseException:
        writer.transport.abort()
        raise
    return PlainReply(status, answered, reader, writer)


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        raise StreamCut("the server closed the connection before it answered") from None
    except asyncio.LimitOverrunError:
        raise MalformedReply("the head of the server's answer has no end") from None
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
        raise MalformedReply("the server does not speak HTTP", raw=first[:200])
    pairs = (line.partition(":")[::2] for line in lines if line)
    return int(rest[:3]), {name.strip().lower(): value.strip() for name, value in pairs}


class PlainReply:
    """An answer whose body is still to come."""

    def __init__(
        self, status: int, headers: Mapping[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.status = status
        self.headers = headers
        self._reader = reader
        self._writer = writer

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, as much at once as has arrived. Raises StreamCut when it breaks off, MalformedReply."""
        encoding = self.headers.get("content-encoding", "identity")
        if encoding != "identity":
            raise MalformedReply(f"the server compressed its answer ({encoding}) though it was not asked to")
        if self.status in (204, 304):
            return
        body = _body(self.headers)
        try:
            while not body.done:
                data = await self._reader.read(_BLOCK)
                if not data and not body.open_ended:
                    raise StreamCut("the connection broke in the middle of the reply (its end never came)")
                if not data:
                    return
                out = body.feed(data)
                if out:
                    yield out
        except OSError as error:
            raise StreamCut(f"the connection broke in the middle of the reply ({error})") from None

    async def close(self) -> None:
        self._writer.transport.abort()
        await asyncio.sleep(0)  # lets the loop close the socket


class _Counted:
    """A body of so many bytes; with none given, one that ends with the connection."""

    def __init__(self, left: int | None) -> None:
        self._left = left
        self.open_ended = left is None

    @property
    def done(self) -> bool:
        return self._left == 0

    def feed(self, data: bytes) -> bytes:
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        return data


class _Chunked:
    """A body in chunks; many small ones that came together leave as one piece."""

    open_ended = False

    def __init__(self) -> None:
        self.done = False
        self._tail = b""
        self._left = 0
        self._line_end = False

    def feed(self, data: bytes) -> bytes:
        data = self._tail + data if self._tail else data
        out: list[bytes] = []
        at, size = 0, len(data)
        while not self.done:
            if self._left:
                piece = data[at : at + self._left]
                out.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
                self._line_end = True
            if self._line_end:
                if size - at < 2:
                    break
                at += 2
                self._line_end = False
            end = data.find(b"\n", at)
            if end < 0:
                if size - at > _BLOCK:
                    raise MalformedReply("the chunks of the reply have no length")
                break
            self._left = _length(data[at:end])
            at = end + 1
            self.done = self._left == 0
        self._tail = data[at:]
        return out[0] if len(out) == 1 else b"".join(out)


def _length(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits) > 16 or digits.strip(b"0123456789abcdefABCDEF"):
        raise MalformedReply("the chunks of the reply have no length", raw=repr(line[:40]))
    return int(digits, 16)


def _body(headers: Mapping[str, str]) -> _Counted | _Chunked:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return _Chunked()
    length = headers.get("content-length", "")
    return _Counted(int(length) if length.isdigit() else None)
