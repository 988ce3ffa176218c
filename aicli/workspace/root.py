"""Workspace: the allowed roots, and the one way to read, write, list and remove what lies in them."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from aicli.workspace import atomic
from aicli.workspace.beneath import DIRECTORY, Root, Spot, find
from aicli.workspace.entries import Entry, FileVersion, Place, digest, entry_of, kind_of, version_of
from aicli.workspace.faults import (
    Changed,
    Denied,
    IsDirectory,
    NotFound,
    NotRegular,
    OutsideWorkspace,
    WorkspaceError,
    WriteFailed,
    fault,
)
from aicli.workspace.protected import is_protected, is_secret

__all__ = [
    "Changed",
    "Denied",
    "Entry",
    "FileVersion",
    "IsDirectory",
    "NotFound",
    "NotRegular",
    "OutsideWorkspace",
    "Place",
    "Workspace",
    "WorkspaceError",
    "WriteFailed",
    "is_protected",
    "is_secret",
]


class Workspace:
    """Files beneath `root` and the `extra` roots. Every method blocks; paths may be relative to `root` or absolute.

    All raise OutsideWorkspace where a path, or a link on the way, leads out, and NotFound, NotRegular, IsDirectory or
    Denied where they say so. Links that stay inside are followed.
    """

    def __init__(self, root: Path, extra: Sequence[Path] = ()) -> None:
        self._roots = tuple(Root(os.fspath(p)) for p in (root, *extra))
        self.root = Path(self._roots[0].path)
        self.extra = tuple(Path(r.path) for r in self._roots[1:])

    def locate(self, path: str) -> Place:
        """The place a path names, by its letters alone: links are not looked at, nothing need be there."""
        root, parts = self._split(path)
        return self._place(root, parts)

    def real(self, path: str) -> Place:
        """The place after all links: judge permissions by this one. The last name may be missing."""
        with self._spot(path, "look at") as spot:
            return self._place(spot.root, spot.parts)

    def protects(self, path: str) -> bool:
        """Is the place, or where its links lead, protected (.git, shell start files, the target of a .git file)?"""
        names = {self.locate(path).display}
        try:
            names.add(self.real(path).display)
        except WorkspaceError:
            pass
        git = self._git_folder()
        return any(is_protected(n) or (git and (n == git or n.startswith(git + "/"))) for n in names)

    def open_read(self, path: str) -> BinaryIO:
        """A regular file, opened without a race and without ever blocking on its kind."""
        with self._spot(path, "read") as spot:
            self._regular(spot, path, "read")
            try:
                fd = spot.open(os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
            except OSError as error:
                raise fault(error, path, "read") from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise NotRegular(f"{path} is no regular file any more.", path=path, kind="other")
        return os.fdopen(fd, "rb")

    def read_bytes(self, path: str, limit: int | None = None) -> bytes:
        """The file's bytes, at most `limit` of them."""
        with self.open_read(path) as file:
            try:
                return file.read(-1 if limit is None else limit)
            except OSError as error:
                raise fault(error, path, "read") from error

    def version(self, path: str) -> FileVersion | None:
        """What the file is now; None if nothing is there."""
        try:
            with self.open_read(path) as file:
                return version_of(file)
        except NotFound:
            return None

    def write(
        self,
        path: str,
        data: bytes,
        *,
        expect: FileVersion | None = None,
        mode: int | None = None,
        mtime_ns: int | None = None,
        follow: bool = True,
    ) -> FileVersion:
        """Puts `data` there as a whole or not at all: a crash or a full disk leaves the old file. Folders are made.

        Mode, owner and the link that led here stay; a hard link is cut. `mode` and `mtime_ns` set those instead; without
        `follow` a link itself is replaced. Raises
        Changed if the file is not `expect` (when given), WriteFailed with the cause if the system could not write.
        """
        with self._spot(path, "write", follow=follow, make=True) as spot:
            if spot.status is not None and (follow or not stat.S_ISLNK(spot.status.st_mode)):
                self._regular(spot, path, "write")
            if expect is not None:
                self._expect(spot, path, expect)
            try:
                mtime = atomic.put(spot, data, mode=mode, mtime_ns=mtime_ns)
            except atomic.Moved:
                raise Changed(f"{path} was changed by someone else just now. Read it again.", path=path) from None
            except OSError as error:
                raise self._write_fault(error, path) from error
        return FileVersion(mtime, len(data), digest(data))

    def link_target(self, path: str) -> str:
        """Where the link that stands at this very place leads, as written in it; "" if there is none."""
        try:
            with self._spot(path, "look at", follow=False) as spot:
                where, how = spot.at()
                return os.readlink(where, **how)
        except (NotFound, OSError):
            return ""

    def put_link(self, path: str, target: str, mtime_ns: int) -> None:
        """Puts a link there, in the place of a file or link if there is one. Folders are made."""
        with self._spot(path, "write", follow=False, make=True) as spot:
            if spot.status is not None and stat.S_ISDIR(spot.status.st_mode):
                raise IsDirectory(f"Cannot write {path}: it is a folder.", path=path)
            try:
                atomic.put_link(spot, target, mtime_ns)
            except OSError as error:
                raise self._write_fault(error, path) from error

    def make_folder(self, path: str) -> None:
        """Makes a folder, with those above it; it may be there already."""
        with self._spot(path.rstrip("/") + "/x", "make", make=True):
            pass

    def straight(self, path: str) -> bool:
        """Does no link stand on the way to it? The last name may be one, and nothing need be there."""
        folder = self.locate(path).path.parent
        return os.path.realpath(folder) == str(folder)

    def remove(self, path: str) -> None:
        """Removes a file or a link (never what it points to)."""
        with self._spot(path, "remove", follow=False) as spot:
            if spot.status is None:
                raise self._missing(path)
            if stat.S_ISDIR(spot.status.st_mode):
                raise IsDirectory(f"Cannot remove {path}: it is a folder.", path=path)
            try:
                spot.unlink()
            except OSError as error:
                raise fault(error, path, "remove") from error

    def remove_folder(self, path: str) -> bool:
        """Removes a folder if it is empty; else, or where it can't be, gives False."""
        try:
            with self._spot(path, "remove", follow=False) as spot:
                where, how = spot.at()
                os.rmdir(where, **how)
                return True
        except (WorkspaceError, OSError):
            return False

    def status(self, path: str, *, follow: bool = True) -> os.stat_result | None:
        """What the system says of the path; None if nothing is there."""
        try:
            with self._spot(path, "look at", follow=follow) as spot:
                return spot.status
        except NotFound:
            return None

    def scandir(self, path: str = ".", *, stats: bool = False) -> list[Entry]:
        """The entries of a folder, by name. `stats` fills size and time; without it no file is touched."""
        where = self.locate(path)
        prefix = "" if where.display == "." else where.display.rstrip("/") + "/"
        fd = self._open_folder(path)
        try:
            with os.scandir(fd if fd is not None else where.path) as found:
                return sorted((entry_of(e, prefix, stats) for e in found), key=lambda e: e.name)
        except OSError as error:
            raise fault(error, path, "list") from error
        finally:
            if fd is not None:
                os.close(fd)

    def names(self, path: str = ".") -> tuple[list[str], list[str], list[str]]:
        """The names of a folder's regular files, of its folders and of what is neither, each sorted; no file is touched."""
        fd = self._open_folder(path)
        files: list[str] = []
        folders: list[str] = []
        others: list[str] = []
        try:
            with os.scandir(fd if fd is not None else self.locate(path).path) as found:
                for entry in found:
                    if entry.is_file(follow_symlinks=False):
                        files.append(entry.name)
                    elif entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                    else:
                        others.append(entry.name)
        except OSError as error:
            raise fault(error, path, "list") from error
        finally:
            if fd is not None:
                os.close(fd)
        return sorted(files), sorted(folders), sorted(others)

    def walk(
        self,
        path: str = ".",
        *,
        skip: Callable[[str, bool], bool] = lambda rel, is_dir: False,
        stats: bool = False,
        failed: Callable[[str, WorkspaceError], None] = lambda rel, error: None,
    ) -> Iterator[Entry]:
        """All entries below a folder, a folder before what is in it, by name; links are named, never followed.

        `skip(rel, is_dir)` leaves an entry out (a folder with all in it); folders that can't be read go to `failed`.
        """
        pending = [self.locate(path).display]
        first = True
        while pending:
            folder = pending.pop()
            try:
                entries = self.scandir(folder, stats=stats)
            except WorkspaceError as error:
                if first:
                    raise
                failed(folder, error)
                continue
            first = False
            below = []
            for entry in entries:
                if skip(entry.rel, entry.kind == "dir"):
                    continue
                yield entry
                if entry.kind == "dir":
                    below.append(entry.rel)
            pending.extend(reversed(below))

    def nearest(self, path: str) -> tuple[str, ...]:
        """Up to three names that are there and look like `path`: in its folder, or the same name elsewhere near."""
        where = self.locate(path)
        folder, _, name = where.display.rpartition("/")
        try:
            names = {e.name.casefold(): e.rel for e in self.scandir(folder or ".")}
        except WorkspaceError:
            names = {}
        close = difflib.get_close_matches(name.casefold(), list(names)[:5_000], n=3, cutoff=0.6)
        return tuple(names[c] for c in close) or self._same_name(name)

    def _same_name(self, name: str) -> tuple[str, ...]:
        hits: list[str] = []
        quiet = frozenset({"node_modules", "__pycache__", "venv", ".venv", "target", "dist", "build"})
        for seen, entry in enumerate(self.walk(skip=lambda rel, d: d and rel.rsplit("/", 1)[-1] in quiet | {".git"})):
            if entry.name == name:
                hits.append(entry.rel)
            if seen > 3_000 or len(hits) == 3:
                break
        return tuple(hits)

    def _split(self, path: str) -> tuple[Root, tuple[str, ...]]:
        if "\0" in path:
            raise WorkspaceError("A path can't hold a NUL byte.", path=path.replace("\0", "\\0"))
        try:
            os.fsencode(path)
        except UnicodeEncodeError as e:
            name = path.encode("ascii", "backslashreplace").decode()
            where = "" if "\ud800" <= path[e.start] <= "\udfff" else " in this locale, which is not UTF-8"
            said = f"No file name can hold the character U+{ord(path[e.start]):04X}{where}."
            raise WorkspaceError(said, path=name) from None
        given = path.strip() and path
        if given.startswith("~") and not os.path.lexists(os.path.join(self.root, given.split("/")[0])):
            given = os.path.expanduser(given)
        absolute = os.path.normpath(os.path.join(self.root, given or "."))
        parts = tuple(p for p in absolute.replace(os.sep, "/").split("/") if p)
        for root in self._roots:
            below = root.below(parts)
            if below is not None:
                return root, below
        raise OutsideWorkspace(f"{path} lies outside the workspace {self.root}. Use a path inside it.", path=path)

    def _place(self, root: Root, parts: tuple[str, ...]) -> Place:
        whole = Path(root.path, *parts)
        inside = root is self._roots[0]
        return Place(whole, ("/".join(parts) or ".") if inside else whole.as_posix(), Path(root.path))

    def _spot(self, path: str, doing: str, *, follow: bool = True, make: bool = False) -> Spot:
        root, parts = self._split(path)
        try:
            return find(self._roots, root, parts, follow=follow, make=make)
        except OutsideWorkspace as error:
            raise OutsideWorkspace(
                f"{path} is a link that leads outside the workspace, or goes through one.", path=path
            ) from error
        except FileNotFoundError:
            raise self._missing(path) from None
        except OSError as error:
            raise fault(error, path, doing) from error

    def _regular(self, spot: Spot, path: str, doing: str) -> None:
        if spot.status is None:
            raise self._missing(path)
        kind = kind_of(spot.status.st_mode)
        if kind == "dir":
            raise IsDirectory(f"{path} is a folder, not a file. Use ls to list it.", path=path)
        if kind != "file":
            names = {"fifo": "named pipe (FIFO)", "device": "device", "socket": "socket", "link": "link"}
            raise NotRegular(f"Cannot {doing} {path}: it is a {names[kind]}, not a regular file.", path=path, kind=kind)

    def _missing(self, path: str) -> NotFound:
        if dangling := self.dangling(path):
            return NotFound(f"{path} does not exist: {dangling}.", path=path)
        close = self.nearest(path)
        also = f" Did you mean {' or '.join(close)}?" if close else ""
        return NotFound(f"{path} does not exist.{also}", path=path, nearest=close)

    def dangling(self, path: str) -> str:
        """Which link on the way to a missing path leads to nothing, in words; "" if none does. Raises OutsideWorkspace."""
        root, parts = self._split(path)
        for n in range(1, len(parts) + 1):
            link = self._place(root, parts[:n])
            if not os.path.exists(link.path):
                with suppress(OSError):  # no link, or not any more
                    return f"{link.display} is a link to {os.readlink(link.path)}, which is missing"
                return ""
        return ""

    def _expect(self, spot: Spot, path: str, expect: FileVersion) -> None:
        now = None
        if spot.status is not None:
            with os.fdopen(spot.open(os.O_RDONLY), "rb") as file:
                now = version_of(file)
        if not expect.same(now):
            what = "was changed" if now else "was removed"
            raise Changed(f"{path} {what} by someone else since it was last read. Read it again first.", path=path)

    def _write_fault(self, error: OSError, path: str) -> WorkspaceError:
        found = fault(error, path, "write")
        return found if isinstance(found, Denied) else WriteFailed(f"{found} The old file is unchanged.", path=path)

    def _open_folder(self, path: str) -> int | None:
        with self._spot(path, "list") as spot:
            if spot.status is None:
                raise self._missing(path)
            if not stat.S_ISDIR(spot.status.st_mode):
                raise NotRegular(f"{path} is not a folder.", path=path, kind=kind_of(spot.status.st_mode))
            if spot.dir_fd < 0:
                return None
            try:
                return os.open(spot.name or ".", DIRECTORY, dir_fd=spot.dir_fd)
            except OSError as error:
                raise fault(error, path, "list") from error

    def _git_folder(self) -> str:
        """Where a `.git` file at the root points, if that is inside; else ""."""
        try:
            text = self.read_bytes(".git", 4_096).decode(errors="replace")
            return self.real(text.removeprefix("gitdir:").strip()).display if text.startswith("gitdir:") else ""
        except WorkspaceError:
            return ""
