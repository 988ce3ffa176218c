"""Facts worth keeping: one a line in a Markdown file of the user and one of the project, with where each came from."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from aicli.late import dataclass, regex
from aicli.workspace.beneath import folder_fd

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Level = Literal["user", "project", "session"]
Lines = list[str]
LONGEST = 600
"""Characters of one fact."""
_LARGEST = 1_000_000
_WAIT = 20.0
_COMMENT = regex(r"\s*<!--\s*(?P<inside>.*?)\s*-->\s*$")
_BULLET = regex(r"^\s*[-*+]\s+")
_ORDERS = regex(
    r"ignore\b.{0,40}\b(?:instructions?|rules?|prompts?)|disregard\b.{0,40}\b(?:instructions?|rules?)|system prompt"
    r"|you are now\b|do not (?:tell|inform|ask|mention)|don't (?:tell|inform|ask|mention)|without (?:asking|telling)"
    r"|curl\b.*\||\|\s*(?:ba|z)?sh\b|\b(?:send|post|upload|exfiltrate)\b.{0,60}https?://|忽略.{0,20}(?:指令|规则|提示)|不要告诉",
    re.IGNORECASE,
)


class MemoryFailed(Exception):
    """The store can't be read or written; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One remembered line. `source` is "user", "model", "untrusted" (text from outside had been read) or "" (by hand)."""

    text: str
    level: Level
    source: str = ""
    session: str = ""
    day: str = ""

    @property
    def order(self) -> bool:
        """Does it read like an order to the model? Such a fact is told when recalled, never put into the prompt."""
        return self.source != "" and (self.source == "untrusted" or _ORDERS.search(self.text) is not None)


