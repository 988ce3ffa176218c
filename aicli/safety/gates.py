"""The gates that no mode lifts: outside the roots, protected paths, secrets, aicli's own files, deletion of a root."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from aicli import paths
from aicli.late import dataclass, regex
from aicli.safety.rules import Rule
from aicli.safety.shell_parts import Part
from aicli.safety.wrappers import name_of
from aicli.workspace.protected import is_secret
from aicli.workspace.root import Place, Workspace, WorkspaceError

MOST_LINKS_SEEN = 20_000


@dataclass(frozen=True, slots=True)
class Target:
    """A path of a call: as written, where it is, and where its links lead. `wrong`: why it can't be used at all."""

    given: str
    place: Place | None = None
    real: Place | None = None
    wrong: str = ""

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(p for p in dict.fromkeys((self.place, self.real)) if p is not None)


def target_of(workspace: Workspace, given: str) -> Target:
    """Follows the links of a path. A path that leads out has `wrong` set, one that is merely missing has not."""
    try:
        place = workspace.locate(given)
    except (WorkspaceError, OSError, ValueError) as e:
        return Target(given, wrong=str(e))
    try:
        return Target(given, place, workspace.real(given))
    except (OSError, WorkspaceError) as e:
        outside = type(e).__name__ == "OutsideWorkspace"
        return Target(given, place, wrong=str(e) if outside else "")


def own_file(target: Target) -> bool:
    """Does it belong to aicli itself: user settings, keys, rules, sessions, trust, checkpoints?"""
    own = [os.path.realpath(f()) for f in (paths.config_folder, paths.state_folder, paths.data_folder)]
    return any(Path(os.path.realpath(p.path)).is_relative_to(folder) for p in target.places for folder in own)


def holds_secret(target: Target) -> bool:
    return any(is_secret(p.display) for p in target.places)


def rule_takes(rule: Rule, target: Target, *, for_deny: bool) -> bool:
    """An allow rule must fit all of a path's names, a deny rule any of them, whatever the case, hard links included."""
    if not rule.spec:
        return True
    fits = [rule.fits_path(p.display, str(p.path), folded=for_deny) for p in target.places]
    if not for_deny:
        return bool(fits) and all(fits)
    return any(fits) or any(rule.fits_path(n, n, folded=True) for n in _hard_links(target))


def _hard_links(target: Target) -> Iterable[str]:
    """Other names of the same file inside its root. Looks only when the file has several, and not without end."""
    place = target.real or target.place
    if place is None:
        return
    try:
        found = os.stat(place.path)
    except OSError:
        return
    if found.st_nlink < 2 or not stat.S_ISREG(found.st_mode):
        return
    pending, seen = [str(place.root)], 0
    while pending and seen < MOST_LINKS_SEEN:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif entry.inode() == found.st_ino:
                        yield os.path.relpath(entry.path, place.root)
        except OSError:
            continue


_RECURSIVE = regex(r"--recursive|-[A-Za-z]*[rR][A-Za-z]*")


def deletes_a_root(part: Part, roots: Iterable[Path], cwd: str) -> str:
    """The root, home or system folder that a command would delete with all in it, "" if none that can be seen."""
    name = name_of(part.argv[0])
    if name == "rm" and any(w and _RECURSIVE.fullmatch(w) for w in part.argv[1:]):
        words = _raw_words(part.text)
    elif name == "find" and (("-delete" in part.argv) or re.search(r"-exec(?:dir)?\s+\S*\brm\b", part.text)):
        words = [w for w in _raw_words(part.text)[1:2] if not w.startswith("-")] or ["."]
        if any(w in ("-name", "-iname", "-path", "-type", "-mtime", "-size", "-newer", "-empty") for w in part.argv):
            return ""
    elif name in ("shred", "rmdir", "mv", "chmod", "chown") and any(w and _RECURSIVE.fullmatch(w) for w in part.argv):
        words = [w for w in _raw_words(part.text) if w.strip("'\"") in ("/", "~", "$HOME", "${HOME}")]
    else:
        return ""
    kept = [os.path.realpath(r) for r in roots] + [os.path.realpath(os.path.expanduser("~"))]
    for word in words:
        place = _expanded(word, cwd)
        if place and any(Path(k).is_relative_to(place) for k in kept):
            return place
    return ""


def _raw_words(text: str) -> list[str]:
    found = re.findall(r"(?:[^\s'\"\\]|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\")+", text)
    at = next((n for n, w in enumerate(found) if os.path.basename(w.strip("'\"\\")) in ("rm", "find")), 0)
    return [w for w in found[at + 1 :] if not w.startswith("-")] if found else []


def _expanded(word: str, cwd: str) -> str:
    """The folder a word names, with home, working folder and a closing glob for all of it filled in; "" if unclear."""
    plain = re.sub(r"['\"\\]", "", word)
    plain = re.sub(r"\$\{?HOME\}?", os.path.expanduser("~"), plain)
    plain = re.sub(r"\$\{?PWD\}?|\$\(pwd\)|`pwd`", cwd, plain)
    plain = os.path.expanduser(plain)
    plain = re.sub(r"(?:^|(?<=/))(?:\*|\.\[\^\.\]\*|\{\*,\.\*\}|\.\*)$", "", plain) or ("." if plain != "/" else "/")
    if re.search(r"[$`*?\[{]", plain):
        return ""
    try:
        return os.path.realpath(os.path.join(cwd, plain))
    except OSError:  # a link that may not be read, as in /proc: it leads to nothing that is kept here
        return ""
