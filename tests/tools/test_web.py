"""How the web is reached: the checked address, TLS by name, a limit of time."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from aicli.safety.addresses import AddressRefused
from aicli.tools.web import Reach, WebFailed, fetch
from tests.tools.web_site import site


@contextmanager
def tls_server(folder: Path) -> Iterator[tuple[int, list[str]]]:
    """An HTTPS server whose certificate is for localhost alone; keeps the names clients asked for."""
    names: list[str] = []
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "6")
            self.end_headers()
            self.wfile.write(b"secure")

        def log_message(self, *args: object) -> None:
            pass

    class Quiet(HTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.sni_callback = lambda sock, name, ctx: names.append(str(name))
    server = Quiet(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], names
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_tls_verifies_the_name_though_the_address_is_dialled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    with tls_server(tmp_path) as (port, names):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        reach = Reach((f"localhost:{port}", f"127.0.0.1:{port}"))
        assert asyncio.run(fetch(f"https://localhost:{port}/", reach)).body == b"secure"
        assert names == ["localhost"]
        with pytest.raises(WebFailed, match=r"(?i)certificate"):
            asyncio.run(fetch(f"https://127.0.0.1:{port}/", reach))
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(WebFailed, match=r"(?i)certificate"):
            asyncio.run(fetch(f"https://localhost:{port}/", reach))


def test_a_name_is_looked_up_once_and_that_address_dialled() -> None:
    """A second look-up could give another address: the check would be for nothing."""
    asked: list[str] = []

    async def go(port: int) -> bytes:
        loop = asyncio.get_running_loop()
        real = loop.getaddrinfo

        async def changing(host: str, port: int, **more: object) -> object:
            if host != "rebind.example":
                return await real(host, port, **more)  # type: ignore[arg-type]
            asked.append(host)
            address = "127.0.0.1" if len(asked) == 1 else "10.0.0.1"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        loop.getaddrinfo = changing  # type: ignore[assignment,method-assign]
        return (await fetch(f"http://rebind.example:{port}/", Reach((f"rebind.example:{port}",)))).body

    with site() as web:
        web.page("/", "pinned", "text/plain")
        assert asyncio.run(go(web.port)) == b"pinned"
        assert web.seen[0][2]["Host"] == f"rebind.example:{web.port}"
    assert asked == ["rebind.example"]


def test_a_redirect_is_looked_up_and_checked_anew() -> None:
    async def go(port: int) -> None:
        loop = asyncio.get_running_loop()
        answers = iter(["127.0.0.1", "10.0.0.1"])
        real = loop.getaddrinfo

        async def changing(host: str, port: int, **more: object) -> object:
            if host != "127.0.0.1":
                return await real(next(answers), port, **more)  # type: ignore[arg-type]
            return await real(host, port, **more)  # type: ignore[arg-type]

        loop.getaddrinfo = changing  # type: ignore[assignment,method-assign]
        # the first place is opened by host and port, the same host at another port is not
        await fetch(f"http://moving.example:{port}/r", Reach((f"moving.example:{port}",)))

    with site() as web:
        web.redirect("/r", "http://moving.example:81/")
        with pytest.raises(AddressRefused, match="not on the public internet"):
            asyncio.run(go(web.port))
        assert len(web.seen) == 1


def test_a_server_that_never_ends_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        stop = threading.Event()

        def drip() -> None:
            client, _ = server.accept()
            with client:
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
                while not stop.wait(0.02):
                    try:
                        client.sendall(b"drip ")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        start = time.monotonic()
        with pytest.raises(WebFailed, match=r"within 0\.3 s"):
            asyncio.run(fetch(f"http://127.0.0.1:{port}/", Reach((f"127.0.0.1:{port}",), seconds=0.3)))
        assert time.monotonic() - start < 3
        stop.set()
        thread.join()


def test_a_server_that_speaks_no_http_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def babble() -> None:
            client, _ = server.accept()
            with client:
                client.sendall(b"\x00\xff" * 100 + b"\r\n\r\n")

        thread = threading.Thread(target=babble, daemon=True)
        thread.start()
        with pytest.raises(WebFailed, match="no answer from"):
            asyncio.run(fetch(f"http://127.0.0.1:{port}/", Reach((f"127.0.0.1:{port}",))))
        thread.join()


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "gopher://127.0.0.1:9"])
def test_a_proxy_that_can_not_be_used_is_named(proxy: str) -> None:
    with pytest.raises(WebFailed, match=r"web\.proxy|no answer"):
        asyncio.run(fetch("http://127.0.0.1:9/", Reach(("127.0.0.1:9",), proxy=proxy)))
