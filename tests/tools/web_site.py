"""A small web site on loopback: each path is one shape of answer, every request is kept."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass
class Site:
    port: int
    answers: dict[str, Answer]
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    def page(self, path: str, body: bytes | str, kind: str = "text/html; charset=utf-8", **headers: str) -> str:
        data = body.encode() if isinstance(body, str) else body
        self.answers[path] = Answer(200, {"Content-Type": kind, **headers}, data)
        return self.url(path)

    def redirect(self, path: str, to: str, status: int = 302) -> str:
        self.answers[path] = Answer(status, {"Location": to})
        return self.url(path)


def packed(data: bytes) -> bytes:
    return gzip.compress(data, 9)


@contextmanager
def site() -> Iterator[Site]:
    answers: dict[str, Answer] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

        def _answer(self, body: bytes) -> None:
            here.seen.append((self.command, self.path, dict(self.headers), body))
            answer = answers.get(
                self.path.partition("?")[0], Answer(404, {"Content-Type": "text/plain"}, b"nothing here")
            )
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            try:
                self.wfile.write(answer.body)
            except OSError:
                pass  # the client has read enough

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    here = Site(server.server_address[1], answers)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
