"""Completion of @paths and /commands. Files are listed and searched in threads, ignore rules honoured."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from aicli.ui.line_editor import Candidate

if TYPE_CHECKING:
    from aicli.workspace.ignore import IgnoreRules

MOST_FILES, MOST_FOUND = 200_000, 20
AT_ONCE = 1_000
"""Paths that are looked through while a key waits."""
TELL_AFTER, WORK_FOR, REST_FOR = 0.1, 0.004, 0.0005
"""Seconds: between two words of growth, and the rhythm in which the listing lets keys through."""
_AT = re.compile(r"(?:^|\s)@(?:\"([^\"]*)|(\S*))$")
_COMMAND = re.compile(r"^/(\S*)$")


class FileIndex:
    """The files below `root`, nearest first, growing while a thread lists them.

    `suggest` never blocks the caller. `grown` is called, in a thread of ours, when it may know more than before.
    """

    def __init__(self, root: Path, grown: Callable[[], None] = lambda: None) -> None:
        self.root = root
        self.paths: list[str] = []
        self.grown = grown
        self._folded: list[str] = []  # the paths as they are compared
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._lock = threading.Lock()
        self._asked, self._searching = "", False
        self._answer: tuple[str, int, list[str]] = ("", 0, [])  # text, number of paths looked at, the best of them

    def start(self) -> None:
        """Begins the listing, once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._list, name="files", daemon=True)
            self._thread.start()

    def refresh(self) -> None:
        """Lists anew next time: files may have come."""
        if not self._listing:
            self._thread = None

    def close(self) -> None:
        self._stopped = True

    def wait(self, seconds: float) -> None:
        """Blocks until all is listed, or for so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    @property
    def _listing(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _list(self) -> None:
        from aicli.workspace.ignore import IgnoreRules  # the rules' library is slow to import

        rules = IgnoreRules(self.root)
        level: list[str] = [""]
        found: list[str] = []
        folded: list[str] = []
        told = rested = 0.0
        while level and len(found) < MOST_FILES:
            below: list[str] = []
            for folder in level:
                if self._stopped:
                    return
                files, folders = self._entries(folder, rules)
                folded += [path.casefold() for path in files]
                found += files
                below += folders
                now = time.monotonic()
                if len(self.paths) <= len(found) and now - told > TELL_AFTER:
                    self.paths, self._folded, told = found, folded, now
                    self.grown()
                if now - rested > WORK_FOR:
                    time.sleep(REST_FOR)
                    rested = time.monotonic()
            level = below
        self.paths, self._folded = found, folded
        self.grown()

    def _entries(self, folder: str, rules: IgnoreRules) -> tuple[list[str], list[str]]:
        files: list[str] = []
        folders: list[str] = []
        try:
            with os.scandir(self.root / folder) as entries:
                rows = sorted((e.name, e.is_dir(follow_symlinks=False)) for e in entries)
        except OSError:
            return [], []
        for name, is_dir in rows:
            rel = f"{folder}{name}"
            if name == ".git" or rules.ignored(rel, is_dir):
                continue
            files.append(rel + "/" if is_dir else rel)
            if is_dir:
                folders.append(rel + "/")
        return files, folders

    def suggest(self, text: str) -> list[str]:
        """The best of what is known by now. Where a key would wait for the search, a thread does it and tells."""
        if len(self.paths) <= AT_ONCE:
            return self.find(text)
        known, looked_at, names = self._answer
        enough = len(self.paths) * 0.8 if self._listing else len(self.paths)
        if known != text or looked_at < enough:
            with self._lock:
                self._asked = text
                if not self._searching:
                    self._searching = True
                    threading.Thread(target=self._search, name="search", daemon=True).start()
        if known == text:
            return names
        wanted = text.casefold()
        return [name for name in names if wanted in name.casefold()]

    def _search(self) -> None:
        while not self._stopped:
            text, looked_at = self._asked, len(self.paths)
            self._answer = (text, looked_at, self.find(text, lambda: time.sleep(REST_FOR)))
            with self._lock:
                if self._asked == text:
                    self._searching = False
                    break
        self.grown()

    def find(self, text: str, rest: Callable[[], None] = lambda: None) -> list[str]:
        """Best first: name begins with it, path holds it, its letters in order. Blocks while it looks at every path.

        `rest` is called now and then.
        """
        wanted = text.casefold()
        if not wanted:
            return self.paths[:MOST_FOUND]
        ranked: list[tuple[int, int, str]] = []
        close = 0
        for path, folded in self._pairs(rest):
            if wanted not in folded:
                continue
            name = folded.rstrip("/").rpartition("/")[2]
            rank = 0 if folded.startswith(wanted) else 1 if name.startswith(wanted) else 2
            ranked.append((rank, len(path), path))
            close += rank < 2
            if close > 500:
                break
        if not ranked:
            letters = re.compile("".join(f"[^{re.escape(c)}]*{re.escape(c)}" for c in wanted))
            pairs = islice(self._pairs(rest), 50_000)
            ranked = [(3, len(path), path) for path, folded in pairs if letters.match(folded)]
        return [path for _, _, path in nsmallest(MOST_FOUND, ranked)]

    def _pairs(self, rest: Callable[[], None]) -> Iterator[tuple[str, str]]:
        """Paths, and how they are compared."""
        paths, folded = self.paths, self._folded
        for at in range(0, len(paths), AT_ONCE):
            rest()
            yield from zip(paths[at : at + AT_ONCE], folded[at : at + AT_ONCE], strict=False)


class ChatCompleter:
    """`commands` gives (name, help) pairs for a line that is one slash word."""

    def __init__(self, files: FileIndex, commands: Callable[[], Sequence[tuple[str, str]]]) -> None:
        self.files = files
        self._commands = commands

    def __call__(self, before: str) -> Sequence[Candidate]:
        command = _COMMAND.match(before)
        if command:
            word = command[1].lower()
            found = [(n, h) for n, h in self._commands() if n.startswith(word)]
            if len(found) == 1 and found[0][0] == word:
                return ()
            return [Candidate(0, f"/{name} ", note) for name, note in found]
        mention = _AT.search(before)
        if mention is None:
            return ()
        self.files.start()
        text = mention[1] if mention[1] is not None else mention[2]
        start = before.rindex("@")
        found_paths = self.files.suggest(text)
        if found_paths == [text]:
            return ()
        return [Candidate(start, _mention(path)) for path in found_paths]


def _mention(path: str) -> str:
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"
