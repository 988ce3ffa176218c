"""Which files of a workspace a search or a listing looks at: ignore rules, hidden names, glob patterns."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import field

from aicli.late import dataclass
from aicli.workspace.ignore import IgnoreRules
from aicli.workspace.root import Place, Workspace, WorkspaceError


@dataclass
class Listing:
    """The entries below a folder. `base` is the root that `rel()` is relative to; `failed` fills while walking.

    A folder that is ignored or hidden but asked for by name is looked at without the rules that hide it.
    """

    workspace: Workspace
    start: Place
    hidden: bool = False
    failed: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._prefix = "" if self.start.root == self.workspace.root else self.start.root.as_posix().rstrip("/") + "/"
        rules = IgnoreRules(self.start.root)
        asked = self.rel(self.start.display)
        self._rules = None if rules.ignored("" if asked == "." else asked, True) else rules

    @property
    def ruled(self) -> bool:
        """Do the ignore rules apply?"""
        return self._rules is not None

    def admits(self, rel: str) -> bool:
        """Would the walk come to this file (a path relative to `start.root`)?"""
        below = self.below(self._prefix + rel)
        if not self.hidden and any(part.startswith(".") for part in below.split("/")):
            return False
        return self._rules is None or not self._rules.ignored(rel, False)

    def rel(self, display: str) -> str:
        """An entry's path relative to `start.root`."""
        return display[len(self._prefix) :] if self._prefix else display

    def below(self, display: str) -> str:
        """An entry's path relative to the folder that was asked for."""
        if self.start.display == ".":
            return display
        return display[len(self.start.display.rstrip("/")) + 1 :]

    def display(self, rel: str) -> str:
        """The other way round."""
        return self._prefix + rel

    def files(self, include: re.Pattern[str] | None = None, exclude: re.Pattern[str] | None = None) -> Iterator[str]:
        """Regular files that the patterns choose, relative to `start.root`, folder by folder, by name.

        Raises WorkspaceError when the folder can't be read.
        """
        for names in self.folders(include, exclude):
            yield from names

    def folders(
        self, include: re.Pattern[str] | None = None, exclude: re.Pattern[str] | None = None
    ) -> Iterator[list[str]]:
        """The same, all that are in one folder at a time: a search waits for these."""
        for before, files, _, _ in self.names():
            start = self.rel(before)
            if include is not None or exclude is not None:
                files = [name for name in files if self.chosen(before + name, include, exclude)]
            if files:
                yield [start + name for name in files]

    def names(self) -> Iterator[tuple[str, list[str], list[str], list[str]]]:
        """Folder by folder, each before those in it: what stands before a name to make it a display path, then the names
        of the files, of the folders and of what is neither. Raises WorkspaceError when the first can't be read."""
        pending, first = [self.start.display], True
        while pending:
            display = pending.pop()
            try:
                files, folders, others = self.workspace.names(display)
            except WorkspaceError as error:
                if first:
                    raise
                self.failed.append((display, str(error)))
                continue
            first = False
            before = "" if display == "." else display.rstrip("/") + "/"
            folder = self.rel(before).rstrip("/")
            files, folders = self._kept(folder, files, False), self._kept(folder, folders, True)
            pending += [before + name for name in reversed(folders)]
            yield before, files, folders, self._kept(folder, others, False)

    def _kept(self, folder: str, names: list[str], are_dirs: bool) -> list[str]:
        if not self.hidden:
            names = [name for name in names if name[0] != "."]
        return names if self._rules is None else self._rules.kept(folder, names, are_dirs)

    def chosen(self, display: str, include: re.Pattern[str] | None, exclude: re.Pattern[str] | None) -> bool:
        """Do the patterns, matched on the path below the folder that was asked for, choose this file?"""
        below = self.below(display)
        return (include is None or include.fullmatch(below) is not None) and not (exclude and exclude.fullmatch(below))


def looked_up(workspace: Workspace, path: str) -> tuple[Place, bool]:
    """The real place that a path names and whether it is a folder; else it is a regular file. Raises WorkspaceError."""
    place = workspace.real(path or ".")
    status = workspace.status(path or ".")
    if status is not None and stat.S_ISDIR(status.st_mode):
        return place, True
    workspace.open_read(path).close()  # says what it is when it is neither
    return place, False
