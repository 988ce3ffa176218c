"""Reads a window of lines from a file of any size: memory stays flat, long lines are cut and say so."""

from __future__ import annotations

import codecs
import io
from dataclasses import field
from typing import BinaryIO

from aicli.late import dataclass
from aicli.tools.files import shown
from aicli.workspace.text import SAMPLE, Encoding, decode, detect, split_lines

MOST_LINES = 2_000
MOST_CHARS = 48_000
LINE_CHARS = 2_000
WHOLE = 4_000_000
"""Files up to this many bytes are read at once; of larger ones only what is asked for."""
_BLOCK = 1 << 18
_REST = 64_000_000


@dataclass
class Window:
    """Lines from `first` on, each with the number of characters cut off it (-1: too many to count).

    `total` is the number of lines of the file, None where it was not read to its end; `next` the line to go on with.
    `binary_from` is the line at which text ends and NUL bytes begin.
    """

    first: int
    lines: list[tuple[str, int]] = field(default_factory=list)
    total: int | None = None
    next: int | None = None
    encoding: Encoding = Encoding()
    binary_from: int | None = None

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


def window(file: BinaryIO, size: int, offset: int, limit: int) -> Window:
    """Up to `limit` lines from line `offset` (1-based); fewer when they would be more than MOST_CHARS characters."""
    file.seek(0)
    if size <= WHOLE:
        text = decode(file.read(WHOLE + 1))
        return of_lines(split_lines(text.text), offset, limit, text.encoding)
    encoding = detect(file.read(SAMPLE), whole=False)
    file.seek(0)
    if encoding.name.startswith(("utf-16", "utf-32")):
        wide = _WideLines(file, encoding)
        try:
            return _stream(wide, offset, limit, encoding)
        finally:
            wide.text.detach()
    return _stream(_ByteLines(file, encoding), offset, limit, encoding)


def of_lines(lines: list[str], offset: int, limit: int, encoding: Encoding = Encoding()) -> Window:
    """The same window of lines that are already there."""
    out = Window(offset, total=len(lines), encoding=encoding)
    room = MOST_CHARS
    for line in lines[offset - 1 : offset - 1 + limit]:
        text, cut = line[:LINE_CHARS], max(0, len(line) - LINE_CHARS)
        if not _add(out, text, cut, room):
            break
        room -= len(text) + 8
    if out.last < len(lines) and out.binary_from is None:
        out.next = out.last + 1
    return out


def numbered(window: Window) -> str:
    """The lines with their numbers, a tab between, and marks where characters are left out."""
    out = []
    for number, (text, cut) in enumerate(window.lines, window.first):
        more = f" [… {cut:,} more characters on this line]" if cut > 0 else " [… the line goes on]" if cut else ""
        out.append(f"{number:>6}\t{shown(text)}{more}")
    return "\n".join(out)


def _add(out: Window, text: str, cut: int, room: int) -> bool:
    """Takes a line unless the room is used up (the first always fits) or it holds NUL bytes."""
    if "\x00" in text and not out.encoding.name.startswith(("utf-16", "utf-32")):
        out.binary_from = out.first + len(out.lines)
        return False
    if out.lines and len(text) + 8 > room:
        return False
    out.lines.append((text, cut))
    return True


class _ByteLines:
    """Lines of a file whose line end is the byte \\n, as every encoding but UTF-16 and UTF-32 has it."""

    def __init__(self, file: BinaryIO, encoding: Encoding) -> None:
        self.file, self.encoding = file, encoding
        self.file.seek(len(encoding.bom))

    def skip(self, count: int) -> int:
        """Goes past `count` lines; gives how many there really were."""
        passed, start, part = 0, self.file.tell(), False
        while passed < count:
            block = self.file.read(_BLOCK)
            if not block:
                return passed + part
            here = block.count(b"\n")
            if passed + here < count:
                passed, start, part = passed + here, start + len(block), not block.endswith(b"\n")
                continue
            at = -1
            for _ in range(count - passed):
                at = block.find(b"\n", at + 1)
            self.file.seek(start + at + 1)
            return count
        return passed

    def next(self) -> tuple[str, int] | None:
        """A line without its end, cut, with the count of characters left out; None at the end of the file."""
        head = self.file.readline(LINE_CHARS * 4)
        if not head:
            return None
        errors = "replace" if self.encoding.errors == "strict" else self.encoding.errors
        decoder = codecs.getincrementaldecoder(self.encoding.name)(errors)
        if head.endswith(b"\n"):
            text = decoder.decode(head[: -2 if head.endswith(b"\r\n") else -1], True)
            return text[:LINE_CHARS], max(0, len(text) - LINE_CHARS)
        text = decoder.decode(head)
        rest = self._rest(decoder)
        return text[:LINE_CHARS], -1 if rest < 0 else max(0, len(text) + rest - LINE_CHARS)

    def _rest(self, decoder: codecs.IncrementalDecoder) -> int:
        """Characters up to the line's end; -1 if that is very far."""
        read = cut = 0
        while read < _REST:
            part = self.file.readline(_BLOCK)
            if not part:
                return cut
            read += len(part)
            cut += len(decoder.decode(part.rstrip(b"\r\n") if part.endswith(b"\n") else part))
            if part.endswith(b"\n"):
                return cut
        return -1


class _WideLines:
    """Lines of a UTF-16 or UTF-32 file."""

    def __init__(self, file: BinaryIO, encoding: Encoding) -> None:
        file.seek(len(encoding.bom))
        self.text = io.TextIOWrapper(file, encoding.name, "replace", newline="\n")

    def skip(self, count: int) -> int:
        for passed in range(count):
            part = self.text.readline(_BLOCK)
            if not part:
                return passed
            while part and not part.endswith("\n"):
                part = self.text.readline(_BLOCK)
        return count

    def next(self) -> tuple[str, int] | None:
        line = part = self.text.readline(LINE_CHARS + 2)
        if not line:
            return None
        length = len(line)
        while part and not part.endswith("\n"):
            part = self.text.readline(_BLOCK)
            length += len(part)
        end = 2 if line.endswith("\r\n") else 1 if line.endswith("\n") else 0
        text = line[: len(line) - end][:LINE_CHARS]
        return text, max(0, length - (1 if part.endswith("\n") else 0) - LINE_CHARS) if not end else 0


def _stream(lines: _ByteLines | _WideLines, offset: int, limit: int, encoding: Encoding) -> Window:
    out = Window(offset, encoding=encoding)
    passed = lines.skip(offset - 1)
    if passed < offset - 1:
        out.total = passed
        return out
    room = MOST_CHARS
    while len(out.lines) < limit:
        line = lines.next()
        if line is None:
            out.total = out.last
            break
        if not _add(out, *line, room):
            break
        room -= len(line[0]) + 8
        if line[1] < 0:
            break
    if out.total is None and out.binary_from is None:
        out.next = out.last + 1
    return out
