"""Which URLs may be fetched: a strict reading of the URL, and only public addresses behind its name."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Iterable
from urllib.parse import quote, urlsplit, urlunsplit

from aicli.late import dataclass, regex

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_PORTS = {"http": 80, "https": 443}
_LONGEST = 8_000
_LABEL = regex(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMERIC = regex(r"0x[0-9a-f]*|[0-9]+")
_NEVER = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("168.63.129.16/32", "100.100.100.200/32", "192.88.99.0/24", "192.0.0.0/24"),
        *("::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/23", "2002::/16"),
        *("3fff::/20", "5f00::/16", "fec0::/10"),
    )
)
"""Beside what Python calls not global: cloud services, and IPv6 that stands for an IPv4 address."""
_ISATAP = (0x00005EFE, 0x02005EFE)


class AddressRefused(Exception):
    """The URL may not be fetched; the text says why."""


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart. `host` is lower-case ASCII without brackets or final dot; `url` is the URL in clean spelling."""

    scheme: str
    host: str
    port: int
    url: str

    @property
    def netloc(self) -> str:
        """What the Host header holds."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.netloc}"


def parse(url: str) -> Target:
    """Raises AddressRefused for anything but a plain http(s) URL."""
    text = url.strip()
    if len(text) > _LONGEST:
        raise AddressRefused(f"the URL is longer than {_LONGEST:,} characters")
    if re.search(r"[\x00-\x20\x7f-\xa0\\\"<>^`{|}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", text):
        raise AddressRefused("the URL holds blanks, control characters or others that have no place in one")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as e:
        raise AddressRefused(f"the URL can't be read: {e}") from None
    if parts.scheme not in _PORTS:
        raise AddressRefused(f"only http and https URLs can be fetched, not {parts.scheme or 'one without a scheme'}")
    if "@" in parts.netloc:
        raise AddressRefused("the URL holds a user name or password")
    if port == 0:
        raise AddressRefused("port 0 does not exist")
    host = clean_host(parts.hostname or "")
    target = Target(parts.scheme, host, port or _PORTS[parts.scheme], "")
    path = quote(parts.path or "/", safe="/:@!$&'()*+,;=~%-._")
    query = quote(parts.query, safe="/?:@!$&'()*+,;=~%-._")
    return Target(target.scheme, host, target.port, urlunsplit((parts.scheme, target.netloc, path, query, "")))


def clean_host(name: str) -> str:
    """The one spelling of a host: an address in its canonical form, or a name in lower-case ASCII. Raises AddressRefused."""
    host = name[:-1] if name.endswith(".") else name
    if not host:
        raise AddressRefused("the URL names no host")
    if ":" in host:
        if "%" in host:
            raise AddressRefused("an address with a zone id can't be fetched")
        return str(_address(host))
    if not host.isascii():
        host = _ascii(host)
    host = host.lower()
    labels = host.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        return str(_address(host))
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise AddressRefused(f"{host!r} is no host name")
    return host


def _address(host: str) -> IPAddress:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        raise AddressRefused(f"{host!r} is no plain IP address (four decimal numbers, or IPv6)") from None


def _ascii(host: str) -> str:
    import idna  # only a name in another script needs it

    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError:
        raise AddressRefused("the host name is no valid international name") from None


def is_public(address: IPAddress) -> bool:
    """Is this an address of the public internet? One that stands for an IPv4 address is not, whatever that is."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        number = int(address)
        if (number >> 32) & 0xFFFFFFFF in _ISATAP and not is_public(ipaddress.IPv4Address(number & 0xFFFFFFFF)):
            return False
    if any(address.version == network.version and address in network for network in _NEVER):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def opened(target: Target, allow_hosts: Iterable[str]) -> bool:
    """Did the user open this very host and port (the setting web.allow_hosts, entries "host:port")?"""
    for entry in allow_hosts:
        host, _, port = entry.strip().rpartition(":")
        try:
            if port == str(target.port) and clean_host(host.removeprefix("[").removesuffix("]")) == target.host:
                return True
        except AddressRefused:
            continue
    return False


async def resolve(target: Target, allow_hosts: Iterable[str] = ()) -> tuple[str, ...]:
    """The addresses to connect to: looked up once, and every one of them public (or the host opened by the user).

    Raises AddressRefused, also when the name is not known.
    """
    free = opened(target, allow_hosts)
    if not free and (target.host == "localhost" or target.host.endswith((".localhost", ".local", ".internal"))):
        raise AddressRefused(f"{target.host} is this machine or its own network")
    try:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressRefused(f"the name {target.host} is not known") from None
    addresses = tuple(dict.fromkeys(str(item[4][0]) for item in found))
    if not addresses:
        raise AddressRefused(f"the name {target.host} has no address")
    if not free:
        for text in addresses:
            if not is_public(ipaddress.ip_address(text)):
                raise AddressRefused(f"{target.host} is not on the public internet")
    return addresses
