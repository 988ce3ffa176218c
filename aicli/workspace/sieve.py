"""Bytes that certainly hold no hit, told quickly: in most searches that is nearly all there is.

Whatever it can't be sure of it lets through, to be looked at properly.
"""

from __future__ import annotations

import os
import re
from itertools import repeat

from aicli.workspace.searchfile import BLOCK, FILE, Files, Finder, is_utf8, unified
from aicli.workspace.searchrequest import Request

AT_ONCE = 64
"""Files that are open at the same time: well below what any system allows, and their blocks fit the cache."""


class Sieve:
    """What a request's hits need: one of its needles or, for a pattern without, its shape."""

    def __init__(self, request: Request, regex: re.Pattern[str]) -> None:
        fold = self._fold = request.ignore_case
        self._regex = regex
        self.needles = tuple((n.lower() if fold else n).encode("utf-8", "surrogateescape") for n in request.needles)
        self.ascii = all(n.isascii() for n in self.needles)
        self._odd_case = fold and any(not n.isascii() or b"k" in n or b"s" in n for n in self.needles)
        self.plain = bool(self.needles) and not fold and self.ascii
        self.beyond = len(self.needles) == 1 and not fold and not self.ascii
        """One needle, beyond ASCII: rare enough to be looked for before the pattern."""
        self._finder: Finder | None = None
        self._at_once = not request.multiline and not request.by_line
        shapes = [(table.encode("latin-1"), chain.encode("latin-1")) for table, chain in request.shapes]
        self._shape, self._beyond = shapes

    def adapt(self, first: bytes, size: int) -> None:
        """To a large file, by its first block: which byte of a needle is rare?"""
        self._finder = Finder(self.needles, first) if self.plain and size > BLOCK else None

    def suspects(self, files: Files, folder: str, names: list[str]) -> list[str]:
        """Those of a folder's files that may hold a hit, in their order; all of them when one can't be opened.

        Each step is taken for all files before the next: half the time of one file after the other.
        """
        if not hasattr(os, "fchdir") or not (self.needles or self._shape[0]):
            return names
        fds: list[int] = []
        try:
            os.fchdir(files.enter(folder))
            fds.extend(map(os.open, names, repeat(FILE)))
            blocks = list(map(os.read, fds, repeat(BLOCK)))
            more = list(map(os.read, fds, repeat(1)))
        except OSError:
            return names
        finally:
            for fd in fds:
                os.close(fd)
        if any(more):
            return [n for n, block, rest in zip(names, blocks, more, strict=True) if rest or not self.empty(block)]
        if self.empty(b"\n".join(blocks)):
            return []
        return [name for name, block in zip(names, blocks, strict=True) if not self.empty(block)]

    def empty(self, whole: bytes) -> bool:
        """Is it certain that a file of these bytes, or files that were joined by line ends, holds no hit? Linear."""
        if self.plain:
            for needle in self.needles:
                if needle in whole:
                    return False
        if b"\0" in whole or b"\xff" in whole or b"\xfe" in whole:
            return False  # UTF-16 perhaps
        if self.needles:
            return self.plain or not self.may_hold(whole)
        return self._shapeless(whole)

    def _shapeless(self, lines: bytes) -> bool:
        table, chain = self._shape if lines.isascii() else self._beyond
        if not table or (table is self._beyond[0] and (b"\xef\xbb\xbf" in lines or not is_utf8(lines))):
            return False  # a byte order mark stands between a line's end and its start
        return chain not in (b"\n%b\n" % lines).translate(table)

    def unmatched(self, whole: bytes) -> bool:
        """As `empty` of one file, but the pattern itself tells: that takes longer, for ever with some patterns."""
        if self.needles or not self._at_once or not whole.isascii() or b"\0" in whole:
            return False
        return self._regex.search(unified(whole.decode("ascii"))) is None

    def may_hold(self, part: bytes) -> bool:
        """May these whole lines of a file without UTF-16 hold a needle?"""
        if self._finder:
            return self._finder.within(part)
        if self._fold:
            if self._odd_case and not part.isascii():
                return True
            part = part.lower()
        for needle in self.needles:
            if needle in part:
                return True
        return not self.ascii and not is_utf8(part)

    @property
    def passes(self) -> bool:
        """Can it tell that blocks of a large file hold no hit?"""
        return self._shape[0] != b"" or (bool(self.needles) and self.ascii)

    def passed(self, carry: bytes, block: bytes) -> int:
        """How much of a block, in whole lines of which `carry` starts the first, certainly holds no hit; 0: some may."""
        cut = block.rfind(b"\n") + 1
        if self._shape[0]:
            return cut if self._shapeless(carry + block[:cut]) else 0
        end = block.find(b"\n") + 1
        return 0 if self.may_hold(block) or self.may_hold(carry + block[:end]) else cut

    def may_be_among(self, first: bytes, fd: int) -> bool:
        """May a file that is no text, of which this was the first block, hold a needle in any encoding?"""
        if not self.ascii or not self.needles:
            return True
        forms = [form for needle in self.needles for form in (needle, b"\0".join(bytes([c]) for c in needle))]
        longest, carry, block = max(map(len, forms)), b"", first
        while block:
            data = carry + (block.lower() if self._fold else block)
            if any(form in data for form in forms):
                return True
            carry, block = data[-longest:], os.read(fd, BLOCK)
        return False
