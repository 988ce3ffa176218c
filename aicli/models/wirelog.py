"""WireLog: every request and response in a file, numbered, keys masked."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import IO
from urllib.parse import parse_qsl, urlencode, urlsplit

from aicli.errors import InputError
from aicli.late import regex
from aicli.models.http import HttpCall, Reply, Transport

_SECRET_HEADERS = regex(r"authorization|key|token|cookie|secret", re.I)
_SECRET_QUERY = regex(r"key|token|secret|sig", re.I)


class WireLog:
    """A transport that writes down what passes. Raises InputError when the file cannot be opened."""

    def __init__(self, inner: Transport, path: Path) -> None:
        self._inner = inner
        self._number = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            self._file: IO[str] = path.open("a", encoding="utf-8", errors="replace", newline="\n")
        except OSError as error:
            raise InputError(f"cannot write the HTTP log {path}: {error.strerror}") from None

    async def send(self, call: HttpCall, content: bytes, connect: float) -> Reply:
        self._number += 1
        number = self._number
        secrets = [v.removeprefix("Bearer ") for k, v in call.headers.items() if _SECRET_HEADERS.search(k)]
        self._write(f">>> {number} {call.method} {masked_url(call.url)}", call.headers, content, secrets)
        began = time.monotonic()
        try:
            reply = await self._inner.send(call, content, connect)
        except BaseException as error:
            self._write(
                f"<<< {number} failed after {time.monotonic() - began:.3f} s: {type(error).__name__}", {}, b"", []
            )
            raise
        self._write(f"<<< {number} {reply.status} after {time.monotonic() - began:.3f} s", reply.headers, None, secrets)
        return _Logged(reply, self, number, secrets)

    def _write(self, title: str, headers: Mapping[str, str], body: bytes | None, secrets: list[str]) -> None:
        lines = [title, *(f"{k}: {'***' if _SECRET_HEADERS.search(k) else v}" for k, v in headers.items())]
        if body is not None:
            lines += ["", body.decode("utf-8", "replace"), ""]
        self._put("\n".join(lines) + "\n", secrets)

    def _put(self, text: str, secrets: list[str]) -> None:
        for secret in secrets:
            if len(secret) > 3:
                text = text.replace(secret, "***")
        self._file.write(text)
        self._file.flush()

    def body(self, number: int, body: bytes, end: str, secrets: list[str]) -> None:
        self._put(f"<<< {number} body ({end})\n\n{body.decode('utf-8', 'replace')}\n\n", secrets)

    async def close(self) -> None:
        await self._inner.close()
        self._file.close()


class _Logged:
    def __init__(self, reply: Reply, log: WireLog, number: int, secrets: list[str]) -> None:
        self.status = reply.status
        self.headers = reply.headers
        self._reply = reply
        self._log = log
        self._number = number
        self._secrets = secrets
        self._body: list[bytes] = []
        self._end = "closed before its end"

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._reply.chunks():
            self._body.append(chunk)
            yield chunk
        self._end = "whole"

    async def close(self) -> None:
        await self._reply.close()
        self._log.body(self._number, b"".join(self._body), self._end, self._secrets)


def masked_url(url: str) -> str:
    """The URL with the values of secret-looking query fields, and a password, taken out."""
    parts = urlsplit(url)
    query = [(k, "***" if _SECRET_QUERY.search(k) else v) for k, v in parse_qsl(parts.query, keep_blank_values=True)]
    place = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=place, query=urlencode(query, safe="*")).geturl()
