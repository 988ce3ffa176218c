"""Tames a repository that a confined command made: what could run a program when a person uses git there is taken out.

Another command may still run and swap any name meanwhile. So every step goes by the descriptor of a folder that was
reached without a link: nothing outside the workspace can be touched, whatever is swapped when.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from functools import partial

from aicli.late import regex
from aicli.workspace.beneath import DIRECTORY, folder_fd, step_fd

_PLAIN = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
_LINE = regex(
    r"""\s*(?:
        \[(?:core|user|init|branch\ "[^"\\\]]*")\]
      | (?:repositoryformatversion|filemode|bare|logallrefupdates|symlinks|ignorecase|precomposeunicode)
        \s*=\s*(?:true|false|0)
      | (?:name|email|defaultbranch|merge|remote)\s*=\s*[^\\"\n;#]*
      | [#;].*
      |
    )\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_MOST = 100_000
_MOST_ENTRIES = 200_000
_ROUNDS = 8
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def tame(git: str) -> str:
    """Leaves a `.git` with plain settings and without hooks; one that is no folder goes away. Never follows links.

    Gives "", or what the person must know: a `.git` that can't be tamed is moved aside, so that git does not find it.
    Blocks; bounded, whatever the command left or still does there. Raises nothing but MemoryError and its like.
    """
    folder, name = os.path.split(git)
    try:
        found = folder_fd(folder)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"Do not use git in {folder}: it could not be looked at ({_why(error)})."
    try:
        with opened(found):
            return _tame_named(found, name, folder)
    finally:
        os.close(found)


def _tame_named(parent: int, name: str, folder: str) -> str:
    why = "it is changed all the time"
    for _ in range(_ROUNDS):
        try:
            if _tame_once(parent, name):
                return ""
        except OSError as error:
            why = _why(error)
    aside = f"{name}-untamed-{secrets.token_hex(3)}"
    try:
        os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=parent)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return (
            f"Do not use git in {folder}: a command made {name} there, which may run programs and could not be made "
            f"safe ({why}) nor moved aside ({_why(error)})."
        )
    with contextlib.suppress(OSError):  # without HEAD git does not take it for a repository under its new name either
        moved = writable_fd(parent, aside)
        try:
            os.rename("HEAD", "HEAD-untamed", src_dir_fd=moved, dst_dir_fd=moved)
        finally:
            os.close(moved)
    return (
        f"The {name} that a command made in {folder} could not be made safe ({why}) and is now {aside}: "
        "look at its hooks and config before you use git there."
    )


def _tame_once(parent: int, name: str) -> bool:
    """Was it tamed, and is what stands there now the very folder that was? Raises OSError after trying every step."""
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=parent)
            return False
        git = writable_fd(parent, name)
    except FileNotFoundError:
        return True
    try:
        left = _Left(_MOST_ENTRIES)
        faults: list[OSError] = []
        steps = [partial(_remove, git, name, left) for name in ("config.worktree", "commondir", "modules", "worktrees")]
        for step in (*steps, partial(_hooks, git, left), partial(_settings, git, left)):
            try:
                step()
            except OSError as error:
                faults.append(error)
        if faults:
            raise faults[0]
        tamed, now = os.fstat(git), os.stat(name, dir_fd=parent, follow_symlinks=False)
        return (tamed.st_dev, tamed.st_ino) == (now.st_dev, now.st_ino)
    except FileNotFoundError:
        return False
    finally:
        os.close(git)


def _hooks(git: int, left: _Left) -> None:
    try:
        if not stat.S_ISDIR(os.stat("hooks", dir_fd=git, follow_symlinks=False).st_mode):
            _remove(git, "hooks", left)
            return
        hooks = writable_fd(git, "hooks")
    except FileNotFoundError:
        return
    fault: OSError | None = None
    try:
        for name in os.listdir(hooks):
            if not name.endswith(".sample"):
                try:
                    _remove(hooks, name, left)
                except OSError as error:
                    fault = error
    finally:
        os.close(hooks)
    if fault is not None:
        raise fault


def _settings(git: int, left: _Left) -> None:
    try:
        fd = os.open("config", os.O_RDONLY | os.O_NONBLOCK | _NOFOLLOW, dir_fd=git)
        try:
            data = os.read(fd, _MOST) if stat.S_ISREG(os.fstat(fd).st_mode) else b"\0"
        finally:
            os.close(fd)
        if len(data) < _MOST and all(_LINE.fullmatch(line) for line in data.decode().splitlines()):
            return
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError):
        pass
    _remove(git, "config", left)
    fd = os.open("config", os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o644, dir_fd=git)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(_PLAIN)


class _Left:
    """How many entries may still be removed: a running command could make new ones without end."""

    def __init__(self, count: int) -> None:
        self._count = count

    def one(self) -> None:
        self._count -= 1
        if self._count < 0:
            raise OSError(errno.E2BIG, "too many entries")


def _remove(folder: int, name: str, left: _Left) -> None:
    """A file, a link or a whole tree. What lies deep is first moved up into `folder`: no depth is too much."""
    pending = [name]
    while pending:
        left.one()
        one = pending.pop()
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(one, dir_fd=folder, follow_symlinks=False).st_mode):
                pending += _empty(folder, one, left)
                os.rmdir(one, dir_fd=folder)
            else:
                os.unlink(one, dir_fd=folder)


def _empty(folder: int, name: str, left: _Left) -> list[str]:
    """Leaves nothing in it; gives the new names, in `folder`, of the folders that were in it and hold something."""
    inner = writable_fd(folder, name)
    moved: list[str] = []
    try:
        for entry in os.listdir(inner):
            left.one()
            try:
                if not stat.S_ISDIR(os.stat(entry, dir_fd=inner, follow_symlinks=False).st_mode):
                    os.unlink(entry, dir_fd=inner)
                    continue
                os.close(writable_fd(inner, entry))  # its ".." changes, so it must be writable itself
                moved.append(f".aicli-tmp-{secrets.token_hex(8)}.sample")
                os.rename(entry, moved[-1], src_dir_fd=inner, dst_dir_fd=folder)
            except FileNotFoundError:
                continue
    finally:
        os.close(inner)
    return moved


def writable_fd(parent: int, name: str) -> int:
    """The folder of that name, open; made readable and writable for its owner first. Never through a link.

    Raises OSError; FileNotFoundError when it is not there, NotADirectoryError when a link or a file is.
    """
    step = step_fd(parent, name)
    try:
        _allow(step)
        return os.open(".", DIRECTORY, dir_fd=step)
    finally:
        os.close(step)


@contextlib.contextmanager
def opened(folder: int) -> Iterator[None]:
    """Names in this open folder can be changed meanwhile, whatever its mode; then it has its own mode again."""
    before = stat.S_IMODE(os.fstat(folder).st_mode)
    changed = _allow(folder)
    try:
        yield
    finally:
        if changed:
            with contextlib.suppress(OSError):
                os.chmod(f"/proc/self/fd/{folder}", before)


def _allow(fd: int) -> bool:
    """By the descriptor, so that no name is followed; what the system refuses shows at the next step."""
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & 0o700 == 0o700:
        return False
    try:
        os.chmod(f"/proc/self/fd/{fd}", mode | 0o700)
    except OSError:
        return False
    return True


def _why(error: OSError) -> str:
    return error.strerror or str(error)
