"""Searching a workspace: which files, and for what; children look into them and can be stopped."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from aicli.late import regex
from aicli.workspace.crew import Crew, at_most
from aicli.workspace.found import Found, Line
from aicli.workspace.needles import needles
from aicli.workspace.prefilter import ripgrep
from aicli.workspace.searchrequest import Request
from aicli.workspace.shape import shape
from aicli.workspace.translate import translated

__all__ = ["BadPattern", "Found", "Line", "request", "search"]

TIME_LIMIT = 20.0
"""Seconds after which a search is ended; what was found so far counts."""
_LOOKS_OUT = regex(r"\(\?(?:[=!>(]|<[=!])|\\[AZ]|[*+?}]\+|\(\?[aiLmux-]*[msx]|\[\^|\\[xuU0]")
"""Patterns whose sense may hang on what stands beyond the line, or that run far over its end."""


class BadPattern(ValueError):
    """The text says what is wrong with the regular expression, and where."""


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
        shapes=tuple(
            ("", "") if multiline or by_line or any(found) else shape(source, fold, beyond) for beyond in (False, True)
        ),
        **more,
    )


def search(
    ask: Request,
    files: Iterable[str],
    *,
    stop: threading.Event | None = None,
    limit: float = TIME_LIMIT,
    children: int | None = None,
) -> Found:
    """Searches files (relative to the request's root) in their order. Blocks up to `limit` seconds, less when `stop` is set.

    At most so many `children` do it, by default as there are processors. Raises OSError when none can be started, and
    the WorkspaceError that `files` raises.
    """
    return Crew(ask, files, at_most() if children is None else children).run(time.monotonic() + limit, stop)
