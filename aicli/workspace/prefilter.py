"""Names the files that can hold a hit, by ripgrep where it is installed; the search itself then looks into those alone.

Every hit needs one of the request's needles, whatever the encoding, or lies in a line that ripgrep finds by the
translated pattern, so what ripgrep does not name has no hit.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from pathlib import Path

from aicli.workspace.listing import Listing
from aicli.workspace.searchrequest import Request


def ripgrep(root: Path) -> str:
    """Where ripgrep is, "" for nowhere; never one that lies in the workspace."""
    inside = os.path.realpath(root) + os.sep
    for folder in os.get_exec_path():
        path = os.path.join(folder, "rg")
        if os.path.isabs(path) and os.access(path, os.X_OK) and not os.path.realpath(path).startswith(inside):
            return path
    return ""


def candidates(listing: Listing, ask: Request, stop: threading.Event, limit: float) -> list[str] | None:
    """Admitted files (relative to the request's root) that may hold a hit, in the order of a walk.

    None when ripgrep can't tell: it is not there, doesn't know such patterns, failed anywhere or took over `limit` seconds.
    """
    fit = bool(ask.needles) and all(_fit(needle) for needle in ask.needles)
    if not ask.ripgrep or not (fit or ask.translated):
        return None
    start = listing.rel(listing.start.display)
    argv = [ask.ripgrep, "--no-config", "--files-with-matches", "--null", "--text", "--color=never", "--no-require-git"]
    argv += ["--no-ignore-global", "--no-ignore-dot", "--no-ignore-parent", "--glob=!.git"]
    argv += ["--hidden"] * listing.hidden + ["--no-ignore"] * (not listing.ruled) + ["-i"] * ask.ignore_case
    if fit:
        argv += [f"--regexp={pattern}" for needle in ask.needles for pattern in _patterns(needle)]
    else:
        argv += ["--encoding=none", f"--regexp={ask.translated}"]
    out = _output([*argv, "--", "./" + ("" if start == "." else start)], ask.root, stop, limit)
    if out is None:
        return None
    names = [os.fsdecode(name).removeprefix("./") for name in out.split(b"\0") if name]
    return sorted((n for n in names if listing.admits(n)), key=_walk_order)


def _fit(needle: str) -> bool:
    return len(needle) > 1 and needle.isascii() and needle.isprintable()


def _patterns(needle: str) -> tuple[str, str]:
    """The needle as bytes that are the same in all ASCII-like encodings, and as UTF-16 of either order."""
    characters = [re.sub(r"([^\w\s])", r"\\\1", c) for c in needle]
    return "".join(characters), "(?-u:" + r"\x00".join(characters) + ")"


def _output(argv: list[str], root: str, stop: threading.Event, limit: float) -> bytes | None:
    try:
        child = subprocess.Popen(
            argv, cwd=root, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
    over = threading.Event()

    def watch() -> None:
        waited = 0.0
        while not over.wait(0.05):
            waited += 0.05
            if waited >= limit or stop.is_set():
                child.kill()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    out, _ = child.communicate()
    over.set()
    watcher.join()
    return None if child.returncode not in (0, 1) else out


def _walk_order(rel: str) -> list[tuple[int, str]]:
    *folders, name = rel.split("/")
    return [*((1, folder) for folder in folders), (0, name)]
