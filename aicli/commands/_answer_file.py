"""The file of `-o`: opened before the run, so that one that can't be written is refused before anything is spent."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from aicli.errors import InputError


class AnswerFile:
    """Keeps what the file held until there is an answer. Raises InputError at once if it can't be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._new = not os.path.exists(path)
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            self._fd = os.open(path, flags, 0o666)
            self._regular = stat.S_ISREG(os.fstat(self._fd).st_mode)
        except OSError as e:
            raise InputError(f"{path} can't be written: {e.strerror or e}") from e

    def write(self, text: str) -> None:
        """The whole answer and a newline. Raises InputError."""
        data = memoryview((text.rstrip("\n") + "\n").encode("utf-8", "backslashreplace"))
        try:
            if self._regular:
                os.ftruncate(self._fd, 0)
            elif hasattr(os, "set_blocking"):
                os.set_blocking(self._fd, True)
            while data:
                data = data[os.write(self._fd, data) :]
            self._new = False
        except OSError as e:
            raise InputError(f"{self.path} can't be written: {e.strerror or e}") from e

    def close(self) -> None:
        """Leaves no empty file behind where there was none before."""
        if self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        if self._new and self._regular:
            with contextlib.suppress(OSError):
                self.path.unlink()
