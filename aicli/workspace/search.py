"""Searching a workspace: which files, and a child program that looks into them and can be stopped."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import field
from itertools import islice
from pathlib import Path

from aicli.late import dataclass, regex
from aicli.workspace.faults import WorkspaceError
from aicli.workspace.needles import needles
from aicli.workspace.prefilter import ripgrep
from aicli.workspace.searchrequest import Request
from aicli.workspace.shape import shape
from aicli.workspace.translate import translated

TIME_LIMIT = 20.0
"""Seconds after which a search is ended; what was found so far counts."""
_PROGRAM = """import sys
for name in ("aicli", "aicli.workspace"):
    sys.modules[name] = package = type(sys)(name)
    package.__path__ = [sys.argv[1] + "/" + name.replace(".", "/")]
from aicli.workspace.searcher import main
main()"""
"""The packages stand in for the real ones, whose own imports cost as much as a search."""
_LOOKS_OUT = regex(r"\(\?(?:[=!>(]|<[=!])|\\[AZ]|[*+?}]\+|\(\?[aiLmux-]*[msx]|\[\^|\\[xuU0]")
"""Patterns whose sense may hang on what stands beyond the line, or that run far over its end."""


class BadPattern(ValueError):
    """The text says what is wrong with the regular expression, and where."""


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


def request(root: Path, pattern: str, *, literal: bool = False, multiline: bool = False, **more: object) -> Request:
    """A checked request; `more` are the other fields of Request. Raises BadPattern."""
    source = re.escape(pattern) if literal else pattern
    try:
        re.compile(source)
    except re.error as e:
        where = f" at character {e.pos + 1}" if e.pos is not None else ""
        raise BadPattern(f"{e.msg}{where}") from None
    except (RecursionError, OverflowError):
        raise BadPattern("it is too deeply nested or too large") from None
    found = (pattern,) if literal else needles(pattern)
    by_line = not literal and _LOOKS_OUT.search(pattern) is not None
    fold = bool(more.get("ignore_case"))
    return Request(
        root=os.fspath(root),
        pattern=source,
        multiline=multiline,
        needles=tuple(n for n in found if n),
        by_line=by_line,
        ripgrep=ripgrep(root),
        translated="" if multiline else translated(source),
        shape=("", "") if multiline or by_line or any(found) else shape(source, fold),
        **more,
    )


def search(
    ask: Request, files: Iterable[str], *, stop: threading.Event | None = None, limit: float = TIME_LIMIT
) -> Found:
    """Searches files (relative to the request's root) in their order. Blocks up to `limit` seconds, less when `stop` is set.

    Raises OSError when the child can't be started, and the WorkspaceError that `files` raises.
    """
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, str(Path(__file__).parents[2])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={k: v for k, v in os.environ.items() if k.upper() == "SYSTEMROOT"},
        start_new_session=True,
    )
    found, over, end = Found(), threading.Event(), time.monotonic() + limit
    failed: list[WorkspaceError] = []
    threads = [
        threading.Thread(target=_feed, args=(child, ask, files, failed), daemon=True),
        threading.Thread(target=_watch, args=(child, over, end, stop), daemon=True),
    ]
    for thread in threads:
        thread.start()
    assert child.stdout is not None
    ended = False
    with child.stdout as out:
        for record in out:
            if record.endswith(b"\n"):  # the last may be cut when the child was ended
                ended = _take(found, json.loads(record)) or ended
    over.set()
    child.kill()
    child.wait()
    for thread in threads:
        thread.join(1)
    if failed:
        raise failed[0]
    if not ended:
        found.complete = False
        found.timed_out = time.monotonic() >= end
        if not found.timed_out and not (stop is not None and stop.is_set()):
            raise OSError("the search program ended early")
    return found


def _take(found: Found, record: list[object]) -> bool:
    """Adds one record; True for the last."""
    match record:
        case ["h", str(path), int(number), str(text), bool(matched)]:
            found.lines.append(Line(path, number, text, matched))
            found.counts[path] = found.counts.get(path, 0) + matched
        case ["c", str(path), int(count)]:
            found.counts[path] = count
        case ["f", str(path)]:
            found.counts[path] = 1
        case ["skip", str(path), str(why)]:
            found.skipped.append((path, why))
        case ["end", bool(complete)]:
            found.complete = complete
            return True
    return False


def _feed(child: subprocess.Popen[bytes], ask: Request, files: Iterable[str], failed: list[WorkspaceError]) -> None:
    assert child.stdin is not None
    try:
        with child.stdin as pipe:
            pipe.write(json.dumps(vars(ask)).encode() + b"\n")
            for group in _groups(files):
                pipe.write(group)
    except WorkspaceError as e:
        failed.append(e)
    except (OSError, ValueError):
        pass  # the child is done or was ended


def _groups(files: Iterable[str]) -> Iterator[bytes]:
    names = iter(files)
    while group := list(islice(names, 512)):
        yield os.fsencode("\0".join(group)) + b"\0"


def _watch(child: subprocess.Popen[bytes], over: threading.Event, end: float, stop: threading.Event | None) -> None:
    while not over.wait(0.05):
        if time.monotonic() >= end or (stop is not None and stop.is_set()):
            child.kill()
            return
