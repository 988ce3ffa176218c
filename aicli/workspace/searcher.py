"""The search program: a child that reads a request and file names on stdin and writes one JSON record a line.

It is a process of its own because a regular expression may run for ever and holds the interpreter while it does.
Records: ["h", path, line, text, matched], ["c", path, count], ["f", path], ["skip", path, why], ["end", complete].
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator

from aicli.workspace.searchfile import (
    BLOCK,
    Files,
    Finder,
    LineNumbers,
    excerpt,
    is_binary,
    is_utf8,
    text_module,
    unified,
)

_LONGEST_LINE = 4 * 1024 * 1024
_LARGE = 4 * 1024 * 1024
_LONGEST_MULTILINE = 16 * 1024 * 1024


class Request:
    """What to search for: fields by keyword, with these defaults. (No dataclass: its import costs as much as a search.)

    `mode` is content, files or count. `needles` as in needles.py; `by_line` when the pattern may look past a line's
    ends; `width` cuts a shown line; `ripgrep` that program's own path, "" for none; `translated` as in translate.py.
    """

    root = ""
    pattern = ""
    ignore_case = False
    mode = "content"
    context = 0
    multiline = False
    limit = 100
    width = 400
    needles: tuple[str, ...] = ()
    by_line = False
    ripgrep = ""
    translated = ""

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)


class Binary(Exception):
    """The file is no text."""


class Full(Exception):
    """The limit is reached and there is more."""


class Search:
    """One search over many files. `write` gets each record; `left` counts down to the limit."""

    def __init__(self, request: Request, write: Callable[[list[object]], None]) -> None:
        self._ask = request
        self._write = write
        self._regex = re.compile(request.pattern, re.MULTILINE | (re.IGNORECASE if request.ignore_case else 0))
        self._left = request.limit
        fold = request.ignore_case
        self._needles = tuple((n.lower() if fold else n).encode("utf-8", "surrogateescape") for n in request.needles)
        self._ascii = all(n.isascii() for n in self._needles)
        self._odd_case = fold and any(not n.isascii() or b"k" in n or b"s" in n for n in self._needles)
        self._encoding = ""
        self._near: list[int] | None = None
        self._finder: Finder | None = None
        self._plain = bool(self._needles) and not fold and self._ascii
        self._one = self._needles[0] if self._plain and len(self._needles) == 1 else b""
        self._at_once = not request.multiline and not request.by_line

    def _empty(self, block: bytes) -> bool:
        """Is it certain, and quickly so, that a file of these bytes holds no hit? Most files of most searches."""
        if self._plain:
            for needle in self._needles:
                if needle in block:
                    return False
        if self._maybe_wide(block):
            return False
        if self._needles:
            return self._plain or not self._may_hold(block)
        return self._at_once and block.isascii() and self._regex.search(unified(block.decode("ascii"))) is None

    def file(self, rel: str, fd: int, size: int) -> None:
        """Searches one file. Raises OSError, Binary, and Full where a record would pass the limit."""
        first = os.read(fd, BLOCK)
        if 0 < size == len(first):
            if self._one not in first and b"\0" not in first and first[:1] < b"\xfe":
                return  # most files of most searches, so this line comes first
            if self._empty(first):
                return
        self._encoding, self._near = "", None
        self._finder = Finder(self._needles, first) if self._plain and size > BLOCK else None
        if self._ask.context and size >= _LARGE and self._needles and not self._ask.multiline:
            self._near = self._matched(rel, fd, size)
            if not self._near:
                return
            os.lseek(fd, 0, os.SEEK_SET)
            first = os.read(fd, BLOCK)
        hits = last = after = 0
        before: deque[tuple[int, str]] = deque(maxlen=self._ask.context)
        for number, line, at in self._lines(self._texts(fd, first, size)):
            if at is None:
                if after > 0:
                    self._show(rel, number, line, None)
                    after -= 1
                else:
                    before.append((number, line))
                continue
            if number == last:
                continue  # a further piece of an enormous line
            if hits == 0 and is_binary(first):
                raise Binary
            hits, last = hits + 1, number
            if self._ask.mode == "files":
                break
            if self._ask.mode == "content":
                self._take()
                for other, text in before:
                    self._show(rel, other, text, None)
                before.clear()
                self._show(rel, number, line, at)
                after = self._ask.context
        if hits and self._ask.mode != "content":
            self._take()
            self._write(["f", rel] if self._ask.mode == "files" else ["c", rel, hits])

    def _matched(self, rel: str, fd: int, size: int) -> list[int]:
        """The lines of a large file that match, found without context: only what is near them is then decoded."""
        found: list[int] = []
        ask = Request(**{**vars(self._ask), "context": 0, "mode": "content", "limit": self._left + 1})
        os.lseek(fd, 0, os.SEEK_SET)
        try:
            Search(ask, lambda record: found.append(int(str(record[2])))).file(rel, fd, size)
        except Full:
            pass
        return found

    def _far(self, first: int, last: int) -> bool:
        """Are these lines of no interest, not even as context?"""
        reach = self._ask.context
        return self._near is not None and not any(n - reach <= last and first <= n + reach for n in self._near)

    @staticmethod
    def _maybe_wide(first: bytes) -> bool:
        return first[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in first

    def _take(self) -> None:
        if self._left <= 0:
            raise Full
        self._left -= 1

    def _show(self, rel: str, number: int, line: str, at: int | None) -> None:
        self._write(["h", rel, number, excerpt(line, at or 0, self._ask.width), at is not None])

    def _texts(self, fd: int, first: bytes, size: int) -> Iterator[tuple[int, str]]:
        """Stretches of whole lines without their last line end, each with the number of its first line."""
        if b"\0" in first[:8192] or first[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return self._wide(fd, first)
        if self._ask.multiline:
            return self._whole(fd, first)
        if size < _LARGE or not self._ask.ripgrep or self._ask.context:
            return self._blocks(fd, first)
        if self._needles and self._ascii:
            return self._by_ripgrep(fd, ["-F", *(f"--regexp={needle}" for needle in self._ask.needles)])
        if self._ask.translated and first.isascii() and self._ask.mode != "count":
            return self._by_ripgrep(fd, [f"--regexp={self._ask.translated}"])
        return self._blocks(fd, first)

    def _blocks(self, fd: int, block: bytes) -> Iterator[tuple[int, str]]:
        lines, start, carry = LineNumbers(fd), 0, b""  # `start` is where `carry` begins in the file
        skips = bool(self._needles) and self._ask.context == 0
        while block:
            following = os.read(fd, BLOCK)
            if skips and following and self._ascii and self._can_pass(carry, block):
                cut = block.rfind(b"\n") + 1
                lines.passed(start, len(carry) + cut, block)
                start += len(carry) + cut
                block, carry = following, block[cut:]
                continue
            data = carry + block
            cut = data.rfind(b"\n") + 1 if following else len(data)
            block = following
            if cut == 0 and len(data) < _LONGEST_LINE:
                carry = data
                continue
            cut = cut or len(data)
            part, carry = data[:cut], data[cut:]
            alone = start == 0 and not following
            number = lines.at(start) if self._near else 0
            if self._near and self._far(number, number + part.count(b"\n")):
                pass
            elif not (alone or skips) or not self._needles or self._may_hold(part):
                text = self._decoded(part, start == 0)
                yield lines.at(start), text[:-1] if text.endswith("\n") else text
            start += cut

    def _can_pass(self, carry: bytes, block: bytes) -> bool:
        """Neither the block nor the line that it completes holds a needle: nothing need be copied."""
        end = block.find(b"\n") + 1
        return end > 0 and not self._may_hold(block) and not self._may_hold(carry + block[:end])

    def _by_ripgrep(self, fd: int, patterns: list[str]) -> Iterator[tuple[int, str]]:
        """The lines of a large file that may hold a hit, found by ripgrep, which reads the very file that is open here."""
        import subprocess  # 8 ms, and only for large files

        os.lseek(fd, 0, os.SEEK_SET)
        argv = [
            self._ask.ripgrep,
            "--no-config",
            "--line-number",
            "--text",
            "--no-mmap",
            "--encoding=none",
            "--color=never",
            *["-i"] * self._ask.ignore_case,
            *patterns,
            "-",
        ]
        with subprocess.Popen(argv, stdin=fd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}) as child:
            assert child.stdout is not None
            try:
                for found in child.stdout:
                    number, _, line = found.partition(b":")
                    text = self._decoded(line, number == b"1")
                    yield int(number), text[:-1] if text.endswith("\n") else text
            finally:
                child.kill()
        if child.returncode == 2:
            raise OSError("ripgrep could not read it")

    def _may_hold(self, part: bytes) -> bool:
        if self._finder:
            return self._finder.within(part)
        if self._ask.ignore_case:
            if self._odd_case and not part.isascii():
                return True
            part = part.lower()
        for needle in self._needles:
            if needle in part:
                return True
        return not self._ascii and not is_utf8(part)

    def _decoded(self, part: bytes, start: bool) -> str:
        try:
            text = part.decode("utf-8")
        except UnicodeDecodeError as e:
            if not self._encoding:
                guess = text_module().detect(part[part.rfind(b"\n", 0, e.start) + 1 :][:BLOCK], whole=True)
                self._encoding = guess.name
            errors = "surrogateescape" if self._encoding == "utf-8" else "replace"
            text = part.decode(self._encoding, errors)
        if start and text.startswith("\ufeff"):
            text = text[1:]
        return unified(text)

    def _wide(self, fd: int, block: bytes) -> Iterator[tuple[int, str]]:
        encoding = text_module().detect(block, whole=len(block) < BLOCK)
        if not encoding.name.startswith(("utf-16", "utf-32")):
            if self._needed(fd, block):
                raise Binary
            return
        decoder = codecs.getincrementaldecoder(encoding.name)("replace")
        block, number, carry = block[len(encoding.bom) :], 1, ""
        while block:
            following = os.read(fd, BLOCK)
            text = carry + decoder.decode(block, not following)
            block = following
            if (following and len(text) < _LONGEST_LINE and "\n" not in text) or (self._ask.multiline and following):
                carry = text
                continue
            cut = (text.rfind("\n") + 1 or len(text)) if following else len(text)
            part, carry = text[:cut], text[cut:]
            lines = unified(part)
            yield number, lines[:-1] if lines.endswith("\n") else lines
            number += part.count("\n")

    def _needed(self, fd: int, block: bytes) -> bool:
        """Might these bytes, which are no text, hold what every hit needs? Else nobody need hear of the file."""
        if not self._ascii or not self._needles:
            return True
        forms = [form for needle in self._needles for form in (needle, b"\0".join(bytes([c]) for c in needle))]
        longest, carry = max(map(len, forms)), b""
        while block:
            data = carry + (block.lower() if self._ask.ignore_case else block)
            if any(form in data for form in forms):
                return True
            carry, block = data[-longest:], os.read(fd, BLOCK)
        return False

    def _whole(self, fd: int, first: bytes) -> Iterator[tuple[int, str]]:
        pieces, size = [first], len(first)
        while block := os.read(fd, BLOCK):
            pieces.append(block)
            size += len(block)
            if size > _LONGEST_MULTILINE:
                raise OSError(f"too large for a multi-line search (over {_LONGEST_MULTILINE >> 20} MB)")
        data = b"".join(pieces)
        if data and (not self._needles or self._may_hold(data)):
            yield 1, self._decoded(data, True)

    def _lines(self, texts: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str, int | None]]:
        """Line number, line, and where the match starts in it; with context also the lines without one (None)."""
        for number, text in texts:
            if self._ask.multiline:
                yield from self._spans(text)
            elif self._ask.context or self._ask.by_line:
                for line in text.split("\n"):
                    match = self._regex.search(line)
                    if match or self._ask.context:
                        yield number, line, match.start() if match else None
                    number += 1
            else:
                yield from self._hits(number, text)

    def _hits(self, number: int, text: str) -> Iterator[tuple[int, str, int | None]]:
        """Whole stretches at once: a match over a line's end is looked at again in its own line alone."""
        at = counted = 0
        while match := self._regex.search(text, at):
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.start())
            line = text[start:] if end < 0 else text[start:end]
            inside = match if match.end() <= start + len(line) else self._regex.search(line)
            if inside:
                number += text.count("\n", counted, start)
                counted = start
                yield number, line, (match.start() - start) if inside is match else inside.start()
            if end < 0:
                return
            at = end + 1

    def _spans(self, text: str) -> Iterator[tuple[int, str, int | None]]:
        number, counted, done = 1, 0, -1
        for match in self._regex.finditer(text):
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", max(match.end() - 1, match.start()))
            number += text.count("\n", counted, start)
            counted = start
            for i, line in enumerate(text[start : end if end >= 0 else len(text)].split("\n")):
                if number + i > done and (line or i == 0):
                    yield number + i, line, match.start() - start if i == 0 else 0
                    done = number + i


def names(read: Callable[[int], bytes]) -> Iterator[str]:
    """The names in a stream, each ended by a NUL byte."""
    carry = b""
    while block := read(BLOCK):
        *whole, carry = (carry + block).split(b"\0")
        yield from (name.decode("utf-8", "surrogateescape") for name in whole)


def main() -> int:
    bytes(32 * BLOCK)  # once freed, the allocator keeps blocks at hand: a quarter less time on a large file
    source, out = io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False)), sys.stdout
    request = Request(**json.loads(source.readline()))

    def write(record: list[object]) -> None:
        out.write(json.dumps(record) + "\n")
        out.flush()  # what was found counts, should this process be ended

    search, files, complete = Search(request, write), Files(request.root), True
    for rel in names(source.read1):
        try:
            fd, size = files.open(rel)
            try:
                search.file(rel, fd, size)
            finally:
                os.close(fd)
        except Binary:
            write(["skip", rel, "binary"])
        except Full:
            complete = False
            break
        except OSError as e:
            write(["skip", rel, e.strerror or str(e)])
    write(["end", complete])
    return 0
