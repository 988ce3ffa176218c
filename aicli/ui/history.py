"""History: what was typed before, kept in a file of the user's, newest last."""

from __future__ import annotations

import json
import os
from pathlib import Path

MOST = 1000


class History:
    """`path` None keeps it in memory only. A file that can't be read or written is no error: history is a comfort."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.entries: list[str] = []
        if path is not None:
            self._load(path)

    def _load(self, path: Path) -> None:
        try:
            rows = path.read_text("utf-8", "replace").splitlines()[-MOST:]
        except OSError:
            return
        for row in rows:
            try:
                entry = json.loads(row)
            except ValueError:
                continue
            if isinstance(entry, str):
                self.entries.append(entry)

    def add(self, text: str) -> None:
        if not text.strip() or (self.entries and self.entries[-1] == text):
            return
        self.entries.append(text)
        del self.entries[:-MOST]
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(fd, (json.dumps(text, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
            finally:
                os.close(fd)
        except OSError:
            self._path = None

    def search(self, text: str, before: int | None = None) -> int | None:
        """Index of the newest entry older than `before` that holds `text`."""
        for i in range((len(self.entries) if before is None else before) - 1, -1, -1):
            if text in self.entries[i]:
                return i
        return None
