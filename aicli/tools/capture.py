"""What a command writes: head and tail kept in memory, the whole in a private file, cleaned text for the model."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from aicli.clean import sanitise
from aicli.late import regex
from aicli.paths import private_folder

KEEP = 256 * 1024
"""Bytes kept in memory at each end."""
FILE_LIMIT = 64 * 1024 * 1024
"""Bytes kept in the file; what comes after is counted, not kept, but for the tail in memory."""

_NEWEST = 8192
_INNER = bytes(range(0x80, 0xC0))
_SEQUENCE = regex(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b\n]*\x1b\\|\x1b[ -/]*[0-Z\\^-~]"
)
_OVERSTRUCK = regex(r"[^\n\x08]\x08")


def readable(raw: bytes) -> str:
    """Bytes of a program as text: UTF-8 (other bytes as \\xNN), no escape sequences, of a line redrawn by carriage
    returns only the last state, remaining control characters as visible marks."""
    text = raw.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    if "\x1b" in text:
        text = _SEQUENCE.sub("", text)
    if "\x08" in text:
        text = _OVERSTRUCK.sub("", text)
    if "\r" in text:
        text = "\n".join(_last_state(line) if "\r" in line else line for line in text.split("\n"))
    return sanitise(text)


def newest(data: bytes) -> bytes:
    """The last 8 KB, from a line's start if there is one early in them, never from within a character."""
    if len(data) <= _NEWEST:
        return data
    kept = data[-_NEWEST:]
    cut = kept.find(b"\n", 0, _NEWEST // 4) + 1
    return kept[cut:] if cut else kept[:3].lstrip(_INNER) + kept[3:]


def _last_state(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part), "")


class Capture:
    """Takes bytes from one thread, tells of them to any. `file` None keeps only head and tail.

    With `always` the file is made at once, else when the memory of the head is full. `on_piece` gets the newest bytes,
    for `readable`: not cleaned here, as hardly any of a long output is ever shown.
    """

    def __init__(
        self, file: Path | None = None, *, always: bool = False, on_piece: Callable[[bytes], None] | None = None
    ) -> None:
        self.path = file
        self.total = 0
        self.lines = 0
        self.in_file = 0
        self._head = bytearray()
        self._tail = bytearray()
        self._on_piece = on_piece
        self._held = b""
        self._lock = threading.Lock()
        self._out: IO[bytes] | None = None
        self.lost = ""
        self.notes: list[str] = []
        if always:
            self._open()

    def feed(self, data: bytes) -> None:
        """Never raises for a full disk: `lost` then says why the file ends early."""
        with self._lock:
            self._keep(data)
        if self._on_piece:
            self._tell(data)

    def note(self, words: str) -> None:
        """A line of our own in the output, which `notes` then has too."""
        self.notes.append(words)
        self.feed(f"\n[aicli: {words}]\n".encode(errors="replace"))

    def _keep(self, data: bytes) -> None:
        self.total += len(data)
        self.lines += data.count(b"\n")
        room = max(KEEP - len(self._head), 0)
        self._head += data[:room]
        fresh = data
        if len(data) > room:
            if self._out is None and self.path is not None and not self.lost:
                self._open()
                fresh = data[room:]
            self._tail += data[room:]
            if len(self._tail) > 2 * KEEP:
                del self._tail[:-KEEP]
        if self._out is not None and self.in_file < FILE_LIMIT:
            self._write(fresh[: FILE_LIMIT - self.in_file])

    def _open(self) -> None:
        assert self.path is not None
        try:
            private_folder(self.path.parent)
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
            self._out = os.fdopen(fd, "wb", buffering=0)
        except OSError as e:
            self.lost = e.strerror or str(e)
            return
        self._write(bytes(self._head))

    def _write(self, data: bytes) -> None:
        try:
            self.in_file += self._out.write(data) or 0 if self._out else 0
        except OSError as e:
            self.lost = e.strerror or str(e)
            self.close()

    def _tell(self, data: bytes) -> None:
        """Whole lines where there are any, so that no character and no sequence is torn."""
        data = self._held + data
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if cut == 0 and len(data) > 4096:
            cut = len(data)
        self._held = data[cut:]
        if cut and self._on_piece:
            self._on_piece(newest(data[:cut]))

    def close(self) -> None:
        if self._out is not None:
            with contextlib.suppress(OSError):
                self._out.close()
            self._out = None

    def discard(self) -> None:
        """The file is gone afterwards."""
        self.close()
        if self.path is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()

    def tail(self, lines: int = 5, width: int = 2000) -> str:
        """The last lines, readable."""
        with self._lock:
            raw = bytes((self._tail or self._head)[-16384:])
        return "\n".join(line[-width:] for line in readable(raw).rstrip("\n").split("\n")[-lines:])

    def text(self, limit: int, rest: str = "") -> tuple[str, bool]:
        """Readable head and tail within `limit` characters and whether anything was left out; `rest` says how to get it."""
        with self._lock:
            whole = self.total <= len(self._head) + len(self._tail)
            head, tail = bytes(self._head), bytes(self._tail)
        if whole:
            text = readable(head + tail)
            if len(text) <= limit:
                return text, False
            first, last, left = text, text, f"{len(text):,} characters"
        else:
            first, last = readable(head), readable(tail[-KEEP:])
            left = f"{self.total:,} bytes"
        kept_first = _to_line_end(first[: limit * 2 // 5])
        kept_last = _from_line_start(last[-(limit - limit * 2 // 5) :])
        note = f"[… cut: the output had {left}, {self.lines:,} lines; the middle is left out{rest} …]"
        return f"{kept_first}\n{note}\n{kept_last}", True

    def page(self, offset: int, limit: int) -> tuple[str, int]:
        """Readable text from a byte offset of the whole output, and the offset after it; at most `limit` bytes."""
        with self._lock:
            raw = self._bytes(offset, limit)
        end = offset + len(raw)
        if raw and end < self.total and (cut := raw.rfind(b"\n") + 1):
            raw = raw[:cut]
            end = offset + cut
        return readable(raw), end

    def _bytes(self, offset: int, limit: int) -> bytes:
        if offset + limit <= len(self._head) or self.total <= len(self._head):
            return bytes(self._head[offset : offset + limit])
        if offset < self.in_file and self.path is not None:
            try:
                with open(self.path, "rb") as file:
                    file.seek(offset)
                    return file.read(limit)
            except OSError:
                return b""
        start = max(offset - (self.total - len(self._tail)), 0)
        return bytes(self._tail[start : start + limit])


def _to_line_end(text: str) -> str:
    cut = text.rfind("\n")
    return text[:cut] if cut > len(text) * 3 // 4 else text


def _from_line_start(text: str) -> str:
    cut = text.find("\n")
    return text[cut + 1 :] if 0 <= cut < len(text) // 4 else text
