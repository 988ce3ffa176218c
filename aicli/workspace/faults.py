"""What can go wrong with a path: one small tree whose texts name the next step."""

from __future__ import annotations

import errno
from collections.abc import Sequence


class WorkspaceError(Exception):
    """Base; `path` is the path as it was asked for, `str(e)` a whole sentence for the model and the person."""

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class OutsideWorkspace(WorkspaceError):
    """The path, or a link on the way, leads out of the allowed roots."""


class NotFound(WorkspaceError):
    """Nothing is there; `nearest` are similar names that are."""

    def __init__(self, message: str, *, path: str = "", nearest: Sequence[str] = ()) -> None:
        super().__init__(message, path=path)
        self.nearest = tuple(nearest)


class NotRegular(WorkspaceError):
    """A FIFO, device or socket; `kind` names which."""

    def __init__(self, message: str, *, path: str = "", kind: str = "") -> None:
        super().__init__(message, path=path)
        self.kind = kind


class IsDirectory(WorkspaceError):
    """A folder where a file was wanted."""


class Denied(WorkspaceError):
    """The system's permissions forbid it."""


class Changed(WorkspaceError):
    """The file is no longer what it was when it was read."""


class WriteFailed(WorkspaceError):
    """The system could not write (disk full, quota, I/O fault); the old file is whole."""


_WHY = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EIO: "the disk reported an I/O error",
    errno.EFBIG: "the file would be larger than the system allows",
    errno.EROFS: "the file system is read-only",
    errno.EMFILE: "too many files are open",
    errno.ENAMETOOLONG: "the name is too long",
}


def reason(error: OSError) -> str:
    """Why a system call failed, in plain words with the code's name."""
    code = errno.errorcode.get(error.errno or 0, "")
    why = _WHY.get(error.errno or 0) or (error.strerror or str(error)).lower()
    return f"{why} ({code})" if code else why


def fault(error: OSError, path: str, doing: str) -> WorkspaceError:
    """The WorkspaceError that fits an OSError; `doing` is a verb such as "read"."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return Denied(f"Cannot {doing} {path}: {reason(error)}.", path=path)
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP):
        return NotFound(f"Cannot {doing} {path}: {reason(error)}.", path=path)
    if error.errno == errno.EISDIR:
        return IsDirectory(f"Cannot {doing} {path}: it is a folder.", path=path)
    return WriteFailed(f"Cannot {doing} {path}: {reason(error)}.", path=path)
