"""One careful HTTP request to the web: to the address that was checked, bounded in size, time and redirects."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from aicli.late import dataclass
from aicli.safety.addresses import AddressRefused, Target, opened, parse, resolve

if TYPE_CHECKING:
    import httpx

SIZE = 5 * 1024 * 1024
"""Bytes of a body after unpacking; the rest is not read."""
SECONDS = 30.0
REDIRECTS = 5
_AGENT = "aicli (a terminal agent; it fetches what its user asks for)"


class WebFailed(Exception):
    """No usable answer came; the text says why."""


class Elsewhere(Exception):
    """The page redirects to another site, which was not asked for: `url`."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


@dataclass(frozen=True, slots=True)
class Page:
    """An answer. `cut`: the body was longer than SIZE. `content_type` is the header as sent."""

    url: str
    status: int
    reason: str
    content_type: str
    body: bytes
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Reach:
    """What the settings allow: internal host:port pairs, a proxy ("" for none), and the seconds for one answer."""

    allow_hosts: tuple[str, ...] = ()
    proxy: str = ""
    seconds: float = SECONDS


async def fetch(url: str, reach: Reach, headers: Mapping[str, str] | None = None) -> Page:
    """GET, following redirects on the same site. Raises AddressRefused, WebFailed, Elsewhere. Takes `reach.seconds`."""
    try:
        async with asyncio.timeout(reach.seconds):
            return await _follow(parse(url), reach, dict(headers or {}))
    except TimeoutError:
        raise WebFailed(f"no complete answer within {reach.seconds:g} s") from None


async def post(url: str, reach: Reach, headers: Mapping[str, str], body: bytes) -> Page:
    """POST to a fixed service; redirects are not followed. Raises as `fetch`."""
    target = parse(url)
    try:
        async with asyncio.timeout(reach.seconds):
            return (await _request(target, reach, dict(headers), body))[0]
    except TimeoutError:
        raise WebFailed(f"no complete answer within {reach.seconds:g} s") from None


async def _follow(target: Target, reach: Reach, headers: dict[str, str]) -> Page:
    for _ in range(REDIRECTS + 1):
        page, location = await _request(target, reach, headers)
        if not location:
            return page
        target = _redirected(target, location, reach.allow_hosts)
    raise WebFailed(f"more than {REDIRECTS} redirects")


def _redirected(target: Target, location: str, allow_hosts: Iterable[str]) -> Target:
    following = parse(urljoin(target.url, location))
    if target.scheme == "https" and following.scheme == "http":
        raise AddressRefused("it redirects from https to http")
    known = opened(target, allow_hosts) and opened(following, allow_hosts)
    if not known and _site(following.host) != _site(target.host):
        raise Elsewhere(following.url)
    return following


def _site(host: str) -> str:
    return host.removeprefix("www.")


async def _request(
    target: Target, reach: Reach, headers: dict[str, str], body: bytes | None = None
) -> tuple[Page, str]:
    import httpx  # 60 ms, and only for the web

    addresses = await resolve(target, reach.allow_hosts)
    sent = {
        "Host": target.netloc,
        "User-Agent": _AGENT,
        "Accept": "text/html, text/markdown, text/plain, application/json, */*;q=0.5",
        "Accept-Encoding": "gzip, identity",
        **headers,
    }
    error: Exception | None = None
    try:
        transport = httpx.AsyncHTTPTransport(verify=_certificates(target), trust_env=False, proxy=reach.proxy or None)
    except (ImportError, ValueError) as e:
        raise WebFailed(f"the proxy that web.proxy names can't be used: {e}") from None
    async with transport as wire:
        for address in addresses[:3]:
            request = _pinned(target, "" if reach.proxy else address, sent, body)
            try:
                response = await wire.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout) as e:
                error = e
                continue
            except httpx.HTTPError as e:
                raise WebFailed(_why(e, target)) from None
            try:
                return await _read(response, target), _location(response)
            except httpx.HTTPError as e:
                raise WebFailed(_why(e, target)) from None
            finally:
                await response.aclose()
    raise WebFailed(_why(error, target))


def _pinned(target: Target, address: str, headers: dict[str, str], body: bytes | None) -> httpx.Request:
    """The request to the checked address itself; TLS still verifies the name."""
    import httpx

    host = address or target.host
    host = f"[{host}]" if ":" in host else host
    url = target.url.replace(f"{target.scheme}://{target.netloc}", f"{target.scheme}://{host}:{target.port}", 1)
    seconds = {"connect": 10.0, "read": SECONDS, "write": SECONDS, "pool": 5.0}
    extensions: dict[str, Any] = {"timeout": seconds}
    if target.scheme == "https":
        extensions["sni_hostname"] = target.host
    return httpx.Request("GET" if body is None else "POST", url, headers=headers, content=body, extensions=extensions)


def _certificates(target: Target) -> ssl.SSLContext | bool:
    if target.scheme == "http":
        return False  # nothing to verify, and building a context takes 20 ms
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"] and not ssl.get_default_verify_paths().capath:
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def _location(response: httpx.Response) -> str:
    return str(response.headers.get("location", "")) if response.status_code in (301, 302, 303, 307, 308) else ""


async def _read(response: httpx.Response, target: Target) -> Page:
    if _location(response):
        body, cut = b"", False
    else:
        body, cut = await _body(response)
    reason = response.extensions.get("reason_phrase", b"").decode("ascii", "replace")
    return Page(target.url, response.status_code, reason, response.headers.get("content-type", ""), body, cut)


async def _body(response: httpx.Response) -> tuple[bytes, bool]:
    """The body unpacked, at most SIZE bytes of it: a small stream that unpacks to gigabytes stops there."""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "", "gzip", "x-gzip"):
        raise WebFailed(f"the body is packed as {coding[:40]!r}, which was not asked for")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16) if "gzip" in coding else None
    body = bytearray()
    async for chunk in response.aiter_raw():
        try:
            body += unpack.decompress(chunk, SIZE + 1 - len(body)) if unpack else chunk
        except zlib.error:
            raise WebFailed("the packed body is damaged") from None
        if len(body) > SIZE:
            return bytes(body[:SIZE]), True
    return bytes(body), False


def _why(error: Exception | None, target: Target) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return f"no answer from {target.host}: {text}"
