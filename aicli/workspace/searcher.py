"""The search program: a child that reads a request and file names on stdin and writes one JSON record a line.

It is a process of its own because a regular expression may run for ever and holds the interpreter while it does.
Work is a line [kind, size, ...]: "names" with `size` bytes of file names after it, "whole" with a name, "part" and
"count" with a name, start and end in the file (-1 for its end). Records: ["h", path, line, text, matched] (None for a
line before a hit), ["c", path, count], ["f", path], ["skip", path, why], ["large", path, size] for a file that is to be
searched in parts, ["again"] for a part of one that can't be, ["done", complete, line ends] after each piece of work.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator

from aicli.workspace.filesearch import Binary, FileSearch, Full, Undivided
from aicli.workspace.searchfile import BLOCK, Files, Stretch
from aicli.workspace.searchrequest import Request
from aicli.workspace.sieve import AT_ONCE

_OFTEN = 0.5
"""Seconds."""


def folders(names: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Paths one after the other, as a folder and the names in it, a few at a time."""
    folder = ""
    some: list[str] = []
    for rel in names:
        above, _, name = rel.rpartition("/")
        if above != folder or len(some) >= AT_ONCE:
            if some:
                yield folder, some
            folder, some = above, []
        some.append(name)
    if some:
        yield folder, some


class Worker:
    """Does one piece of work after the other, each up to the limit."""

    def __init__(self, request: Request, write: Callable[[list[object]], None]) -> None:
        self._search, self._files, self._write = FileSearch(request, write), Files(request.root), write
        self._parts = request.parts

    def do(self, kind: str, names: bytes, about: list[object]) -> None:
        """One piece of work, as it is described above."""
        self._search.begin()
        complete, lines = True, None
        match kind, about:
            case "names", []:
                each = os.fsdecode(names).split("\0")[:-1]
                complete = all(self._names(folder, some) for folder, some in folders(each))
            case "whole", [str(rel)]:
                complete = self._one(rel, lambda fd, size: self._search.file(rel, fd, size))
            case "part", [str(rel), int(start), int(end)]:

                def part(fd: int, size: int) -> None:
                    nonlocal lines
                    lines = self._search.part(rel, fd, start, end)

                complete = self._one(rel, part, ["again"])
            case "count", [str(rel), int(start), int(end)]:

                def count(fd: int, size: int) -> None:
                    nonlocal lines
                    lines = Stretch(fd, start, end).lines()

                lines = 0
                self._one(rel, count)
        self._write(["done", complete, lines])

    def _names(self, folder: str, names: list[str]) -> bool:
        """False when the limit is reached."""
        before, parts = folder + "/" if folder else "", self._parts
        some = self._search.sieve.suspects(self._files, folder, names) if len(names) > 1 else names
        return all(
            self._one(rel, lambda fd, size, rel=rel: self._search.file(rel, fd, size, parts))  # type: ignore[misc]
            for rel in (before + name for name in some)
        )

    def _one(self, rel: str, look: Callable[[int, int], None], failed: list[object] | None = None) -> bool:
        """Looks into one file; False when the limit is reached. `failed` is what to say when it can't be read."""
        try:
            fd, size = self._files.open(rel)
            try:
                look(fd, size)
            finally:
                os.close(fd)
        except Binary:
            self._write(["skip", rel, "binary"])
        except Undivided:
            self._write(["again"])
        except Full:
            return False
        except OSError as e:
            self._write(failed or ["skip", rel, e.strerror or str(e)])
        return True


def _bounded(seconds: int) -> None:
    """No search goes on for longer on a processor, should the program that would end it be gone."""
    try:
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    except (ImportError, ValueError):
        pass  # there is a lower limit already


def _ends_with(parent: int) -> None:
    """No search goes on once its parent is gone. A regular expression lets the signal in, however long it runs."""

    def look(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _OFTEN, _OFTEN)
    look()


def main() -> None:
    bytes(32 * BLOCK)  # once freed, the allocator keeps blocks at hand: a quarter less time on a large file
    source, out = io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False)), sys.stdout
    request = Request(**json.loads(source.readline()))
    _bounded(request.seconds)
    if request.parent and sys.platform != "win32":
        _ends_with(request.parent)

    def write(record: list[object]) -> None:
        out.write(json.dumps(record) + "\n")
        out.flush()  # what was found counts, should this process be ended

    worker = Worker(request, write)
    while line := source.readline():
        kind, size, *about = json.loads(line)
        worker.do(kind, source.read(size), about)
