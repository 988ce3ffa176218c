"""What a search found, put together in the order of the files from what its children tell piece by piece."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import field

from aicli.late import dataclass
from aicli.workspace.searchfile import PART

Record = list[object]


@dataclass(frozen=True, slots=True)
class Line:
    """A line shown for a hit; `matched` False for context."""

    path: str
    number: int
    text: str
    matched: bool = True


@dataclass
class Found:
    """What came of a search. `counts` is by path (also filled by mode "files", with 1). `complete` False: there is more.

    `timed_out`: the time limit ended it. `skipped` holds path and reason ("binary" or the system's).
    """

    lines: list[Line] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    complete: bool = True
    timed_out: bool = False


class Task:
    """A piece of work for a child, as in searcher.py, and what has come of it. `complete` False: it found too much.

    `lines` is the count of line ends where the work tells it; `again`: the file can't be searched in parts after all.
    """

    def __init__(self, kind: str, *about: object, names: bytes = b"") -> None:
        self.head: Record = [kind, len(names), *about]
        self.names = names
        self.records: list[Record] = []
        self.large: list[Large] = []
        self.done, self.complete, self.again = False, True, False
        self.lines: int | None = None

    def take(self, record: Record) -> list[Task]:
        """Adds what the child tells, gives the work that this makes."""
        match record:
            case ["large", str(path), int(size)]:
                self.large.append(Large(path, size))
                self.records.append(["large", len(self.large) - 1])
                return self.large[-1].parts
            case ["again"]:
                self.again = True
            case ["done", bool(complete), lines]:
                self.done, self.complete = True, complete
                self.lines = lines if isinstance(lines, int) else None
            case _:
                self.records.append(record)
        return []

    def settled(self) -> tuple[bool, list[Task]]:
        """Is all there to be told, and the work that is still to be done for it and was not known before."""
        each = [large.settled() for large in self.large]
        return self.done and all(ready for ready, _ in each), [task for _, more in each for task in more]

    def told(self) -> Iterator[Record]:
        """Its records, those of a file's parts with the numbers of their lines in the file."""
        for record in self.records:
            if record[0] == "large":
                yield from self.large[int(str(record[1]))].told()
            else:
                yield record
        if not self.complete:
            yield ["full"]


class Large:
    """A file that is searched in parts. Their lines are counted from each part's start; where one without a hit
    stands before one with a hit, its lines are counted afterwards."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        starts = range(0, size, PART)
        self.parts = [Task("part", path, at, -1 if at == starts[-1] else at + PART) for at in starts]
        self._counts: list[Task | None] = [None] * len(self.parts)
        self._whole: Task | None = None

    def settled(self) -> tuple[bool, list[Task]]:
        if self._whole:
            return self._whole.settled()
        end = next((i for i, part in enumerate(self.parts) if not part.complete), len(self.parts) - 1)
        if not all(part.done for part in self.parts[: end + 1]):
            return False, []
        if any(part.again for part in self.parts[: end + 1]):
            self._whole = Task("whole", self._path)
            return False, [self._whole]
        last = max((i for i, part in enumerate(self.parts[: end + 1]) if part.records), default=0)
        new = []
        for i, part in enumerate(self.parts[:last]):
            if part.lines is None and self._counts[i] is None:
                task = self._counts[i] = Task("count", *part.head[2:])
                new.append(task)
        return all(self._lines(i) is not None for i in range(last)), new

    def _lines(self, i: int) -> int | None:
        count = self._counts[i]
        return count.lines if count else self.parts[i].lines

    def told(self) -> Iterator[Record]:
        """As far as it is known: where the number of a line is not, that line and all after it are left out."""
        if self._whole:
            yield from self._whole.told()
            return
        above: int | None = 0
        for i, part in enumerate(self.parts):
            for record in part.records if above is not None else ():
                yield [*record[:2], int(str(record[2])) + (above or 0), *record[3:]]
            if not part.complete:
                yield ["full"]
                return
            more = self._lines(i)
            above = None if above is None or more is None else above + more


class Gathering:
    """Puts the records of tasks into one Found until there is more than `limit`."""

    def __init__(self, limit: int) -> None:
        self.found = Found()
        self.full = False
        self._left = limit
        self._before: list[Line] = []

    def add(self, tasks: deque[Task], final: bool = False) -> list[Task]:
        """Takes the settled tasks from the front, all when `final`; gives new work."""
        while tasks and not self.full:
            ready, new = tasks[0].settled()
            if not final and (new or not ready):
                return new
            for record in tasks.popleft().told():
                if not self._take(record):
                    self.found.complete, self.full = False, True
                    break
        return []

    def _take(self, record: Record) -> bool:
        """False when that would be too much."""
        found = self.found
        match record:
            case ["h", str(path), int(number), str(text), None]:
                self._before.append(Line(path, number, text, False))
                return True  # until it is known whether the hit that it stands before is shown
            case ["h", str(path), int(number), str(text), bool(matched)]:
                if matched and not self._room():
                    return False
                found.lines += [*self._before, Line(path, number, text, matched)]
                self._before.clear()
                found.counts[path] = found.counts.get(path, 0) + matched
            case ["c", str(path), int(count)]:
                found.counts[path] = count
                return self._room() or not found.counts.pop(path)
            case ["f", str(path)]:
                found.counts[path] = 1
                return self._room() or not found.counts.pop(path)
            case ["skip", str(path), str(why)]:
                found.skipped.append((path, why))
            case ["full"]:
                return False
        return True

    def _room(self) -> bool:
        self._left -= 1
        return self._left >= 0
