"""HTTP to model servers, written once: one pooled client, streamed JSON, separate time limits, typed failures."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import re
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import field
from typing import Any, Literal, Protocol
from urllib.parse import urljoin, urlsplit

from aicli.errors import BadRequest, ConfigError, ConnectFailed, MalformedReply, ModelError, ModelTimeout, StreamCut
from aicli.late import dataclass
from aicli.models import plain
from aicli.models.faults import Asked, from_status
from aicli.models.proxies import proxy_for
from aicli.models.sse import Framing, NdjsonReader, SseReader, WholeReader


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to connect, until the first byte of the reply's body, and between two chunks of it."""

    connect: float = 10
    first_byte: float = 300
    idle: float = 300


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One request. `body` is a JSON object or None; `framing` is how the reply's stream is cut into values."""

    url: str
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"
    framing: Literal["sse", "ndjson"] = "sse"
    asked: Asked = Asked("the server")

    def content(self) -> bytes:
        if self.body is None:
            return b""
        return json.dumps(self.body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Reply(Protocol):
    """An answer whose body is still to come."""

    status: int
    headers: Mapping[str, str]

    def chunks(self) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...


class Transport(Protocol):
    """Sends one request: over the network, or out of a recording. Raises ConnectFailed."""

    async def send(self, call: HttpCall, content: bytes, connect: float) -> Reply: ...

    async def close(self) -> None: ...


class Network:
    """The real thing: plain http directly, TLS and proxies through httpx, with one client for each proxy and loop."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str | None, bool, int], Any] = {}

    async def send(self, call: HttpCall, content: bytes, connect: float) -> Reply:
        headers = {"user-agent": "aicli", "accept": _ACCEPT, **call.headers}
        if call.body is not None:
            headers["content-type"] = "application/json"
        if not all(v.isascii() and v.isprintable() for v in headers.values()):
            raise ConfigError(f"the key for {call.asked.provider} holds characters that no key can have")
        if not _usable(call.url):
            raise ConfigError(f"{call.url} is no usable address", hint="It begins with http:// or https://.")
        proxy = proxy_for(call.url)
        try:
            if proxy is None and call.url.startswith("http://") and "@" not in urlsplit(call.url).netloc:
                return await self._plain(call, headers, content, connect)
            return await self._full(call, headers, content, connect, proxy)
        except UnicodeError as error:  # a host name that can be no name
            raise ConfigError(f"{_place(call.url, proxy)[:200]} is no usable address: {error}") from None

    async def _plain(self, call: HttpCall, headers: Mapping[str, str], content: bytes, connect: float) -> Reply:
        try:
            return await plain.send(call.method, call.url, headers, content, connect)
        except TimeoutError:
            raise ModelTimeout(f"no connection to {_place(call.url, None)} within {connect:g} s") from None
        except OSError as error:
            why = _system_words(error)
            raise ConnectFailed(f"cannot reach {_place(call.url, None)} ({why})", hint=_start_hint(call)) from None

    async def _full(
        self, call: HttpCall, headers: Mapping[str, str], content: bytes, connect: float, proxy: str | None
    ) -> Reply:
        import httpx

        try:
            client = self._client(call.url, proxy)
            timeout = httpx.Timeout(None, connect=connect)
            request = client.build_request(call.method, call.url, content=content, headers=headers, timeout=timeout)
            return _HttpReply(await client.send(request, stream=True))
        except httpx.InvalidURL as error:
            raise ConfigError(f"{call.url} is no usable address: {error}") from None
        except httpx.ConnectTimeout:
            raise ModelTimeout(f"no connection to {_place(call.url, proxy)} within {connect:g} s") from None
        except httpx.ProxyError as error:
            raise ConnectFailed(f"the proxy {_bare(proxy)} refused: {error}", hint=_PROXY_HINT) from None
        except httpx.ConnectError as error:
            hint = _PROXY_HINT if proxy else _start_hint(call)
            raise ConnectFailed(f"cannot reach {_place(call.url, proxy)} ({_why(error)})", hint=hint) from None
        except httpx.TransportError as error:
            raise StreamCut(
                f"{_place(call.url, proxy)} closed the connection before it answered ({_why(error)})"
            ) from None

    def _client(self, url: str, proxy: str | None) -> Any:
        import httpx

        secure = url.startswith("https:") or (proxy or "").startswith("https:")
        key = (proxy, secure, id(asyncio.get_running_loop()))
        client = self._clients.get(key)
        if client is None:
            verify: Any = _system_certificates() if secure else False
            try:
                client = httpx.AsyncClient(trust_env=False, verify=verify, proxy=proxy)
            except (ImportError, ValueError) as error:
                raise ConfigError(f"the proxy {_bare(proxy)} cannot be used: {error}", hint=_PROXY_HINT) from None
            self._clients[key] = client
        return client

    async def close(self) -> None:
        here = id(asyncio.get_running_loop())
        for (_, _, loop), client in self._clients.items():
            if loop == here:
                await client.aclose()
        self._clients.clear()


_ACCEPT = "application/json, text/event-stream, application/x-ndjson"


class _HttpReply:
    def __init__(self, response: Any) -> None:
        self._response = response
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        import httpx

        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except httpx.TransportError as error:
            raise StreamCut(f"the connection broke in the middle of the reply ({_why(error)})") from None
        except httpx.DecodingError as error:
            raise MalformedReply(f"the reply's compression is broken: {error}") from None

    async def close(self) -> None:
        await self._response.aclose()


class Http:
    """Requests to model servers. One object a run; `close` it at the end."""

    def __init__(self, timeouts: Timeouts = Timeouts(), transport: Transport | None = None) -> None:
        self.timeouts = timeouts
        self.transport: Transport = transport or Network()

    async def stream_json(self, call: HttpCall) -> AsyncIterator[list[Any]]:
        """The values of a streamed reply, as many at once as one chunk held. Raises ModelError; never retries."""
        watch = _Watch(self.timeouts.first_byte)
        reply = await self._open(call, watch)
        try:
            reader = _reader(call, reply)
            async with aclosing(reply.chunks()) as stream:  # type: ignore[type-var]
                while True:
                    try:
                        with watch:
                            chunk = await anext(stream)
                    except StopAsyncIteration:
                        break
                    if watch.limit is not self.timeouts.idle:
                        watch.change(self.timeouts.idle)
                    values = reader.feed(chunk)
                    if values:
                        yield values
            values = reader.close()
            if values:
                yield values
        finally:
            watch.stop()
            await reply.close()

    async def listing(self, call: HttpCall) -> Any:
        """What a server tells of itself, in three seconds or not at all. Raises ModelError."""
        return await self.fetch(call, timeout=min(3, self.timeouts.first_byte))

    async def fetch(self, call: HttpCall, timeout: float | None = None) -> Any:
        """The JSON body of a plain request; at most `timeout` seconds for the whole. Raises ModelError."""
        try:
            async with asyncio.timeout(timeout or self.timeouts.first_byte):
                reply = await self._open(call, None)
                try:
                    body = b"".join([chunk async for chunk in reply.chunks()])
                finally:
                    await reply.close()
        except TimeoutError:
            raise ModelTimeout(f"{_place(call.url, None)} did not answer in time") from None
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            text = body[:2000].decode("utf-8", "replace")
            raise MalformedReply(f"{call.url} answered with something that is no JSON", raw=text) from None

    async def _open(self, call: HttpCall, watch: _Watch | None) -> Reply:
        content = call.content()
        for _ in range(3):
            if watch is None:
                reply = await self.transport.send(call, content, self.timeouts.connect)
            else:
                with watch:
                    reply = await self.transport.send(call, content, self.timeouts.connect)
            if 200 <= reply.status < 300:
                if reply.headers.get("content-type", "").startswith("text/html"):
                    await reply.close()
                    raise BadRequest(f"{_bare(call.url)} answered with a web page", hint="Is base_url right?")
                return reply
            body = await _excerpt(reply)
            target = _same_origin(call.url, reply)
            if target is None:
                raise from_status(call.asked, reply.status, reply.headers, body)
            call = HttpCall(target, call.body, call.headers, call.method, call.framing, call.asked)
        raise ModelError(f"{call.url} redirects in circles")

    async def close(self) -> None:
        await self.transport.close()


class _Watch:
    """A limit on each wait, with one timer for the whole stream instead of one a chunk. Raises ModelTimeout."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._since = 0.0
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._expired = False

    def __enter__(self) -> None:
        self._since = time.monotonic()
        self._task = asyncio.current_task()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.limit, self._check)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        task, self._task = self._task, None
        if kind is asyncio.CancelledError and self._expired and task is not None and task.uncancel() == 0:
            raise ModelTimeout(f"nothing came from the server for {self.limit:g} s", hint="Try again later.") from None

    def _check(self) -> None:
        loop = asyncio.get_running_loop()
        left = self.limit - (time.monotonic() - self._since)
        if self._task is None:
            self._timer = loop.call_later(self.limit, self._check)
        elif left > 0.001:
            self._timer = loop.call_later(left, self._check)
        else:
            self._expired = True
            self._task.cancel()

    def change(self, limit: float) -> None:
        """From here on each wait may take so long."""
        self.stop()
        self.limit, self._timer = limit, None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _reader(call: HttpCall, reply: Reply) -> Framing:
    kind = reply.headers.get("content-type", "").lower()
    if call.framing == "ndjson":
        return NdjsonReader()
    return WholeReader() if kind.startswith("application/json") else SseReader()


