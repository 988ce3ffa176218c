"""A model server on loopback that answers at once: a text, a tool call for N turns, or a long stream in small chunks."""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    body = {
        "id": "x",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":5000,"completion_tokens":5,"total_tokens":5005}}\n\n'
DONE = b"data: [DONE]\n\n"


class Bench(ThreadingHTTPServer):
    """`turns`: how many replies are a tool call; `stream`: tokens of a long answer. `requests` keeps (time, size)."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.turns = 0
        self.stream = 0
        self.requests: list[tuple[float, int]] = []
        Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: object, address: object) -> None:
        """A client that goes away is none of the benchmark's business."""

    def reset(self, turns: int = 0, stream: int = 0) -> None:
        self.turns, self.stream, self.requests = turns, stream, []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536
    server: Bench

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(
            json.dumps({"object": "list", "data": [{"id": "bench", "object": "model"}]}).encode(), "application/json"
        )

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", 0))
        self.rfile.read(size)
        self.server.requests.append((time.time(), size))
        done = len(self.server.requests)
        if self.server.stream:
            self._long(self.server.stream)
        elif done <= self.server.turns:
            function = {"name": "read_file", "arguments": json.dumps({"path": f"f{done}.txt"})}
            call = {"index": 0, "id": f"call_{done}", "type": "function", "function": function}
            self._send(chunk({"role": "assistant", "tool_calls": [call]}) + chunk({}, "tool_calls") + USAGE + DONE)
        else:
            self._send(chunk({"role": "assistant", "content": "hello"}) + chunk({}, "stop") + USAGE + DONE)

    def _send(self, body: bytes, kind: str = "text/event-stream") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _long(self, tokens: int) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        words = [chunk({"content": f"word{n % 97} "}) for n in range(200)]
        for n in range(tokens):
            self._piece(words[n % 200])
        self._piece(chunk({}, "stop") + USAGE + DONE)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _piece(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


if __name__ == "__main__":
    server = Bench()
    sys.stdout.write(server.url + "\n")
    sys.stdout.flush()
    time.sleep(3600)
