"""Completion of @paths and /commands. Files are listed in a thread, ignore rules honoured, and matched as far as known."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aicli.ui.line_editor import Candidate

if TYPE_CHECKING:
    from aicli.workspace.ignore import IgnoreRules

MOST_FILES, MOST_FOUND = 200_000, 20
_AT = re.compile(r"(?:^|\s)@(?:\"([^\"]*)|(\S*))$")
_COMMAND = re.compile(r"^/(\S*)$")


class FileIndex:
    """The files below `root`, nearest first, growing while a thread lists them. Never blocks the caller."""

    def __init__(self, root: Path, grown: Callable[[], None] = lambda: None) -> None:
        self.root = root
        self.paths: list[str] = []
        self._grown = grown
        self._thread: threading.Thread | None = None
        self._stopped = False

    def start(self) -> None:
        """Begins the listing, once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._list, name="files", daemon=True)
            self._thread.start()

    def refresh(self) -> None:
        """Lists anew next time: files may have come."""
        if self._thread is not None and not self._thread.is_alive():
            self._thread = None

    def close(self) -> None:
        self._stopped = True

    def wait(self, seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(seconds)

    def _list(self) -> None:
        from aicli.workspace.ignore import IgnoreRules  # the rules' library is slow to import

        rules = IgnoreRules(self.root)
        level: list[str] = [""]
        found: list[str] = []
        while level and len(found) < MOST_FILES:
            below: list[str] = []
            for folder in level:
                if self._stopped:
                    return
                files, folders = self._entries(folder, rules)
                found += files
                below += folders
                if len(self.paths) < len(found):
                    self.paths = found if len(found) > 2000 else list(found)
                    self._grown()
            level = below
        self.paths = found
        self._grown()

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

    def find(self, text: str) -> list[str]:
        """Best first: name begins with it, path holds it, its letters in order."""
        wanted = text.casefold()
        if not wanted:
            return self.paths[:MOST_FOUND]
        ranked: list[tuple[int, int, str]] = []
        close = 0
        for path in self.paths:
            folded = path.casefold()
            at = folded.find(wanted)
            if at < 0:
                continue
            name = folded.rstrip("/").rpartition("/")[2]
            rank = 0 if folded.startswith(wanted) else 1 if name.startswith(wanted) else 2
            ranked.append((rank, len(path), path))
            close += rank < 2
            if close > 500:
                break
        if not ranked:
            letters = re.compile(".*?".join(map(re.escape, wanted)))
            ranked = [(3, len(p), p) for p in self.paths[:50_000] if letters.search(p.casefold())]
        return [path for _, _, path in sorted(ranked)[:MOST_FOUND]]


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
        if not self.files.paths:
            self.files.wait(0.05)
        start = before.rindex("@")
        found_paths = self.files.find(text)
        if found_paths == [text]:
            return ()
        return [Candidate(start, _mention(path)) for path in found_paths]


def _mention(path: str) -> str:
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"
