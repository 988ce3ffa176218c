"""Bytes of files for the search program: opened beneath a root, told from binary, their lines counted."""

from __future__ import annotations

import os
import re
from types import ModuleType

BLOCK = 128 * 1024
PART = 64 * BLOCK
"""Bytes of a large file that one child looks at before it takes the next part."""
_ALONG = 16 * 1024 * 1024
_SUSPECT = rb"\A(?:%PDF|\x89|\xff|GIF|PK|\x1f|BZ|\xfd)|[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]"
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def line_ends(block: bytes) -> int:
    """How many. Counting looks at each byte, removing leaps from one to the next: quicker where lines are long."""
    if block.count(b"\n", 0, 4096) < 90:
        return len(block) - len(block.replace(b"\n", b""))
    return block.count(b"\n")


class Files:
    """Opens files below a root without following any link; names come folder by folder, so the folder stays open."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._by_fd = os.open in os.supports_dir_fd
        self._top = os.open(root, _DIRECTORY) if self._by_fd else -1
        self._folder, self._fd = "", self._top

    def open(self, rel: str) -> tuple[int, int]:
        """A regular file's descriptor and its size. Raises OSError."""
        if not self._by_fd:
            fd = os.open(os.path.join(self._root, rel), FILE)
        else:
            folder, _, name = rel.rpartition("/")
            fd = os.open(name, FILE, dir_fd=self.enter(folder))
        status = os.fstat(fd)
        if status.st_mode & 0o170000 != 0o100000:
            os.close(fd)
            raise OSError("not a regular file")
        return fd, status.st_size

    def enter(self, folder: str) -> int:
        """A folder's descriptor, good until the next call. Raises OSError."""
        if folder == self._folder:
            return self._fd
        if self._fd != self._top:
            os.close(self._fd)
        self._folder, self._fd = "", self._top
        fd = self._top
        for part in folder.split("/") if folder else []:
            try:
                below = os.open(part, _DIRECTORY, dir_fd=fd)
            finally:
                if fd != self._top:
                    os.close(fd)
            fd = below
        self._folder, self._fd = folder, fd
        return fd


class Stretch:
    """The whole lines that start in a part of a file (`end` -1: to its end), in blocks that lie as those of the file.

    `start` is where the first of them starts, `place` where the next block does.
    """

    def __init__(self, fd: int, start: int = 0, end: int = -1) -> None:
        self.fd, self.place, self._end = fd, start, end
        self._ended = True  # does the last block end with a line?
        self._first = b""
        os.lseek(fd, max(start - 1, 0), os.SEEK_SET)
        if start and os.read(fd, 1) != b"\n":
            self._first = self._after_a_line()
        self.start = self.place - len(self._first)

    def _after_a_line(self) -> bytes:
        """What follows the end of the line that started before."""
        while self._end < 0 or self.place < self._end:
            block = self._block()
            if cut := block.find(b"\n") + 1:
                return block[cut:]
            if not block:
                return b""
        while self.read():  # that line takes up all of the part
            pass
        return b""

    def _block(self) -> bytes:
        size = min(BLOCK, self._end - self.place) if self.place < self._end else BLOCK
        block = os.read(self.fd, size)
        self.place += len(block)
        self._ended = block.endswith(b"\n")
        return block

    def read(self) -> bytes:
        """The next block, b"" after the last."""
        block, self._first = self._first, b""
        if block:
            return block
        if self._end < 0 or self.place < self._end:
            return self._block()
        if self._ended:
            return b""
        block = self._block()  # of the line that goes on beyond the end
        if cut := block.find(b"\n") + 1:
            self._ended = True
            self.place -= len(block) - cut
        return block[:cut] if cut else block

    def lines(self) -> int:
        """How many are left; reads them."""
        count = 0
        while block := self.read():
            count += line_ends(block)
        return count


class LineNumbers:
    """Which line a place in a file is on, from 1 at `start`; counts only when asked, for most blocks are passed over."""

    def __init__(self, fd: int, start: int) -> None:
        self.start = start
        self._fd, self._place, self._number, self._until = fd, start, 1, 0

    def passed(self, place: int, size: int, lines: bytes) -> None:
        """`size` bytes from a place on hold the line ends of these: counted now while a hit is near, not to read twice."""
        if self._place == place and place < self._until:
            self._number += line_ends(lines)
            self._place += size

    def at(self, place: int) -> int:
        self._until = place + _ALONG
        if self._place >= place:
            return self._number
        here = os.lseek(self._fd, 0, os.SEEK_CUR)
        os.lseek(self._fd, self._place, os.SEEK_SET)
        while self._place < place:
            block = os.read(self._fd, min(BLOCK, place - self._place))
            if not block:
                break
            self._number += line_ends(block)
            self._place += len(block)
        os.lseek(self._fd, here, os.SEEK_SET)
        return self._number


def unified(text: str) -> str:
    """The text with \n as its only line end; a bare \r ends a line only where there is no \n."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")


def excerpt(line: str, at: int, width: int) -> str:
    """The line, or the part of it around index `at`, with marks where it was cut."""
    if len(line) <= width:
        return line
    start = max(0, min(at - width // 4, len(line) - width))
    left, right = start, len(line) - start - width
    return (f"[{left} more]…" if left else "") + line[start : start + width] + (f"…[{right} more]" if right else "")


class Finder:
    """Is one of some texts in a block? By the byte of each that is rarest in a sample where that is rare: a search for
    one byte runs at the speed of memory, one for a text does not."""

    def __init__(self, needles: tuple[bytes, ...], sample: bytes) -> None:
        self._texts: list[tuple[bytes, bytes, int]] = []
        for needle in needles:
            count, offset = min((sample.count(needle[i : i + 1]), i) for i in range(len(needle)))
            rare = count * 2048 <= len(sample)
            self._texts.append((needle, needle[offset : offset + 1] if rare else b"", offset))

    def within(self, block: bytes) -> bool:
        return any(
            _holds(block, needle, byte, offset) if byte else needle in block for needle, byte, offset in self._texts
        )


def _holds(block: bytes, needle: bytes, byte: bytes, offset: int) -> bool:
    at = block.find(byte)
    for _ in range(64):
        if at < 0:
            return False
        if at >= offset and block.startswith(needle, at - offset):
            return True
        at = block.find(byte, at + 1)
    return needle in block


def is_wide(first: bytes) -> bool:
    """May it be UTF-16 or no text at all?"""
    return b"\0" in first[:8192] or first[:2] in (b"\xff\xfe", b"\xfe\xff")


def is_binary(first: bytes) -> bool:
    return re.search(_SUSPECT, first[:8192]) is not None and bool(text_module().looks_binary(first))


def text_module() -> ModuleType:
    """How the rest of the program reads text; needed only for a hit, or for bytes that are no UTF-8."""
    from aicli.workspace import text  # and with it dataclasses: 15 ms

    return text


def is_utf8(part: bytes) -> bool:
    if part.isascii():
        return True
    try:
        part.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
