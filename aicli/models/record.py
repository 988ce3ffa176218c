"""Recorder and Replayer: a run's HTTP exchanges kept in a file, and played back without a network."""

from __future__ import annotations

import base64
import difflib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from aicli.errors import ConfigError, InputError, ModelError
from aicli.models.http import HttpCall, Reply, Transport
from aicli.models.wirelog import masked_url


class Recorder:
    """A transport that keeps each exchange as one line of JSON. Keys are not kept. Raises InputError for the file."""

    def __init__(self, inner: Transport, path: Path) -> None:
        self._inner = inner
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text("", encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write the recording {path}: {error.strerror}") from None
        self._path = path

    async def send(self, call: HttpCall, content: bytes, connect: float) -> Reply:
        return _Kept(await self._inner.send(call, content, connect), self, request_of(call, content))

    def keep(self, request: dict[str, Any], status: int, headers: Mapping[str, str], chunks: list[bytes]) -> None:
        kept = {k: v for k, v in headers.items() if k.lower() in ("content-type", "retry-after", "location")}
        line = {"request": request, "status": status, "headers": kept, "chunks": [_text(c) for c in chunks]}
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    async def close(self) -> None:
        await self._inner.close()


class _Kept:
    def __init__(self, reply: Reply, recorder: Recorder, request: dict[str, Any]) -> None:
        self.status = reply.status
        self.headers = reply.headers
        self._reply = reply
        self._recorder = recorder
        self._request = request
        self._chunks: list[bytes] = []

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._reply.chunks():
            self._chunks.append(chunk)
            yield chunk

    async def close(self) -> None:
        await self._reply.close()
        self._recorder.keep(self._request, self.status, self.headers, self._chunks)


class Replayer:
    """A transport out of a recording. A request that is not the next recorded one of its kind raises, with the difference.

    Raises ConfigError when the file is missing or no recording.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._left = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
            [(row["request"], row["status"], row["chunks"]) for row in self._left]
        except OSError as error:
            raise ConfigError(f"cannot read the recording {path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise ConfigError(f"{path} is no recording") from None

    async def send(self, call: HttpCall, content: bytes, connect: float) -> Reply:
        request = request_of(call, content)
        for n, row in enumerate(self._left):
            if row["request"] == request:
                del self._left[n]
                return _Played(row)
        raise ModelError(self._miss(request), hint="Record the run anew.")

    def _miss(self, request: dict[str, Any]) -> str:
        if not self._left:
            return f"the recording holds no more answers, and {request['method']} {request['url']} was asked"
        recorded, asked = _lines(self._left[0]["request"]), _lines(request)
        change = list(difflib.unified_diff(recorded, asked, "recorded", "asked", lineterm="", n=2))
        return "the request differs from the recorded one:\n" + "\n".join(change[:60])

    async def close(self) -> None:
        pass


class _Played:
    def __init__(self, row: dict[str, Any]) -> None:
        self.status: int = row["status"]
        self.headers: Mapping[str, str] = row.get("headers", {})
        self._chunks: list[Any] = row["chunks"]

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk.encode() if isinstance(chunk, str) else base64.b64decode(chunk["base64"])

    async def close(self) -> None:
        pass


def request_of(call: HttpCall, content: bytes) -> dict[str, Any]:
    """A request as a recording compares it: method, address without secrets, body as JSON."""
    body = json.loads(content) if content else None
    return {"method": call.method, "url": masked_url(call.url), "body": body}


def _lines(request: dict[str, Any]) -> list[str]:
    return json.dumps(request, indent=1, ensure_ascii=False, sort_keys=True).splitlines()


def _text(chunk: bytes) -> Any:
    try:
        return chunk.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(chunk).decode()}
