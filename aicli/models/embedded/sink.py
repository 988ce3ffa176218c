"""Sink: a file that is put together from pieces, counted and hashed as they come."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import IO, Any

from aicli.late import dataclass
from aicli.models.embedded import cache


class SourceFailed(Exception):
    """This source does not give the file; the text says why, in a few words."""


@dataclass
class Sink:
    """The file being put together: what is written is counted and hashed. `keep` bytes of an earlier try are taken over."""

    path: Path
    size: int
    progress: Callable[[int, int], None]
    done: int = 0
    _digest: Any = field(default_factory=hashlib.sha256)
    _file: IO[bytes] | None = None

    def open(self) -> int:
        """Opens for appending and hashes what is there. The number of bytes that are there."""
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        self._file = f = os.fdopen(fd, "r+b")
        if os.fstat(fd).st_size > self.size:
            f.truncate(0)
        while chunk := f.read(cache.CHUNK):
            self._digest.update(chunk)
            self.done += len(chunk)
            self.progress(self.done, self.size)
        return self.done

    def restart(self) -> None:
        assert self._file is not None
        self._file.seek(0)
        self._file.truncate(0)
        self.done, self._digest = 0, hashlib.sha256()

    def write(self, chunk: bytes) -> None:
        """Appends. Raises SourceFailed when more comes than the file has."""
        assert self._file is not None
        if self.done + len(chunk) > self.size:
            raise SourceFailed("it sends more than the file has")
        self._file.write(chunk)
        self._digest.update(chunk)
        self.done += len(chunk)
        self.progress(self.done, self.size)

    def close(self) -> str:
        """Syncs and closes. The hash of all that was written."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
        return str(self._digest.hexdigest())
