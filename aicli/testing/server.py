"""ModelServer: scripted replies over real loopback HTTP in five wire formats, as strict as the real servers."""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
import sys
import threading
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aicli.testing import checks, wires
from aicli.testing.served import ServedModel
from aicli.testing.steps import Reply, Step, text

_FORMATS: tuple[tuple[str, Any, Any], ...] = (
    ("/api/chat", wires.Ollama, checks.ollama),
    ("/chat/completions", wires.Chat, checks.chat),
    ("/responses", wires.Responses, checks.responses),
    ("/messages", wires.Anthropic, checks.anthropic),
    (":streamGenerateContent", wires.Gemini, checks.gemini),
    (":generateContent", wires.Gemini, checks.gemini),
)


@dataclass
class Seen:
    """One request as it came; `body` is its JSON."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class ModelServer:
    """Answers each request with the next of `replies`, in the wire format of the path that was asked.

    `with ModelServer([[steps.call("ls", path=".")], "done"]) as server:` listens on a free loopback port: the first
    request gets a call, the second a text, whether it went to /api/chat (Ollama), /v1/chat/completions, /v1/responses,
    /v1/messages (Anthropic) or :generateContent (Gemini). A request that a real server would refuse gets 400 with the
    reason, which is kept in `violations`; `check()` at the end raises them. `requests` are those that were answered.

    `models` are the names it has; None: any name. `echo` is the rule for reasoning in chat history: any, forbidden or
    required. `signatures`: Gemini's calls are signed and the signature must come back; `gemini_ids`: they have ids;
    `gemini_old`: it knows no parametersJsonSchema. `window` is what it tells of its models, in tokens; `capabilities`
    as of Ollama's /api/show. `strict=False` takes every request. `dimensions` is the length of its embeddings. `tls` is
    a folder with cert.pem and key.pem. `opaque` holds what it issued and wants back unchanged. Leaving the block closes
    the port and waits for the server's thread.
    """

    replies: Iterable[Reply] = ()
    models: Sequence[str] | None = None
    echo: str = "any"
    signatures: bool = True
    gemini_ids: bool = True
    gemini_old: bool = False
    strict: bool = True
    window: int = 65_536
    capabilities: Sequence[str] = ("completion", "tools", "thinking", "vision")
    dimensions: int = 64
    tls: Path | None = None
    requests: list[Seen] = field(default_factory=list)
    all_requests: list[Seen] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    opaque: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._left = iter(self.replies)
        self._lock = threading.Lock()
        self.stopped = threading.Event()

    def __enter__(self) -> ModelServer:
        self._http = _Listener(("127.0.0.1", 0), _Handler)
        self._http.model_server = self
        if self.tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.tls / "cert.pem", self.tls / "key.pem")
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """The loopback port; only inside the block."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """The base URL, without a path: aicli's providers add theirs; other clients may need `/v1`."""
        return f"{'http' if self.tls is None else 'https'}://127.0.0.1:{self.port}"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the requests for a reply."""
        return [r.body for r in self.requests]

    def model(self, provider: str = "openai", name: str = "test-model") -> ServedModel:
        """A Model for `Agent(model=…)` that reaches this server as `provider` (ollama, openai, anthropic, …) would."""
        return ServedModel(self.url, provider, name, self.window)

    def environ(self, provider: str = "openai", name: str = "test-model") -> dict[str, str]:
        """Variables that point an `aicli` process at this server; join them to its environment."""
        return {"AICLI_BASE_URL": self.url, "AICLI_MODELS__FAST": f"{provider}:{name}"}

    def check(self) -> None:
        """Raises AssertionError that lists what was refused, and says where replies were left over."""
        wrong = list(self.violations)
        if isinstance(self.replies, Sequence) and len(self.requests) < len(self.replies):
            wrong.append(f"{len(self.replies)} replies were scripted, {len(self.requests)} were asked for")
        if wrong:
            raise AssertionError("\n".join(["the model server was not used as scripted:", *wrong]))

    def take(self, seen: Seen) -> tuple[int, list[Step]]:
        """The number of this request and the steps of its reply; used by the server itself."""
        with self._lock:
            self.requests.append(seen)
            number = len(self.requests)
            reply = next(self._left, None)
        if reply is None:
            self.violations.append(f"request {number}: the script has no reply left")
            return number, [
                Step("error", 500, {"message": "the script has no reply left", "body": None, "headers": {}})
            ]
        while callable(reply):
            reply = reply(seen.body)
        return number, [text(s) if isinstance(s, str) else s for s in ([reply] if isinstance(reply, str) else reply)]


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    model_server: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError, ssl.SSLError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        pass

    @property
    def own(self) -> ModelServer:
        return self.server.model_server

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.own.all_requests.append(Seen("GET", self.path, self._headers(), {}))
        names = list(self.own.models if self.own.models is not None else ["test-model"])
        if path == "/api/tags":
            self._json(200, {"models": [{"name": n, "model": n, "size": 1} for n in names]})
        elif path == "/api/ps":
            self._json(200, {"models": [{"name": n, "context_length": self.own.window} for n in names]})
        elif path in ("/", "/api/version"):
            self._json(200, {"version": "0.99.0"})
        elif path == "/props":
            self._json(200, {"default_generation_settings": {"n_ctx": self.own.window}})
        elif path.startswith("/v1beta/models"):
            rows = [{"name": f"models/{n}", "inputTokenLimit": self.own.window} for n in names]
            self._json(200, {"models": rows} if path == "/v1beta/models" else rows[0])
        elif path.endswith("/models"):
            self._json(200, {"object": "list", "data": [{"id": n, "max_model_len": self.own.window} for n in names]})
        else:
            self._json(404, {"error": f"no {path} here"})

    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(data)
            if not isinstance(body, dict):
                raise ValueError("no object")
        except ValueError as error:
            self.own.violations.append(f"{path}: the body is no JSON object: {error}")
            self._json(400, {"error": {"message": f"the body is no JSON object: {error}"}})
            return
        seen = Seen("POST", self.path, self._headers(), body)
        self.own.all_requests.append(seen)
        if path == "/api/show":
            self._show(body)
        elif path in ("/api/embed", "/v1/embeddings") or "mbedContent" in path:
            self._embed(path, body)
        else:
            for end, wire, check in _FORMATS:
                if path.endswith(end):
                    self._reply(seen, wire, check)
                    return
            self._json(404, {"error": {"message": f"no {path} here"}})

    def _show(self, body: dict[str, Any]) -> None:
        if self.own.models is not None and body.get("model") not in self.own.models:
            self._json(404, {"error": f"model '{body.get('model')}' not found"})
            return
        info = {"general.architecture": "test", "test.context_length": self.own.window}
        self._json(
            200, {"capabilities": list(self.own.capabilities), "model_info": info, "details": {"family": "test"}}
        )

    def _embed(self, path: str, body: dict[str, Any]) -> None:
        def vector(words: str) -> list[float]:
            out = [0.01] * self.own.dimensions
            for word in re.findall(r"\w+", words.lower()):
                out[zlib.crc32(word.encode()) % len(out)] += 1.0
            return out

        if "mbedContent" in path:
            texts = ["".join(p["text"] for p in r["content"]["parts"]) for r in body["requests"]]
            self._json(200, {"embeddings": [{"values": vector(t)} for t in texts]})
            return
        vectors = [vector(t) for t in body["input"]]
        rows = [{"object": "embedding", "index": n, "embedding": v} for n, v in enumerate(vectors)]
        self._json(
            200, {"embeddings": vectors} if path == "/api/embed" else {"data": rows[::-1], "model": body["model"]}
        )

    def _reply(self, seen: Seen, make: Any, check: Any) -> None:
        path = urlsplit(seen.path).path
        if make is wires.Gemini:
            seen.body.setdefault("model", path.rpartition("/")[2].partition(":")[0])
        wire = make(self.own, seen.body, 0)
        if self.own.models is not None and seen.body.get("model") not in self.own.models:
            self._json(404, wire.error_body(404, f"model '{seen.body.get('model')}' not found"))
            return
        if self.own.strict:
            try:
                checks.surrogates(seen.body)
                checked = {k: v for k, v in seen.body.items() if k != "model" or make is not wires.Gemini}
                check(checked, self.own, {k.lower(): v for k, v in seen.headers.items()})
            except (checks.Bad, KeyError, TypeError, AttributeError) as error:
                why = checks.said(error)
                self.own.violations.append(f"{path}: {why}")
                self._json(400, wire.error_body(400, why))
                return
        wire.number, steps = self.own.take(seen)
        if steps and steps[0].kind == "wait":
            self.own.stopped.wait(steps[0].value)
            steps = steps[1:]
        if steps and steps[0].kind == "error":
            self._refuse(steps[0], wire)
        elif (steps and steps[0].kind == "cut") or (len(steps) == 1 and steps[0].kind == "hang"):
            self._break(steps[0].kind)
        else:
            self._stream(wire, steps)

    def _refuse(self, step: Step, wire: Any) -> None:
        body = step.extra["body"]
        if body is None:
            body = wire.error_body(step.value, step.extra["message"])
        self._json(step.value, body, step.extra["headers"])

    def _break(self, kind: str) -> None:
        if kind == "hang":
            self.own.stopped.wait()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _stream(self, wire: Any, steps: list[Step]) -> None:
        for step in steps:
            if step.kind == "usage":
                wire.take(step)
        self.send_response(200)
        self.send_header("content-type", wire.content_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for data in wire.begin():
            self._chunk(data)
        for step in steps:
            match step.kind:
                case "cut" | "hang":
                    self._break(step.kind)
                    return
                case "wait":
                    self.own.stopped.wait(step.value)
                case "raw":
                    self._chunk(step.value)
                case "usage" | "finish":
                    wire.take(step)
                case "end_early":
                    self.wfile.write(b"0\r\n\r\n")
                    return
                case "error":
                    self._chunk(wire.fail(step))
                    self.wfile.write(b"0\r\n\r\n")
                    return
                case _:
                    for data in wire.piece(step):
                        self._chunk(data)
        for data in wire.end():
            self._chunk(data)
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _headers(self) -> dict[str, str]:
        return {k.lower(): v for k, v in self.headers.items()}

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = (
            body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        )
        self.send_response(status)
        kind = "application/json" if not isinstance(body, (bytes, str)) else "text/html"
        for name, value in {"content-type": kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
