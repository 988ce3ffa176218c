"""Every address class and name trick that must not be fetched, and the spelling of what may."""

from __future__ import annotations

import asyncio
import ipaddress

import pytest

from aicli.safety.addresses import AddressRefused, Target, is_public, opened, parse, resolve

INNER = """
127.0.0.1 127.255.255.254 0.0.0.0 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 192.0.0.1
192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 168.63.129.16
100.100.100.200 192.88.99.1 ::1 :: fe80::1 fec0::1 fc00::1 fd00:ec2::254 ff02::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:8.8.8.8
64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 2002:7f00:1:: 2002:808:808:: 2001:0:53aa::1 2606:4700::5efe:7f00:1
2606:4700:0:0:200:5efe:a00:1 2001:db8::1 3fff::1 5f00::1
""".split()  # noqa: SIM905


@pytest.mark.parametrize("address", INNER)
def test_inner_addresses_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2606:4700::5efe:808:808", "100.128.0.1"]
)
def test_public_addresses_are(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_an_address_with_a_zone_is_not_public() -> None:
    assert not is_public(ipaddress.ip_address("2606:4700:4700::1111%eth0"))


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "ftp://example.com/",
            "gopher://x/",
            "javascript:alert(1)",
            "data:text/html,x",
            "example.com",
        ),
        *("//example.com/", "", "http://", "http:///path", "http://user:pw@example.com/", "http://user@example.com/"),
        *(
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://0177.0.0.1/",
            "http://0/",
        ),
        *("http://1.2.3.4.5/", "http://1.2.3/", "http://999.1.1.1/", "http://127.0.0.1x.0x1/"),
        *(
            "http://[fe80::1%25eth0]/",
            "http://[::1/",
            "http://[zz]/",
            "http://exa mple.com/",
            "http://example.com/\r\nX: y",
        ),
        *(
            "http://example.com\\@127.0.0.1/",
            "http://exam\u200bple.com/",
            "http://a..b/",
            "http://-a.example/",
            "http://a_-.b/",
        ),
        *(
            "http://example.com:0/",
            "http://example.com:65536/",
            "http://example.com:x/",
            "http://" + "a" * 64 + ".com/",
        ),
        "http://example.com/" + "a" * 9000,
    ],
)
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        parse(url)


@pytest.mark.parametrize(
    ("url", "clean", "host"),
    [
        ("HTTP://EXAMPLE.com.", "http://example.com/", "example.com"),
        ("https://example.com:443/a?b=c#d", "https://example.com/a?b=c", "example.com"),
        ("http://example.com:8080/x y".replace(" ", "%20"), "http://example.com:8080/x%20y", "example.com"),
        ("http://bücher.example/ü?q=ö", "http://xn--bcher-kva.example/%C3%BC?q=%C3%B6", "xn--bcher-kva.example"),
        ("http://例え.jp/文件", "http://xn--r8jz45g.jp/%E6%96%87%E4%BB%B6", "xn--r8jz45g.jp"),
        ("http://[2606:4700:4700:0::1111]/", "http://[2606:4700:4700::1111]/", "2606:4700:4700::1111"),
        ("http://１２７.0.0.1/", "http://127.0.0.1/", "127.0.0.1"),
        ("http://ⓔxample.com/", "http://example.com/", "example.com"),
    ],
)
def test_urls_in_one_spelling(url: str, clean: str, host: str) -> None:
    target = parse(url)
    assert (target.url, target.host) == (clean, host)


@pytest.mark.parametrize(
    "host", ["localhost", "foo.localhost", "127.0.0.1", "[::1]", "printer.local", "metadata.google.internal"]
)
def test_this_machine_is_refused(host: str) -> None:
    with pytest.raises(AddressRefused):
        asyncio.run(resolve(parse(f"http://{host}:8080/")))


def test_an_opened_host_is_open_at_its_port_alone() -> None:
    allowed = ("127.0.0.1:8080", "[::1]:9", "LOCALHOST:1", "nonsense", "10.0.0.1")
    assert opened(parse("http://127.0.0.1:8080/"), allowed)
    assert opened(parse("http://[::1]:9/"), allowed)
    assert opened(parse("http://localhost:1/"), allowed)
    for url in ("http://127.0.0.1:8081/", "http://127.0.0.1/", "http://127.0.0.2:8080/", "http://10.0.0.1/"):
        assert not opened(parse(url), allowed)
    assert asyncio.run(resolve(parse("http://127.0.0.1:8080/"), allowed)) == ("127.0.0.1",)


def test_a_name_with_one_inner_answer_is_refused() -> None:
    """All answers must be public: a name that also points inside is refused whole."""

    async def go() -> None:
        loop = asyncio.get_running_loop()

        async def both(host: str, port: int, **more: object) -> list[tuple[object, ...]]:
            return [(2, 1, 6, "", ("8.8.8.8", port)), (2, 1, 6, "", ("10.0.0.1", port))]

        loop.getaddrinfo = both  # type: ignore[assignment,method-assign]
        with pytest.raises(AddressRefused, match="not on the public internet"):
            await resolve(Target("http", "rebind.example", 80, "http://rebind.example/"))

    asyncio.run(go())
