"""RunLogger: the append-only record of a session, one JSON line an event, one writer a file."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aicli import paths
from aicli.clean import Redactor
from aicli.content.events import AgentEvent, Delegated, ModelDelta, ToolProgress
from aicli.late import regex

try:
    import fcntl
except ImportError:  # Windows: no lock, so two writers of one session are not kept apart
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".jsonl"
VERSION = 1
TAIL = 1 << 20
"""Bytes at the end of a log that are looked at to go on with it."""
_SEQ = regex(rb'^\{"seq":(\d+),', re.MULTILINE)
_ID = regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def new_id() -> str:
    """Random first, so that a few characters are enough to name a session."""
    return secrets.token_hex(8)


def valid_id(text: str) -> bool:
    """May this be a session's id, and so a file's name?"""
    return _ID.fullmatch(text) is not None


class RunLogger:
    """Appends events to `folder/session_id.jsonl`; `emit` makes one write and never raises.

    A session that another process writes is copied and continued under a new id: read `session_id` after opening.
    `notice` is what the person should know (not kept, continued elsewhere), `failed` the reason why records were lost
    after a good start. `on_trouble` is called once, at the first loss.
    """

    def __init__(
        self,
        folder: Path,
        session_id: str = "",
        redact: Redactor | None = None,
        *,
        head: Mapping[str, Any] | None = None,
        on_trouble: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.folder = folder
        self.session_id = session_id or new_id()
        self.notice = ""
        self.failed = ""
        self._redact = redact or Redactor()
        self._head = dict(head or {})
        self._on_trouble = on_trouble
        self._fd = -1
        self._seq = 0
        self._torn = False
        self._dirty = False
        try:
            self._open()
        except OSError as e:
            self.notice = f"this session is not kept: {folder}: {e.strerror or e}"
            self.close()

    @property
    def path(self) -> Path:
        return self.folder / (self.session_id + SUFFIX)

    @property
    def kept(self) -> bool:
        """Is there a file that events go to?"""
        return self._fd >= 0

    def _open(self) -> None:
        paths.private_folder(self.folder)
        self._fd = _open(self.path)
        if not _locked(self._fd):
            data = self.path.read_bytes()
            os.close(self._fd)
            other, self.session_id = self.session_id, new_id()
            self._head.setdefault("parent", other)
            self.notice = f"session {other} is in use elsewhere: continued as {self.session_id}"
            self._fd = _open(self.path)
            _locked(self._fd)
            _write_all(self._fd, data)
        self._seq = self._mend()

    def _mend(self) -> int:
        """Moves a torn tail aside and returns the number for the next record."""
        size = os.fstat(self._fd).st_size
        if not size:
            return 0
        with self.path.open("rb") as file:
            file.seek(max(0, size - TAIL))
            data = file.read()
            if len(data) < size and not _SEQ.search(data[: data.rfind(b"\n") + 1]):  # a last record longer than that
                file.seek(0)
                data = file.read()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            aside = self.path.with_suffix(".torn")
            fd = os.open(aside, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                _write_all(fd, data[end:] + b"\n")
            finally:
                os.close(fd)
            os.ftruncate(self._fd, size - (len(data) - end))
        last = _SEQ.findall(data[:end])
        return int(last[-1]) + 1 if last else 0

    def emit(self, event: AgentEvent) -> None:
        """Appends what happened; deltas and progress are left out. A full disk is told once, and the run goes on."""
        inner: Any = event
        while isinstance(inner, Delegated):
            inner = inner.event
        if self._fd < 0 or isinstance(inner, ModelDelta | ToolProgress):
            return
        if self._seq == 0:
            now = {"version": VERSION, "id": self.session_id, **self._head}
            self._append({"session": now})
        self._append({"event": event.model_dump()})  # type: ignore[union-attr]

    def _append(self, content: dict[str, Any]) -> None:
        time = datetime.now(UTC).isoformat(timespec="milliseconds")
        record = {"seq": self._seq, "time": time, **self._redact.value(content)}
        line = encoded(record) + b"\n"
        try:
            _write_all(self._fd, b"\n" + line if self._torn else line)
        except OSError as e:
            self._torn = True
            if not self.failed:
                self.failed = _reason(e)
                self._on_trouble(f"the session log can't be written any more: {self.failed}")
            return
        self._torn = False
        self._dirty = True
        self._seq += 1

    def sync(self) -> None:
        """Blocks until everything emitted so far is on the disk. Never raises."""
        if not self._dirty or self._fd < 0:
            return
        self._dirty = False
        try:
            os.fsync(self._fd)
        except OSError as e:
            if e.errno not in (errno.EINVAL, errno.ENOTSUP) and not self.failed:
                self.failed = _reason(e)
                self._on_trouble(f"the session log can't be written any more: {self.failed}")

    def close(self) -> None:
        """Syncs and lets go of the file; one that holds nothing is removed. May be called twice."""
        if self._fd < 0:
            return
        self.sync()
        try:
            if os.fstat(self._fd).st_size == 0:
                self.path.unlink(missing_ok=True)
        except OSError:
            pass
        os.close(self._fd)
        self._fd = -1


def encoded(record: Mapping[str, Any]) -> bytes:
    """One line of JSON, without its newline; readable in every script, and whole even where text is no valid Unicode."""
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":")).encode()


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(path, flags, 0o600)
    if hasattr(os, "fchmod"):
        os.fchmod(fd, 0o600)
    return fd


def _locked(fd: int) -> bool:
    """Took the lock, or there are no locks here. It goes with the process."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        return e.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


def _write_all(fd: int, data: bytes) -> None:
    """One write, unless the system takes only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _reason(e: OSError) -> str:
    words = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "the file is too big",
    }
    return words.get(e.errno or 0, e.strerror or str(e))
