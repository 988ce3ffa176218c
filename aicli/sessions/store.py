"""SessionStore: the kept sessions, answerable: list, find, load, fork, delete, prune, search."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Iterator
from dataclasses import field
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from aicli import paths
from aicli.content.events import (
    AgentEvent,
    ContextCompacted,
    HistoryCut,
    MessageAdded,
    ModelChanged,
    RunStarted,
    ToolFinished,
)
from aicli.content.messages import Message, answered
from aicli.content.results import Task, TasksDisplay
from aicli.content.value import Misfit, checked
from aicli.errors import InputError
from aicli.late import dataclass
from aicli.sessions.log import SUFFIX, encoded, new_id, valid_id

OPENING = 1 << 20
"""Bytes of a log in which its first task stands."""
_FOLDED = {"run_started", "message_added", "history_cut", "context_compacted", "model_changed"}


@dataclass(frozen=True)
class Summary:
    """A session in one line. `used` is when it was last written (seconds since 1970)."""

    id: str
    task: str = ""
    agent: str = ""
    model: str = ""
    cwd: str = ""
    parent: str = ""
    started: str = ""
    used: float = 0.0
    turns: int = 0
    size: int = 0
    name: str = ""


@dataclass(frozen=True)
class Restored:
    """A session as it stood: every call of `history` is answered. `skipped` counts the lines that could not be read.

    `base_url` is where the server of `model` was said to be; "" for its usual address.
    """

    id: str
    history: list[Message] = field(default_factory=list)
    agent: str = ""
    model: str = ""
    base_url: str = ""
    mode: str = ""
    cwd: str = ""
    tasks: tuple[Task, ...] = ()
    skipped: int = 0


@dataclass(frozen=True)
class Record:
    """One readable line of a log. `event` is None for the head, which has no event."""

    seq: int
    time: str
    event: dict[str, Any] | None
    head: dict[str, Any]


class Reading:
    """Iterates over a log's records and counts what it had to skip. A line that stands there twice is read once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.skipped = 0

    def __iter__(self) -> Iterator[Record]:
        seen: set[bytes] = set()
        with self.path.open("rb") as file:
            for line in file:
                if not line.strip() or (digest := blake2b(line, digest_size=12).digest()) in seen:
                    continue
                seen.add(digest)
                try:
                    raw = json.loads(line)
                    event = raw.get("event")
                    if not line.endswith(b"\n") or not isinstance(event, dict | None):
                        raise ValueError("torn")
                    yield Record(int(raw["seq"]), str(raw["time"]), event, raw.get("session", {}))
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    self.skipped += 1


def event_of(record: Record) -> AgentEvent | None:
    """The event, or None where this version does not know it."""
    try:
        event: AgentEvent = checked(AgentEvent, record.event)
    except Misfit:
        return None
    return event


