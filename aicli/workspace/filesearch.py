"""One file searched, or a part of one: its hits as records, the program's own way of reading text included."""

from __future__ import annotations

import codecs
import os
import re
from collections import deque
from collections.abc import Callable, Iterator

from aicli.workspace.searchfile import (
    BLOCK,
    PART,
    LineNumbers,
    Stretch,
    excerpt,
    is_binary,
    is_wide,
    text_module,
    unified,
)
from aicli.workspace.searchrequest import Request
from aicli.workspace.sieve import Sieve

_LONGEST_LINE = 4 * 1024 * 1024
_LARGE = 4 * 1024 * 1024
_LONGEST_MULTILINE = 16 * 1024 * 1024


class Binary(Exception):
    """The file is no text."""


class Full(Exception):
    """The limit is reached and there is more."""


class Undivided(Exception):
    """A part of the file is no UTF-8: what it is must be told from the file as a whole."""


class FileSearch:
    """One search over many files. `write` gets each record; `left` counts down to the limit."""

    def __init__(self, request: Request, write: Callable[[list[object]], None]) -> None:
        self._ask = request
        self._write = write
        self._regex = re.compile(request.pattern, re.MULTILINE | (re.IGNORECASE if request.ignore_case else 0))
        self._left = request.limit
        self.sieve = Sieve(request, self._regex)
        self._encoding = ""
        self._near: list[int] | None = None
        self._partly = False

    def begin(self) -> None:
        """The limit counts anew."""
        self._left = self._ask.limit

    def file(self, rel: str, fd: int, size: int, parts: bool = False) -> None:
        """Searches one file. Raises OSError, Binary, and Full where a record would pass the limit.

        With `parts` a large file is only named, where it can be searched part by part.
        """
        first = os.read(fd, BLOCK)
        if 0 < size == len(first) and (self.sieve.empty(first) or self.sieve.unmatched(first)):
            return
        if parts and size >= 2 * PART and self._divisible(first, size):
            self._write(["large", rel, size])
            return
        self._encoding, self._near = "", None
        self.sieve.adapt(first, size)
        if self._ask.context and size >= _LARGE and self.sieve.needles and not self._ask.multiline:
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
                    self._show(rel, other, text, None, None)
                before.clear()
                self._show(rel, number, line, at)
                after = self._ask.context
        if hits and self._ask.mode != "content":
            self._take()
            self._write(["f", rel] if self._ask.mode == "files" else ["c", rel, hits])

    def _divisible(self, first: bytes, size: int) -> bool:
        ask = self._ask
        simple = ask.mode == "content" and not ask.context and not ask.multiline
        return simple and not is_wide(first) and not self._for_ripgrep(first, size) and not is_binary(first)

    def part(self, rel: str, fd: int, start: int, end: int) -> int | None:
        """Searches the lines that start in a part of a file and numbers them from there; how many, if any is a hit.

        Raises as `file`, and Undivided.
        """
        stretch = Stretch(fd, start, end)
        lines = LineNumbers(fd, stretch.start)
        first = stretch.read()
        self._encoding, self._near, self._partly = "", None, True
        self.sieve.adapt(first, PART)
        last = 0
        try:
            for number, line, at in self._lines(self._blocks(stretch, first, lines)):
                if at is not None and number != last:
                    last = number
                    self._take()
                    self._show(rel, number, line, at)
        finally:
            self._partly = False
        return lines.at(stretch.place) - 1 if last and end >= 0 else None

    def _matched(self, rel: str, fd: int, size: int) -> list[int]:
        """The lines of a large file that match, found without context: only what is near them is then decoded."""
        found: list[int] = []
        ask = Request(**{**vars(self._ask), "context": 0, "mode": "content", "limit": self._left + 1})
        os.lseek(fd, 0, os.SEEK_SET)
        try:
            FileSearch(ask, lambda record: found.append(int(str(record[2])))).file(rel, fd, size)
        except Full:
            pass
        return found

    def _far(self, first: int, last: int) -> bool:
        """Are these lines of no interest, not even as context?"""
        reach = self._ask.context
        return self._near is not None and not any(n - reach <= last and first <= n + reach for n in self._near)

    def _take(self) -> None:
        if self._left <= 0:
            raise Full
        self._left -= 1

    def _show(self, rel: str, number: int, line: str, at: int | None, matched: bool | None = False) -> None:
        self._write(["h", rel, number, excerpt(line, at or 0, self._ask.width), at is not None or matched])

    def _texts(self, fd: int, first: bytes, size: int) -> Iterator[tuple[int, str]]:
        """Stretches of whole lines without their last line end, each with the number of its first line."""
        if is_wide(first):
            return self._wide(fd, first)
        if self._ask.multiline:
            return self._whole(fd, first)
        if patterns := self._for_ripgrep(first, size):
            return self._by_ripgrep(fd, patterns)
        stretch = Stretch(fd)
        return self._blocks(stretch, stretch.read(), LineNumbers(fd, 0))

    def _for_ripgrep(self, first: bytes, size: int) -> list[str]:
        """What ripgrep is to look for in a large file, [] to do without it."""
        if size < _LARGE or not self._ask.ripgrep or self._ask.context:
            return []
        if self.sieve.needles and self.sieve.ascii:
            return ["-F", *(f"--regexp={needle}" for needle in self._ask.needles)]
        translated = self._ask.translated and first.isascii() and self._ask.mode != "count"
        return [f"--regexp={self._ask.translated}"] if translated else []

    def _blocks(self, stretch: Stretch, block: bytes, lines: LineNumbers) -> Iterator[tuple[int, str]]:
        start, carry = lines.start, b""  # `start` is where `carry` begins in the file
        skips = self.sieve.passes and self._ask.context == 0
        while block:
            following = stretch.read()
            if skips and following and (cut := self.sieve.passed(carry, block)):
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
            elif not (alone or skips) or not self.sieve.needles or self.sieve.may_hold(part):
                text = self._decoded(part, start == 0)
                yield lines.at(start), text[:-1] if text.endswith("\n") else text
            lines.passed(start, cut, part)
            start += cut

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

    def _decoded(self, part: bytes, start: bool) -> str:
        try:
            text = part.decode("utf-8")
        except UnicodeDecodeError as e:
            if self._partly:
                raise Undivided from None
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
            if self.sieve.may_be_among(block, fd):
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

    def _whole(self, fd: int, first: bytes) -> Iterator[tuple[int, str]]:
        pieces, size = [first], len(first)
        while block := os.read(fd, BLOCK):
            pieces.append(block)
            size += len(block)
            if size > _LONGEST_MULTILINE:
                raise OSError(f"too large for a multi-line search (over {_LONGEST_MULTILINE >> 20} MB)")
        data = b"".join(pieces)
        if data and (not self.sieve.needles or self.sieve.may_hold(data)):
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
            elif self.sieve.beyond:
                yield from self._hits_near(self._ask.needles[0], number, text)
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

    def _hits_near(self, needle: str, number: int, text: str) -> Iterator[tuple[int, str, int | None]]:
        """Of the lines that hold it alone: a long line without may take a pattern minutes."""
        counted, place = 0, text.find(needle)
        while place >= 0:
            start = text.rfind("\n", 0, place) + 1
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            if match := self._regex.search(text, start, end):
                number += text.count("\n", counted, start)
                counted = start
                yield number, text[start:end], match.start() - start
            place = text.find(needle, end)

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
