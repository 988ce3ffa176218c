"""Bytes to JSON objects: server-sent events and newline-delimited JSON, split on \\n and \\r\\n only."""

from __future__ import annotations

import json
from typing import Any, Protocol

from aicli.errors import MalformedReply


class Framing(Protocol):
    """Turns the chunks of one body into JSON values, whatever the cuts."""

    def feed(self, chunk: bytes) -> list[Any]: ...

    def close(self) -> list[Any]: ...


LONGEST = 64 * 1024 * 1024
"""Bytes of one event, or of a body that is one value; more is no reply."""


class _Lines:
    """The lines of a body, each once it is whole. What was not ended yet is joined only when it ends."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        lines = chunk.split(b"\n")
        if len(lines) > 1:
            if self._pieces:
                lines[0] = b"".join((*self._pieces, lines[0]))
                self._pieces.clear()
            self._size = 0
        last = lines.pop()
        if last:
            self._pieces.append(last)
            self._size += len(last)
            _bounded(self._size)
        return lines

    def rest(self) -> bytes:
        rest = b"".join(self._pieces)
        self._pieces.clear()
        return rest


def _bounded(size: int) -> None:
    if size > LONGEST:
        raise MalformedReply(f"the server sent a line of more than {LONGEST >> 20} MB")


class SseReader:
    """Server-sent events. Comments, ids and empty events are skipped; `[DONE]` comes out as the string "[DONE]"."""

    def __init__(self) -> None:
        self._lines = _Lines()
        self._data: bytes | None = None
        self._error = False
        self._first = True

    def feed(self, chunk: bytes) -> list[Any]:
        lines = self._lines.feed(chunk)
        if self._first and lines:
            self._first = False
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
        out: list[Any] = []
        for line in lines:
            self._line(line, out)
        return out

    def close(self) -> list[Any]:
        out: list[Any] = []
        if rest := self._lines.rest():
            self._line(rest, out)
        self._line(b"", out)
        return out

    def _line(self, line: bytes, out: list[Any]) -> None:
        if line[:5] == b"data:":
            payload = line[6:] if line[5:6] == b" " else line[5:]
            self._data = payload if self._data is None else self._data + b"\n" + payload
            _bounded(len(self._data))
        elif not line or line == b"\r":
            if self._data is not None:
                data, self._data = self._data, None
                out.extend(_values(data, self._error))
            self._error = False
        elif line[:1] == b"{" and self._data is None:
            out.extend(_values(line, True))  # a bare JSON line amid events is how some servers report an error
        elif line[:6] == b"event:" and line[6:].strip() == b"error":
            self._error = True


class NdjsonReader:
    """One JSON object a line; empty lines are skipped."""

    def __init__(self) -> None:
        self._lines = _Lines()

    def feed(self, chunk: bytes) -> list[Any]:
        return [_load(line) for line in self._lines.feed(chunk) if line.strip()]

    def close(self) -> list[Any]:
        line = self._lines.rest()
        return [_load(line)] if line.strip() else []


class WholeReader:
    """A body that is one JSON value; an array gives its items. For servers that do not stream though asked to."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Any]:
        self._chunks.append(chunk)
        self._size += len(chunk)
        _bounded(self._size)
        return []

    def close(self) -> list[Any]:
        body = b"".join(self._chunks)
        if not body.strip():
            return []
        value = _load(body)
        return value if isinstance(value, list) else [value]


def _values(data: bytes, is_error: bool) -> list[Any]:
    text = data.strip()
    if not text:
        return []
    if text == b"[DONE]":
        return ["[DONE]"]
    try:
        values = [json.loads(text.decode("utf-8", "replace"))]
    except (ValueError, RecursionError):
        if is_error:
            return [{"error": text.decode("utf-8", "replace")}]
        if b"\n" not in text:
            _load(text)
        values = [v for line in text.split(b"\n") for v in _values(line, False)]  # blank lines left out between events
    if is_error:
        values = [v if isinstance(v, dict) and "error" in v else {"error": v} for v in values]
    return values


def _load(data: bytes) -> Any:
    text = data.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise MalformedReply("the server sent a line that is no JSON", raw=text[:2000]) from None