class SessionStore:
    """`folder` holds one `ID.jsonl` a session; it need not exist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, session_id: str) -> Path:
        return self.folder / (session_id + SUFFIX)

    def ids(self) -> list[str]:
        """All ids, last used first."""
        found: list[tuple[int, str]] = []
        try:
            for entry in os.scandir(self.folder):
                if entry.name.endswith(SUFFIX) and valid_id(entry.name[: -len(SUFFIX)]) and entry.is_file():
                    found.append((entry.stat().st_mtime_ns, entry.name[: -len(SUFFIX)]))
        except OSError:
            return []
        return [name for _, name in sorted(found, reverse=True)]

    def list(self, limit: int | None = None) -> list[Summary]:
        """Sessions in which something was asked, last used first. Unreadable files are left out."""
        readable = map(self.summary, self.ids())
        return [*itertools.islice((one for one in readable if one is not None and one.task), limit)]

    def summary(self, session_id: str) -> Summary | None:
        """One session in a line; None if it can't be read. Reads the whole file, to count its turns."""
        return self._summary(session_id, None)

    def _summary(self, session_id: str, limit: int | None) -> Summary | None:
        path = self.path(session_id)
        try:
            with path.open("rb") as file:
                data = file.read() if limit is None else file.read(limit)
            found = path.stat()
        except OSError:
            return None
        head, started, stamp = _opening(data)
        return Summary(
            id=session_id,
            task=str(started.get("task", "")),
            agent=str(started.get("agent", "")),
            model=str(started.get("model", "")),
            cwd=str(started.get("cwd") or head.get("cwd", "")),
            parent=str(head.get("parent", "")),
            started=stamp,
            used=found.st_mtime,
            turns=data.count(b'"event":{"type":"turn_started"'),
            size=found.st_size,
            name=self._name(session_id),
        )

    def rename(self, text: str, name: str) -> None:
        """Gives the session a name, kept beside its log; "" takes it away. Raises InputError, OSError."""
        file = self.path(self.find(text)).with_suffix(".name")
        if name:
            file.write_text(name, "utf-8")
        else:
            file.unlink(missing_ok=True)

    def _name(self, session_id: str) -> str:
        try:
            return self.path(session_id).with_suffix(".name").read_text("utf-8", "replace").strip()
        except OSError:
            return ""

    def find(self, text: str) -> str:
        """The one id that is or begins with `text`. Raises InputError when none or several do."""
        ids = self.ids()
        if text in ids:
            return text
        found = [name for name in ids if text and name.startswith(text)]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(
                f"{text!r} begins {len(found)} session ids", hint="Give more of it: " + ", ".join(found[:5])
            )
        raise InputError(f"there is no session {text!r}", hint="See: aicli sessions list.")

    def latest(self, cwd: Path) -> str | None:
        """The last used session of this folder."""
        here = str(cwd)
        for name in self.ids():
            one = self._summary(name, OPENING)
            if one is not None and one.task and one.cwd == here:
                return name
        return None

    def load(self, text: str) -> Restored:
        """Folds the log of the session that `text` names. Raises InputError."""
        session_id = self.find(text)
        reading = Reading(self.path(session_id))
        state = _Fold()
        try:
            for record in reading:
                kind = (record.event or {}).get("type")
                if kind in _FOLDED or (kind == "tool_finished" and _shows_tasks(record.event)):
                    event = event_of(record)
                    if event is None:
                        reading.skipped += 1
                    else:
                        state.feed(event)
        except OSError as e:
            raise InputError(f"session {session_id} can't be read: {e.strerror or e}") from e
        last = state.started
        return Restored(
            id=session_id,
            history=answered(state.history),
            agent=last.agent if last else "",
            model=state.model,
            base_url=state.base_url,
            mode=last.permission_mode if last else "",
            cwd=last.cwd if last else "",
            tasks=state.tasks,
            skipped=reading.skipped,
        )

    def events(self, text: str) -> Iterator[tuple[str, AgentEvent]]:
        """(time, event) of the session, in order; what can't be read is left out. Raises InputError."""
        for record in Reading(self.path(self.find(text))):
            event = event_of(record) if record.event is not None else None
            if event is not None:
                yield record.time, event

    def fork(self, text: str) -> str:
        """A copy under a new id, which is returned. Raises InputError, OSError."""
        source = self.find(text)
        target = new_id()
        paths.private_folder(self.folder)
        lines = [encoded({"seq": 0, "time": "", "session": {"version": 1, "id": target, "parent": source}})]
        lines += [
            line
            for line in self.path(source).read_bytes().split(b"\n")[:-1]  # what follows the last newline is torn
            if line and b'"session":{' not in line[:80]
        ]
        fd = os.open(self.path(target), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(b"\n".join(lines) + b"\n")
        return target

    def delete(self, text: str) -> str:
        """Removes the session's file and what was moved aside from it; returns its id. Raises InputError, OSError."""
        session_id = self.find(text)
        self.path(session_id).unlink()
        self.path(session_id).with_suffix(".torn").unlink(missing_ok=True)
        self.path(session_id).with_suffix(".name").unlink(missing_ok=True)
        return session_id

    def unused(self, days: float) -> tuple[str, ...]:
        """The ids of the sessions not used for `days`, last used first. Raises OSError."""
        limit = time.time() - days * 86_400
        return tuple(name for name in self.ids() if self.path(name).stat().st_mtime < limit)

    def prune(self, days: float) -> tuple[str, ...]:
        """Deletes the sessions not used for `days`; returns their ids. Raises OSError."""
        return tuple(self.delete(name) for name in self.unused(days))

    def search(self, text: str) -> Iterator[tuple[Summary, str]]:
        """Sessions in which somebody said the text (case does not matter), each with a line around it."""
        wanted = text.casefold()
        for name in self.ids():
            found = self._said(name, wanted)
            one = self.summary(name) if found else None
            if found and one:
                yield one, found

    def _said(self, session_id: str, wanted: str) -> str:
        for record in Reading(self.path(session_id)):
            event = record.event or {}
            if event.get("type") != "message_added":
                continue
            for part in event.get("message", {}).get("parts", ()):
                for line in str(part.get("text", "")).splitlines():
                    at = line.casefold().find(wanted)
                    if at >= 0:
                        return line[max(0, at - 40) : at + len(wanted) + 60].strip()
        return ""


def _opening(data: bytes) -> tuple[dict[str, Any], dict[str, Any], str]:
    """(head, first run_started, time) from the first lines of a log; empty where they can't be read."""
    head: dict[str, Any] = {}
    stamp = ""
    for line in data[:OPENING].split(b"\n", 40)[:40]:
        try:
            raw = json.loads(line)
            stamp = stamp or str(raw["time"])
            head = head or raw.get("session", {})
            if raw.get("event", {}).get("type") == "run_started":
                return head, raw["event"], stamp
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return head, {}, stamp


class _Fold:
    def __init__(self) -> None:
        self.history: list[Message] = []
        self.started: RunStarted | None = None
        self.model = self.base_url = ""
        self.tasks: tuple[Task, ...] = ()

    def feed(self, event: AgentEvent) -> None:
        match event:
            case RunStarted():
                self.started = event
                self.model, self.base_url = event.model or self.model, event.base_url
            case MessageAdded():
                self.history.append(event.message)
            case HistoryCut():
                del self.history[event.to :]
            case ContextCompacted():
                self.history[: event.replaced] = event.messages or (Message.user(event.summary),)
            case ModelChanged():
                same = event.model.partition(":")[0] == self.model.partition(":")[0]
                self.model, self.base_url = event.model, self.base_url if same else ""
            case ToolFinished(result=result) if isinstance(result.display, TasksDisplay):
                self.tasks = result.display.tasks
            case _:
                pass


def _shows_tasks(event: dict[str, Any] | None) -> bool:
    display = ((event or {}).get("result") or {}).get("display")
    return isinstance(display, dict) and display.get("type") == "tasks"


def when(stamp: str) -> datetime | None:
    """The time of a record, None if it has none."""
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        return None
