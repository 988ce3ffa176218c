"""Contents kept by their hash: private files, written once."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from aicli.paths import private_folder

_FRESH = 600.0


class BlobStore:
    """Files named by the SHA-256 of their content, 0600 in 0700 folders. Blocks; raises OSError when the disk refuses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made: set[str] = set()
        self.written = 0

    def put(self, data: bytes, *, sync: bool = True) -> str:
        """Keeps the content; gives its hash. With `sync` it is on the disk before this returns."""
        name = hashlib.sha256(data).hexdigest()
        path = self._path(name)
        if self.touch(name):  # young again: not to be swept while its record is still to come
            return name
        if name[:2] not in self._made:
            private_folder(path.parent)
            self._made.add(name[:2])
        temporary = path.with_name(f"tmp-{os.getpid()}-{secrets.token_hex(6)}")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(fd, view[: 1 << 24]) :]
                if sync:
                    os.fsync(fd)
            finally:
                os.close(fd)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self.written += len(data)
        return name

    def get(self, name: str) -> bytes | None:
        """The content; None if it is not kept any more, or is damaged."""
        try:
            data = self._path(name).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == name else None

    def touch(self, name: str) -> bool:
        """Is it kept? If so it counts as fresh."""
        try:
            os.utime(self._path(name))
        except OSError:
            return False
        return True

    def all(self) -> Iterator[tuple[str, int, float]]:
        """(name, bytes, seconds since it was last used) of everything kept."""
        now = time.time()
        for path in self.folder.glob("*/*"):
            try:
                status = path.stat()
            except OSError:
                continue
            yield path.name, status.st_size, now - status.st_mtime

    def sweep(self, keep: set[str]) -> int:
        """Removes what is not in `keep` and not fresh; gives the bytes freed."""
        freed = 0
        for name, size, age in list(self.all()):
            if name not in keep and age > _FRESH:
                self.folder.joinpath(name[:2] if len(name) == 64 else "", name).unlink(missing_ok=True)
                freed += size
        return freed

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / name
