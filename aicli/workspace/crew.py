"""The children of a search, one or two, that share its work and can be ended whatever they do."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from aicli.workspace.faults import WorkspaceError
from aicli.workspace.found import Found, Gathering, Task
from aicli.workspace.searchrequest import Request

PROGRAM = """import sys
for name in ("aicli", "aicli.workspace"):
    sys.modules[name] = package = type(sys)(name)
    package.__path__ = [sys.argv[1] + "/" + name.replace(".", "/")]
from aicli.workspace.searcher import main
main()"""
"""The packages stand in for the real ones, whose own imports cost as much as a search."""
_GROUP = 512
"""File names in a piece of work: two milliseconds of it if the files are small."""
_AHEAD = 3
"""Pieces of work that a child has at hand, so that it never waits for the next."""
_OPEN = 64
"""Pieces of work that are not yet in their place, as one before them takes long: their results are held until then."""


def at_most() -> int:
    """Children for which there are processors, two at most: then the listing is what takes longest."""
    here = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(2, here)


class _Child:
    def __init__(self, ask: Request, **more: object) -> None:
        self.tasks: deque[Task] = deque()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PROGRAM, str(Path(__file__).parents[2])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={k: v for k, v in os.environ.items() if k.upper() == "SYSTEMROOT"},
            start_new_session=True,
        )
        self.first = json.dumps({**vars(ask), **more}).encode() + b"\n"
        self.threads: list[threading.Thread] = []


class Crew:
    """A search under way. The second child starts when there is work for it: most searches are too small."""

    def __init__(self, ask: Request, files: Iterable[str], most: int) -> None:
        self._ask, self._files, self._most = ask, iter(files), most
        self._gathering = Gathering(ask.limit)
        self._order: deque[Task] = deque()
        self._soon: deque[Task] = deque()
        self._naming = self._named = self._over = False
        self._failed: WorkspaceError | None = None
        self._change = threading.Condition()
        self._children: list[_Child] = []
        self._seconds = 0

    def run(self, end: float, stop: threading.Event | None) -> Found:
        """Blocks until all is found, at most until the clock's `end`; see search()."""
        self._seconds = math.ceil(max(0, end - time.monotonic())) + 1
        self._start()
        ended = False
        try:
            with self._change:
                while not self._over and not ended:
                    self._change.wait(0.05)
                    ended = time.monotonic() >= end or (stop is not None and stop.is_set())
        finally:
            self._end()
            for child in self._children:
                child.process.kill()
            for child in self._children:
                child.process.wait()
                for thread in child.threads:
                    thread.join(1)
        with self._change:
            return self._result(end, stop)

    def _result(self, end: float, stop: threading.Event | None) -> Found:
        if self._failed:
            raise self._failed
        found = self._gathering.found
        if self._gathering.full or (self._named and not self._order):
            return found
        self._gathering.add(self._order, final=True)
        found.complete = False
        found.timed_out = time.monotonic() >= end
        if not found.timed_out and not (stop is not None and stop.is_set()):
            raise OSError("the search program ended early")
        return found

    def _start(self) -> None:
        child = _Child(self._ask, parts=self._most > 1, seconds=self._seconds, parent=os.getpid())
        self._children.append(child)
        child.threads = [threading.Thread(target=way, args=(child,), daemon=True) for way in (self._feed, self._read)]
        for thread in child.threads:
            thread.start()

    def _feed(self, child: _Child) -> None:
        assert child.process.stdin is not None
        try:
            with child.process.stdin as pipe:
                pipe.write(child.first)
                while task := self._next(child):
                    pipe.write(json.dumps(task.head).encode() + b"\n" + task.names)
                    pipe.flush()
        except (OSError, ValueError):
            pass  # the child was ended
        finally:
            self._end()

    def _next(self, child: _Child) -> Task | None:
        """Work for a child when it is short of it; None at the end."""
        while True:
            with self._change:
                self._change.wait_for(lambda: self._over or (len(child.tasks) < _AHEAD and self._ready()))
                if self._over:
                    return None
                if self._soon:
                    return self._given(child, self._soon.popleft())
                self._naming = True
            group, failed = self._group()  # outside of the lock: a listing may take its time
            with self._change:
                self._naming, self._named, self._failed = False, not group, failed
                if group:
                    self._order.append(Task("names", names=os.fsencode("\0".join(group)) + b"\0"))
                    return self._given(child, self._order[-1])
                self._advance()
                self._change.notify_all()

    def _ready(self) -> bool:
        """Is there work to be had?"""
        return bool(self._soon) or not (self._named or self._naming or len(self._order) >= _OPEN)

    def _group(self) -> tuple[list[str], WorkspaceError | None]:
        try:
            return list(islice(self._files, _GROUP)), None
        except WorkspaceError as error:
            return [], error

    def _given(self, child: _Child, task: Task) -> Task:
        child.tasks.append(task)
        if len(self._children) < self._most and (self._soon or len(self._order) > 1):
            try:
                self._start()
            except OSError:
                self._most = 1
        self._change.notify_all()
        return task

    def _read(self, child: _Child) -> None:
        assert child.process.stdout is not None
        with child.process.stdout as out:
            for line in out:
                if not line.endswith(b"\n"):
                    break  # cut when the child was ended
                record = json.loads(line)
                with self._change:
                    self._soon += child.tasks[0].take(record)
                    if record[0] == "done":
                        child.tasks.popleft()
                        self._advance()
                    if record[0] in ("done", "large"):
                        self._change.notify_all()
        self._end()

    def _advance(self) -> None:
        self._soon += self._gathering.add(self._order)
        if self._failed or self._gathering.full or (self._named and not self._order):
            self._over = True

    def _end(self) -> None:
        with self._change:
            self._over = True
            self._change.notify_all()