async def _excerpt(reply: Reply, limit: int = 65_536) -> str:
    body = b""
    try:
        async with asyncio.timeout(10), aclosing(reply.chunks()) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                body += chunk
                if len(body) > limit:
                    break
    except (TimeoutError, ModelError):
        pass
    finally:
        await reply.close()
    return body[:limit].decode("utf-8", "replace")


def _same_origin(url: str, reply: Reply) -> str | None:
    location = reply.headers.get("location", "")
    if reply.status not in (307, 308) or not location:
        return None
    try:
        target = urljoin(url, location)
        return target if urlsplit(target)[:2] == urlsplit(url)[:2] else None
    except ValueError:
        return None


def _usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _system_certificates() -> ssl.SSLContext:
    context = ssl.create_default_context()  # the system's store; SSL_CERT_FILE and SSL_CERT_DIR as OpenSSL reads them
    if not context.cert_store_stats()["x509_ca"] and not ssl.get_default_verify_paths().capath:
        import certifi

        context.load_verify_locations(certifi.where())
    return context


_PROXY_HINT = "Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY."


def _place(url: str, proxy: str | None) -> str:
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return f"{place} through the proxy {_bare(proxy)}" if proxy else place


def _bare(proxy: str | None) -> str:
    """A proxy's URL without the password in it."""
    parts = urlsplit(proxy or "")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _why(error: BaseException) -> str:
    cause: BaseException | None = error
    text = ""
    while cause is not None:
        text = str(cause) or type(cause).__name__
        if isinstance(cause, ssl.SSLError):
            return f"{text}; set SSL_CERT_FILE if the network has its own certificates"
        cause = cause.__cause__ or cause.__context__
    return str(error) or text


def _system_words(error: OSError) -> str:
    """The system's own words for it, such as "Connection refused", instead of asyncio's with tuples in them."""
    number = re.search(r"\[Errno (\d+)\] Connect call failed", str(error))
    return os.strerror(int(number[1])) if number else error.strerror or str(error)


def _start_hint(call: HttpCall) -> str:
    if call.asked.provider == "ollama":
        return "Start it with: ollama serve"
    if _public(call.url):
        return "Is there a network here? A name server, firewall or proxy (HTTPS_PROXY) may be in the way."
    return "Is the server running, and is base_url right?"


def _public(url: str) -> bool:
    """Is the address one of the internet, so that its server most likely runs?"""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and host.rpartition(".")[2] not in ("local", "localhost", "lan", "internal", "home", "test")
