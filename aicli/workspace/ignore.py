"""Which files git would leave out: .gitignore and .aicliignore, nested and negated, read folder by folder when needed."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from aicli.late import dataclass
from aicli.workspace.needles import needles

FILES = (".gitignore", ".aicliignore")
"""Read in this order in each folder; a later line wins."""
_NEVER = frozenset({".git", ".hg", ".svn", ".jj"})
_LONGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class _Rules:
    """The lines of one folder. `any` finds out at once that none applies; `each` holds the lines from last to first.

    `prefix` stands before a path that is relative to the folder, for rules of a folder above the root. `needed`: texts
    of which a path must hold one, () if that can't be said; they tell of a whole folder as quickly as of one name.
    """

    any: re.Pattern[str]
    each: tuple[tuple[re.Pattern[str], bool], ...]
    start: int
    prefix: str = ""
    needed: tuple[str, ...] = ()

    def verdict(self, rel: str) -> bool | None:
        """Ignored, kept by a negation, or not spoken of."""
        local = self.prefix + rel[self.start :]
        if self.any.match(local) is None:
            return None
        for pattern, ignored in self.each:
            if pattern.match(local):
                return ignored
        return None


class IgnoreRules:
    """The rules below `root` and, in a git work tree, of the folders above it. Reads files when asked; never raises.

    Paths are relative to the root with "/". Rules of a folder are read once.
    """

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)
        self._chains: dict[str, tuple[_Rules, ...]] = {}
        self._folders: dict[str, bool] = {}

    def skip(self, rel: str, is_dir: bool) -> bool:
        """Do the rules name this very entry? For walks, which never enter an ignored folder anyway."""
        folder, _, name = rel.rpartition("/")
        if name in _NEVER:
            return True
        chain = self._chain(folder)
        if not chain:
            return False
        path = rel + "/" if is_dir else rel
        for rules in chain:
            verdict = rules.verdict(path)
            if verdict is not None:
                return verdict
        return False

    def kept(self, folder: str, names: list[str], are_dirs: bool) -> list[str]:
        """The names in a folder ("" for the root) that the rules don't name, as `skip` would say of each."""
        chain = self._chain(folder)
        names = [name for name in names if name not in _NEVER]
        if not chain:
            return names
        before, after = folder + "/" if folder else "", "/" if are_dirs else ""
        together = "\n".join(names)
        for rules in chain:
            match, start = rules.any.match, rules.prefix + before[rules.start :]
            if rules.needed and not any(text in together or text in start for text in rules.needed):
                continue
            if any(match(start + name + after) for name in names):
                break
        else:
            return names
        return [name for name in names if not self.skip(before + name, are_dirs)]

    def ignored(self, rel: str, is_dir: bool) -> bool:
        """Is the entry, or a folder it lies in, ignored?"""
        rel = rel.strip("/")
        if rel in ("", "."):
            return False
        folder = rel.rpartition("/")[0]
        return (folder != "" and self._folder(folder)) or self.skip(rel, is_dir)

    def _folder(self, rel: str) -> bool:
        known = self._folders.get(rel)
        if known is None:
            known = self._folders[rel] = self.ignored(rel, True)
        return known

    def _chain(self, folder: str) -> tuple[_Rules, ...]:
        """Rules that apply in a folder, its own first."""
        chain = self._chains.get(folder)
        if chain is None:
            if folder:
                above = self._chain(folder.rpartition("/")[0])
                start = len(folder) + 1
            else:
                above, start = self._outer(), 0
            lines = [line for name in FILES for line in _lines(os.path.join(self._root, folder, name))]
            own = _compiled(lines, start)
            chain = self._chains[folder] = (own, *above) if own else above
        return chain

    def _outer(self) -> tuple[_Rules, ...]:
        """Rules of the folders from the root's parent up to the top of its work tree, and of .git/info/exclude."""
        chain: list[_Rules] = []
        here, prefix = self._root, ""
        while True:
            if os.path.lexists(os.path.join(here, ".git")):
                own = _compiled(_lines(os.path.join(here, ".git", "info", "exclude")), 0, prefix)
                return (*chain, own) if own else tuple(chain)
            parent, name = os.path.split(here)
            if parent == here:
                return ()  # no work tree: what lies above has no say
            prefix = f"{name}/{prefix}"
            here = parent
            lines = [line for file in FILES for line in _lines(os.path.join(here, file))]
            if own := _compiled(lines, 0, prefix):
                chain.append(own)


def _lines(path: str) -> list[str]:
    """A rule file's lines; [] for one that isn't there, isn't a regular file, or is absurdly large."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return []
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LONGEST:
            return []
        return file.read().removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").splitlines()


def _compiled(lines: list[str], start: int, prefix: str = "") -> _Rules | None:
    wanted = [_inside(line) for line in lines if line.strip() and not line.startswith("#")]
    if not wanted:
        return None
    from pathspec import GitIgnoreSpec  # 30 ms, and only where there are rules

    each: list[tuple[re.Pattern[str], bool]] = []
    for line in wanted:
        try:
            patterns = GitIgnoreSpec.from_lines([line]).patterns
        except ValueError:
            continue  # git, too, passes over a line it can't read
        each += [(p.regex, bool(p.include)) for p in patterns if p.regex is not None and p.include is not None]
    if not each:
        return None
    whole = "|".join(f"(?:{re.sub(r'[(][?]P<[a-z_]+>', '(?:', p.pattern)})" for p, _ in each)
    found = [max(needle.split("/"), key=len) for p, _ in each for needle in needles(p.pattern) or ("",)]
    needed = tuple(dict.fromkeys(found)) if all(found) else ()
    return _Rules(re.compile(whole), tuple(reversed(each)), start, prefix, needed)


def _inside(line: str) -> str:
    """`folder/**` means what is in the folder, not the folder itself: a negation below it must still be reached."""
    text = line.rstrip()
    return text + "/*" if text.endswith("/**") and text.strip("!/") != "**" else line
