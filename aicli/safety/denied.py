"""What a deny rule for changes means to commands: paths that a sandbox holds fast, and those that a line would change."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aicli.errors import ConfigError
from aicli.safety.rules import Rule, parse_rule
from aicli.safety.shell_parts import Part
from aicli.safety.wrappers import name_of

CHANGES = ("edit", "write_file")
_ALL_NAMED = frozenset(
    {"mv", "tee", "touch", "mkdir", "mkfifo", "mknod", "rm", "rmdir", "unlink", "shred", "truncate", "sed", "patch"}
    | {"chmod", "chown", "chgrp", "find"}
)
_LAST_NAMED = frozenset({"cp", "ln", "install", "rsync"})
_GIT = frozenset({"checkout", "restore", "rm", "mv", "clean", "apply", "reset"})
_INTO = ("cp", "mv", "install", "ln", "rsync", "tar", "unzip")
_GLUED = re.compile(r"(?:--[\w-]+|\w+)=(.+)|-[A-Za-z](.+)", re.DOTALL)


def held_paths(deny: Iterable[str | Mapping[str, Any]], root: Path) -> tuple[str, ...]:
    """The files and folders that rules name outright: edit(src/**), edit(docs/) and edit(/a.txt), not edit(*.lock).

    "/" stands for all: edit and edit(**). A rule that can't be read is left to whoever reads all of them.
    """
    found: list[str] = []
    for given in deny:
        text = given if isinstance(given, str) else str(given.get("rule", ""))
        try:
            rule = parse_rule(text, known=[text.partition("(")[0]])
        except ConfigError:
            continue
        if concerns_changes(rule) and (path := plain_path(rule, root)):
            found.append(path)
    return tuple(dict.fromkeys(found))


def concerns_changes(rule: Rule) -> bool:
    """Is it about paths that change? A bare edit is about all; a bare write_file is about that tool alone."""
    return rule.tool == "edit" or (rule.tool in CHANGES and bool(rule.spec))


def plain_path(rule: Rule, root: Path) -> str:
    """The one path, with all below it, that a rule is about, "/" if it takes all; "" if it has a glob in it."""
    spec = f"/{rule.spec}"
    while (shorter := re.sub(r"/\*{0,2}$", "", spec)) != spec:
        spec = shorter
    spec = spec[1:]
    if not spec:
        return "/"
    if re.search(r"[*?\[\]\\]|^[!#]", spec):
        return ""
    if spec.startswith("//"):
        return os.path.normpath(spec[1:])
    if spec == "~" or spec.startswith("~/"):
        return os.path.normpath(os.path.expanduser(spec))
    return os.path.normpath(os.path.join(root, spec.lstrip("/")))


def changed_paths(part: Part) -> Iterator[str]:
    """The paths, as written, that one simple command may change: operands, values glued to flags, what lands in a folder.

    The source of a plain copy is none.
    """
    words = [w for w in part.argv[1:] if w]
    plain = [w for w in words if not w.startswith("-")]
    glued = [g[1] or g[2] for w in words if (g := _GLUED.fullmatch(w))]
    name = name_of(part.argv[0])
    targets = [*(plain[-1:] if name in _LAST_NAMED and not _says_target(words) else plain), *glued]
    yield from targets
    if name in _INTO:
        yield from (os.path.join(folder, os.path.basename(w.rstrip("/")) or "x") for folder in targets for w in plain)


def _says_target(words: Sequence[str]) -> bool:
    return any(w.startswith(("-t", "--target")) for w in words)


def takes_all(part: Part, held: str, cwd: str) -> str:
    """The operand of a changing command that is this path or holds it, "" if none."""
    for word in _changed(part.argv):
        place = os.path.normpath(os.path.join(cwd, word))
        if held == place or held.startswith(place.rstrip("/") + "/"):
            return word
    return ""


def _changed(argv: Sequence[str | None]) -> Sequence[str]:
    """The operands that a known program changes; not the source of a copy, which stays as it is."""
    words = [w for w in argv[1:] if w and not w.startswith("-")]
    name = name_of(argv[0])
    if name in _ALL_NAMED:
        return words
    if name in _LAST_NAMED:
        return words if _says_target([w for w in argv if w]) else words[-1:]
    return words[1:] if name == "git" and words[:1] and words[0] in _GIT else ()
