"""The order of mounts in the workspace: what lies above goes first, and nothing is opened in what may not change."""

from __future__ import annotations

from collections.abc import Callable

from aicli.safety.sandbox_paths import within


class Mounts:
    """Collects what the roots need, in any order; `words` puts the mounts in theirs. All paths real and absolute."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._closed: set[str] = set()
        self._masked: dict[str, Callable[[str], None]] = {}

    def open(self, path: str) -> None:
        """A mount point of its own, so that it can't be moved away; what is in it can change as before."""
        self._open.add(path)

    def close(self, path: str) -> None:
        """Read-only, with all below it, whatever else is said of what lies there."""
        self._closed.add(path)

    def mask(self, path: str, made: Callable[[str], None]) -> None:
        """Something that is not there and can't come to be; `made` hears of the mount point, if one is needed."""
        self._masked[path] = made

    def words(self, empty: str) -> list[str]:
        """The words for bubblewrap, and word to those who wait for a mount point. `empty` is a folder with nothing in it.

        A bind shows what the host has there, over all that was mounted below before: so shallow ones go first.
        """
        words: list[str] = []
        for path in sorted(self._open | self._closed | set(self._masked), key=lambda p: (p.count("/"), p)):
            if any(path != above and within(path, above) for above in self._closed):
                continue
            if path in self._closed:
                words += ["--ro-bind", path, path]
            elif path in self._masked:
                self._masked[path](path)
                words += ["--ro-bind", empty, path]
            else:
                words += ["--bind", path, path]
        return words
