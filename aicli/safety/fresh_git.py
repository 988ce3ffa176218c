"""Tames a repository that a confined command made: what could run a program when a person uses git there is taken out."""

from __future__ import annotations

import os
import re
import shutil
import stat

from aicli.late import regex

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


def tame(git: str) -> None:
    """Leaves a `.git` with plain settings and without hooks. A `.git` that is no folder goes away. Never follows links."""
    try:
        kind = os.lstat(git).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(kind):
        os.unlink(git)
        return
    for name in ("config.worktree", "commondir", "modules", "worktrees"):
        _remove(os.path.join(git, name))
    hooks = os.path.join(git, "hooks")
    if os.path.islink(hooks) or not os.path.isdir(hooks):
        _remove(hooks)
    else:
        for name in os.listdir(hooks):
            if not name.endswith(".sample"):
                _remove(os.path.join(hooks, name))
    _settings(os.path.join(git, "config"))


def _settings(path: str) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(fd, encoding="utf-8") as file:
            text = file.read(_MOST)
        if not os.path.islink(path) and all(_LINE.fullmatch(line) for line in text.splitlines()) and len(text) < _MOST:
            return
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError):
        pass
    _remove(path)
    with open(path, "x", encoding="utf-8") as file:
        file.write(_PLAIN)


def _remove(path: str) -> None:
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        pass
