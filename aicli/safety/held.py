"""Where a path that a rule denies to change is on the disk now: in any case of its letters, behind links, at both ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence

from aicli.safety.mounts import Mounts
from aicli.safety.sandbox_paths import within

_MOST_LINKS = 40


def hold(mounts: Mounts, denied: Iterable[str], roots: Sequence[str]) -> None:
    """Closes what stands at these paths and pins the folders above. What lies in a `.git` has rules of its own.

    Raises PermissionError where the way to one leads over a link in the roots: a link can't be mounted over, so a
    command could put something else in its place.
    """
    search = _Search()
    for path in denied:
        search.follow("/", tuple(s for s in path.split("/") if s), 0)
    closed = {part for found in search.found for part in _in_roots(found, roots)}
    for link in search.links:
        if any(within(link, r) and link != r for r in roots) and not any(within(link, c) for c in closed):
            why = f"a rule denies changes behind {link}, a link that any command could replace"
            raise PermissionError(
                errno.EPERM, f"{why}; the rule has to name what it leads to, {os.path.realpath(link)}"
            )
    for path in closed:
        mounts.close(path)
        root = min((r for r in roots if within(path, r)), key=len)
        steps = os.path.relpath(path, root).split("/")
        for n in range(1, len(steps)):
            mounts.open(os.path.join(root, *steps[:n]))


def _in_roots(path: str, roots: Sequence[str]) -> list[str]:
    """The path itself, or the roots that lie in it."""
    inside = [r for r in roots if within(path, r)]
    if not inside:
        return [r for r in roots if within(r, path)]
    return [] if ".git" in os.path.relpath(path, min(inside, key=len)).split("/") else [path]


class _Search:
    """`found` are the places without links where the paths lead, `links` those that were followed."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.links: set[str] = set()
        self._names: dict[str, dict[str, list[str]]] = {}

    def follow(self, folder: str, steps: tuple[str, ...], links: int) -> None:
        if not steps:
            self.found.add(folder)
            return
        if steps[0] in (".", ".."):
            self.follow(folder if steps[0] == "." else os.path.dirname(folder), steps[1:], links)
            return
        for name in self._spellings(folder, steps[0]):
            place = os.path.join(folder, name)
            if not os.path.islink(place):
                self.follow(place, steps[1:], links)
                continue
            self.links.add(place)
            target = os.readlink(place)
            if links < _MOST_LINKS:
                onward = (*(s for s in target.split("/") if s), *steps[1:])
                self.follow("/" if os.path.isabs(target) else folder, onward, links + 1)

    def _spellings(self, folder: str, name: str) -> list[str]:
        if folder not in self._names:
            listed: dict[str, list[str]] = {}
            try:
                for entry in os.listdir(folder):
                    listed.setdefault(entry.casefold(), []).append(entry)
            except OSError:  # it may be passed and not listed
                pass
            self._names[folder] = listed
        known = self._names[folder].get(name.casefold(), [])
        return known or ([name] if os.path.lexists(os.path.join(folder, name)) else [])