class MemoryStore:
    """The facts of a user and, with `project_file`, of a project; those of the session live in memory only.

    Pass no project file for a folder that is not trusted. All methods block on the disk and on a lock that parallel
    runs share; they raise MemoryFailed. A damaged file is renamed, never rewritten: `damaged` names the renamed ones.
    """

    def __init__(self, user_file: Path, project_file: Path | None = None, session: str = "") -> None:
        self._files: dict[Level, Path] = {"user": user_file}
        if project_file is not None:
            self._files["project"] = project_file
        self._session = session
        self._own: list[Fact] = []
        self.damaged: list[Path] = []

    @property
    def levels(self) -> tuple[Level, ...]:
        return (*self._files, "session")

    def save(self, text: str, level: Level = "user", source: str = "model") -> bool:
        """Adds a fact; False if it is known already. Line ends become blanks. Raises MemoryFailed if it is empty or long."""
        plain = one_line(text)
        if not plain:
            raise MemoryFailed("there is no text to remember")
        if len(plain) > LONGEST:
            raise MemoryFailed(
                f"a fact has at most {LONGEST} characters, this one has {len(plain)}: shorten or split it"
            )
        fact = Fact(plain, level, source, self._session, time.strftime("%Y-%m-%d"))
        if level == "session":
            known = any(_key(f.text) == _key(plain) for f in self._own)
            if not known:
                self._own.append(fact)
            return not known

        def add(lines: Lines) -> Lines | None:
            if any(_key(f.text) == _key(plain) for f in _facts(lines, level)):
                return None
            return [*lines, _line(fact)]

        return self._change(level, add)

    def list(self) -> tuple[Fact, ...]:
        """All facts, user's first, oldest first."""
        found = [fact for level in self._files for fact in _facts(self._read(level), level)]
        return (*found, *self._own)

    def forget(self, text: str) -> tuple[Fact, ...]:
        """Removes the fact with this text, else the only one that holds it; () if there is none.

        Raises MemoryFailed, naming them, when several hold it.
        """
        key = _key(one_line(text))
        everything = self.list()
        gone = [f for f in everything if _key(f.text) == key] or [f for f in everything if key and key in _key(f.text)]
        if len({_key(f.text) for f in gone}) > 1:
            names = "; ".join(f.text for f in gone[:5])
            raise MemoryFailed(f"{len(gone)} facts hold that text, say which: {names}")
        keys = {_key(f.text) for f in gone}
        self._own = [f for f in self._own if _key(f.text) not in keys]
        for level in {f.level for f in gone} - {"session"}:
            self._change(
                level, lambda lines: [x for x in lines if _key(_fact_text(x)) not in keys or not _fact_text(x)]
            )
        return tuple(gone)

    def recall(self, query: str, limit: int = 20) -> tuple[Fact, ...]:
        """The facts that share most words with the query, best first; all of the newest for an empty query."""
        everything = self.list()
        wanted = _words(query)
        if not wanted:
            return everything[::-1][:limit]
        scored = [
            (len(wanted & _words(f.text)) + (_key(query) in _key(f.text)), n, f) for n, f in enumerate(everything)
        ]
        scored.sort(key=lambda item: (-item[0], -item[1]))
        return tuple(f for score, _, f in scored[:limit] if score)

    def for_prompt(self, budget_tokens: int) -> str:
        """Facts as Markdown under User, Project and Session within a budget, newest kept; "" when there are none.

        Facts that read like orders are left out. Never raises: what can't be read is not there.
        """
        try:
            everything = [f for f in self.list() if not f.order]
        except MemoryFailed:
            return ""
        kept, left = [], 0
        room = budget_tokens - 12
        for fact in reversed(everything):
            room -= _tokens(fact.text) + 2
            if room < 0:
                left += 1
            else:
                kept.append(fact)
        if not kept:
            return ""
        out: Lines = []
        for level in ("user", "project", "session"):
            lines = [f"- {f.text}" for f in reversed(kept) if f.level == level]
            if lines:
                out += [f"## {level.title()}", *lines]
        if left:
            out.append(f"({left} older facts left out; recall finds them)")
        return "\n".join(out)

    def _read(self, level: Level) -> Lines:
        path = self._place(level)
        try:
            with _held(path) as here:
                return self._read_at(here, path)
        except FileNotFoundError:
            return []
        except OSError as e:
            raise MemoryFailed(f"{path} can't be read: {e.strerror}") from None

    def _read_at(self, here: str, path: str) -> Lines:
        fd = os.open(here, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(fd)
            data = file.read(_LARGEST + 1) if stat.S_ISREG(status.st_mode) else b"\0"
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = "\0"
        if "\0" not in text and len(data) <= _LARGEST:
            return text.splitlines()
        mark = f".damaged-{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:4]}"
        try:
            os.rename(here, here + mark)
        except OSError as e:
            raise MemoryFailed(f"{path} is damaged and can't be renamed: {e.strerror}") from None
        self.damaged.append(Path(path + mark))
        return []

    def _change(self, level: Level, change: Callable[[Lines], Lines | None]) -> bool:
        """Reads, changes and replaces the file under the lock; `change` gives None for no change."""
        if level not in self._files:
            raise MemoryFailed(f"there is no {level} memory here; levels: {', '.join(self.levels)}")
        path = self._place(level)
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            path = self._place(level)
            with _held(path) as here, _locked(os.path.join(os.path.dirname(here), ".memory.lock")):
                lines = change(self._read(level))
                if lines is None:
                    return False
                _replace(here, "\n".join(lines) + "\n" if lines else "", private=level == "user")
        except OSError as e:
            raise MemoryFailed(f"{path} can't be written: {e.strerror or e}") from None
        return True

    def _place(self, level: Level) -> str:
        """The file's path. A user may keep it behind links; in a project no link is followed, for it may lead anywhere."""
        path = os.fspath(self._files[level])
        if level == "user":
            return os.path.realpath(path)
        if os.path.islink(os.path.dirname(path)) or os.path.islink(path):
            raise MemoryFailed(f"{path} is a link or lies behind one; project memory follows none")
        return path


def one_line(text: str) -> str:
    """A fact as it is kept: one line, no comment marks, no bullet."""
    plain = " ".join(text.replace("<!--", "< !--").replace("-->", "-- >").split())
    return _BULLET.sub("", "".join(c for c in plain if c.isprintable()))


def _line(fact: Fact) -> str:
    return f"- {fact.text} <!-- source: {fact.source}; session: {fact.session}; day: {fact.day} -->"


def _fact_text(line: str) -> str:
    """The fact in a line, "" for headings, blank lines and comments."""
    bare = _COMMENT.sub("", line).strip()
    return "" if not bare or bare.startswith("#") else _BULLET.sub("", bare)


def _facts(lines: list[str], level: Level) -> list[Fact]:
    found = []
    for line in lines:
        if text := _fact_text(line):
            comment = _COMMENT.search(line)
            pairs = (pair.partition(":") for pair in comment["inside"].split(";")) if comment else ()
            about = {key.strip(): value.strip() for key, _, value in pairs}
            found.append(Fact(text, level, about.get("source", ""), about.get("session", ""), about.get("day", "")))
    return found


def _key(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".。!！ ")


def _words(text: str) -> set[str]:
    """Words, and pairs of characters where a script sets no blanks."""
    found: set[str] = set()
    for word in re.findall(r"\w+", text.casefold()):
        found.add(word)
        found.update(word[i : i + 2] for i in range(len(word) - 1) if word[i] > "\u2e7f")
    return found


def _tokens(text: str) -> int:
    wide = sum(c > "\u2e7f" for c in text)
    return wide + (len(text) - wide + 3) // 4


@contextlib.contextmanager
def _held(path: str) -> Iterator[str]:
    """The file's path by its open folder (Linux): a command that swaps the folder for a link leads nowhere."""
    folder, name = os.path.split(path)
    if sys.platform != "linux" or not os.path.exists("/proc/self/fd"):
        yield path
        return
    above, own = os.path.split(folder)
    fd = folder_fd(os.path.join(os.path.realpath(above), own))
    try:
        yield f"/proc/self/fd/{fd}/{name}"
    finally:
        os.close(fd)


@contextlib.contextmanager
def _locked(path: str) -> Iterator[None]:
    """Holds a lock that parallel runs share. Raises MemoryFailed after some seconds."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        end = time.monotonic() + _WAIT
        while not _try_lock(fd):
            if time.monotonic() > end:
                raise MemoryFailed("another run holds the memory's lock")
            time.sleep(0.005)
        yield
    finally:
        os.close(fd)


def _try_lock(fd: int) -> bool:
    if fcntl is None:
        return _try_lock_windows(fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _try_lock_windows(fd: int) -> bool:
    import msvcrt

    try:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True


def _replace(path: str, text: str, *, private: bool) -> None:
    folder, name = os.path.split(path)
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        mode = 0o600 if private else 0o644
    temporary = os.path.join(folder, f".{name}.{uuid.uuid4().hex}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with os.fdopen(fd, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
