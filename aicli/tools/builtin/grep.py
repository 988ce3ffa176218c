"""The grep tool: finds lines by a regular expression or a literal text."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal

from aicli.clean import sanitise
from aicli.content.kinds import ToolKind
from aicli.content.parts import JsonObject
from aicli.content.results import TextDisplay, ToolResult
from aicli.content.value import Note
from aicli.late import dataclass
from aicli.tools.base import ToolContext, ToolFailed, tool
from aicli.tools.shown import shown
from aicli.workspace.faults import WorkspaceError
from aicli.workspace.globs import BadGlob, compile_glob, names_hidden
from aicli.workspace.listing import Listing, looked_up
from aicli.workspace.prefilter import candidates
from aicli.workspace.protected import is_secret, secret_among
from aicli.workspace.root import Workspace
from aicli.workspace.search import TIME_LIMIT, BadPattern, Found, Line, request, search
from aicli.workspace.searchrequest import Request


@dataclass(frozen=True)
class _Outcome:
    found: Found
    listing: Listing
    secrets: list[str]
    denied: list[str]
    is_dir: bool


Mode = Literal["content", "files", "count"]
_MODES = {"files_with_matches": "files", "files_only": "files", "matches": "content", "lines": "content"}
_LONGEST = 50_000
_MOST = 2_000


def _adapt(args: JsonObject) -> JsonObject:
    """Flags in the manner of the command line, and `case_sensitive`."""
    out: JsonObject = {}
    for key, value in args.items():
        if key == "case_sensitive" and isinstance(value, bool):
            out["ignore_case"] = not value
        elif key == "fixed_strings":
            out["literal"] = value
        elif key in ("mode", "output_mode"):
            out["mode"] = _MODES.get(str(value), value)
        elif key in ("-n", "line_numbers"):
            continue
        else:
            out[key] = value
    return out


@tool(
    kind=ToolKind.SEARCH,
    title="Search {pattern} {path}",
    rare=("ignore_case", "literal", "context", "mode", "multiline"),
    untold=("limit",),
    aliases=("search_file_content", "grep_search", "search_files", "search_text", "ripgrep", "rg", "search"),
    param_aliases={
        "query": "pattern",
        "regex": "pattern",
        "search": "pattern",
        "dir_path": "path",
        "directory": "path",
        "include": "glob",
        "include_pattern": "glob",
        "file_pattern": "glob",
        "max_results": "limit",
        "head_limit": "limit",
        "case_insensitive": "ignore_case",
        "-i": "ignore_case",
        "-C": "context",
        "context_lines": "context",
    },
    adapt=_adapt,
    timeout=None,
    compact="Search file contents by regex.",
)
async def grep(
    ctx: ToolContext,
    pattern: str,
    path: str = ".",
    glob: Annotated[str, Note("As *.{ts,tsx} or !*.md.")] = "",
    ignore_case: bool = False,
    literal: bool = False,
    context: int = 0,
    mode: Mode = "content",
    multiline: bool = False,
    limit: int = 100,
) -> ToolResult:
    """Search file contents by a Python regular expression. Shows path:line: text. Skips ignored, hidden and binary files."""
    workspace = ctx.state.workspace
    if workspace is None:
        raise ToolFailed("This run has no workspace to search.")
    if not pattern:
        raise ToolFailed("pattern is empty: give the text or expression to look for.")
    limit = max(1, min(limit, _MOST))
    more = {"ignore_case": ignore_case, "context": max(0, min(context, 50)), "mode": mode, "limit": limit}
    wanted = (pattern, literal, multiline, more)
    stop = threading.Event()
    try:
        found = await asyncio.to_thread(_search, workspace, path, glob, wanted, stop, ctx.state.may_read)
    except asyncio.CancelledError:
        stop.set()
        raise
    return _result(found, mode, limit)


def _search(
    workspace: Workspace,
    path: str,
    glob: str,
    wanted: tuple[str, bool, bool, dict[str, Any]],
    stop: threading.Event,
    may_read: Callable[[str], bool],
) -> _Outcome:
    pattern, literal, multiline, more = wanted
    try:
        place, is_dir = looked_up(workspace, path)
        ask = request(place.root, pattern, literal=literal, multiline=multiline, **more)
        include, exclude = _patterns(glob)
        listing = Listing(workspace, place, hidden=names_hidden(glob.lstrip("!")))
        secrets: list[str] = []
        denied: list[str] = []

        def open_to_all() -> Iterator[str]:
            for names in _names(listing, (include, exclude), secrets, ask, stop):
                closed = {rel for rel in names if not may_read(listing.display(rel))}
                denied.extend(closed)
                yield from (rel for rel in names if rel not in closed) if closed else names

        files: Iterator[str]
        if is_dir:
            files = open_to_all()
        else:
            files = iter((listing.rel(place.display),))
        found = search(ask, files, stop=stop)
    except BadPattern as e:
        raise ToolFailed(
            f"The pattern is no valid regular expression: {e}. literal=true searches for the text itself."
        ) from None
    except (BadGlob, WorkspaceError) as e:
        raise ToolFailed(str(e)) from None
    except OSError as e:
        raise ToolFailed(f"The search could not be run: {e.strerror or e}.") from None
    return _Outcome(found, listing, secrets, denied, is_dir)


def _patterns(glob: str) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """What to include and what to leave out. A pattern without a slash is for the name, wherever the file lies."""
    text = glob.strip()
    if not text:
        return None, None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    compiled = compile_glob(text if "/" in text.strip("/") else f"**/{text.strip('/')}", hidden=negated)
    return (None, compiled) if negated else (compiled, None)


def _names(
    listing: Listing,
    globs: tuple[re.Pattern[str] | None, re.Pattern[str] | None],
    secrets: list[str],
    ask: Request,
    stop: threading.Event,
) -> Iterator[list[str]]:
    """The files to look into, folder by folder; ripgrep names them while the search program starts."""
    likely = candidates(listing, ask, stop, TIME_LIMIT)
    if likely is None:
        chosen = listing.folders(*globs)
    else:
        chosen = iter(([rel for rel in likely if listing.chosen(listing.display(rel), *globs)],))
    for names in chosen:
        if secret_among(names):
            secrets += filter(is_secret, names)
            names = [rel for rel in names if not is_secret(rel)]
        yield names


def _result(outcome: _Outcome, mode: str, limit: int) -> ToolResult:
    found = outcome.found
    if mode == "content":
        lines, hits = _content(found.lines, outcome.listing), sum(line.matched for line in found.lines)
    else:
        each = sorted(found.counts.items()) if mode == "files" else found.counts.items()
        named = [(shown(outcome.listing.display(path)), count) for path, count in each]
        lines = [path if mode == "files" else f"{path}: {count}" for path, count in named]
        hits = sum(found.counts.values())
    body, left = _bounded(lines)
    notes = _notes(outcome, limit, left)
    files = len(found.counts)
    summary = f"{hits:,} {'hit' if hits == 1 else 'hits'} in {files:,} {'file' if files == 1 else 'files'}"
    if mode == "files":
        summary = f"{files:,} {'file' if files == 1 else 'files'}"
    if not lines:
        summary = "no hits"
        body = "No matches."
    text = "\n".join([body, *(f"[{note}]" for note in notes)])
    display = TextDisplay(text=body, summary=summary)
    return ToolResult.of(text, display=display, hits=hits, files=files, complete=found.complete)


def _content(lines: list[Line], listing: Listing) -> list[str]:
    out: list[str] = []
    last: Line | None = None
    context = any(not line.matched for line in lines)
    for line in lines:
        if context and last is not None and (line.path != last.path or line.number > last.number + 1):
            out.append("--")
        mark = ":" if line.matched else "-"
        out.append(
            f"{shown(listing.display(line.path))}{mark}{line.number}{mark} {sanitise(line.text, keep_newlines=False)}"
        )
        last = line
    return out


def _bounded(lines: list[str]) -> tuple[str, int]:
    """Whole lines up to the limit of characters, and how many were left out."""
    size = 0
    for i, line in enumerate(lines):
        size += len(line) + 1
        if size > _LONGEST:
            return "\n".join(lines[:i]), len(lines) - i
    return "\n".join(lines), 0


def _notes(outcome: _Outcome, limit: int, left: int) -> list[str]:
    found, notes = outcome.found, []
    if found.timed_out:
        notes.append(
            f"stopped after {TIME_LIMIT:.0f} s, there may be more: name a smaller path or glob, or a simpler pattern"
        )
    elif not found.complete:
        notes.append(f"only the first {limit}: raise limit or narrow the search")
    if left:
        notes.append(f"{left} more lines left out: narrow the search")
    binary = [path for path, why in found.skipped if why == "binary"]
    if binary and (not outcome.is_dir or not found.counts):
        notes.append(f"{len(binary)} binary {'file' if len(binary) == 1 else 'files'} skipped")
    other = [f"{shown(path)} ({why})" for path, why in (*found.skipped, *outcome.listing.failed) if why != "binary"]
    if other:
        notes.append(
            f"not searched: {', '.join(other[:5])}" + (f" and {len(other) - 5} more" if len(other) > 5 else "")
        )
    if outcome.secrets:
        names = ", ".join(shown(name) for name in outcome.secrets[:3])
        notes.append(f"left out as it may hold secrets: {names}; name it as path to search it")
    if count := len(outcome.denied):
        notes.append(f"{count} {'file' if count == 1 else 'files'} left out: a rule denies reading")
    return notes
