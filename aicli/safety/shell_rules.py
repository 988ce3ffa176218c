"""What a command line really does: which lines only read, and how those are run without a shell."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from aicli.late import dataclass
from aicli.safety.allowlist import checked
from aicli.safety.lexer import Joiner, Simple, lex
from aicli.safety.rules import Rule
from aicli.safety.secrets import SYSTEM_PATH
from aicli.safety.shell_parts import SETTING, Part, parts
from aicli.safety.wrappers import WRAPPERS, Inner, Word, inner
from aicli.workspace.protected import is_secret

if TYPE_CHECKING:
    from aicli.workspace.root import Workspace

__all__ = [
    "READ_ONLY",
    "BashLine",
    "Part",
    "Plan",
    "Step",
    "bash_line",
    "covers",
    "is_free",
    "network_rule",
    "only_cd",
    "parts",
    "plain_parts",
    "read_only",
]

READ_ONLY = "read-only command"
"""What a verdict names as its rule where a line passes because it only reads: it may then run in no other way."""


@dataclass(frozen=True, slots=True)
class Step:
    """A pipeline: each argv's output is the next one's input. `joiner` says when it runs after the step before ("" for
    the first, "&&", "||", ";"); `cwd` is the folder it runs in."""

    pipeline: tuple[tuple[str, ...], ...]
    joiner: Joiner
    cwd: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A command line that only reads, to be run step by step as argv, without a shell. argv[0] is an absolute path.

    `git`: one of its programs is git, whose repository may name filter programs: run it confined or ask.
    """

    steps: tuple[Step, ...]
    git: bool = False


def read_only(command: str, workspace: Workspace | None, cwd: str = "", *, git: bool = True) -> Plan | None:
    """The plan for a line that certainly changes nothing and reads nothing outside the workspace; None: ask.

    `cwd` is the folder the command would run in (default: the workspace's root). Touches the disk to follow links.
    """
    simples = lex(command)
    if simples is None or os.name != "posix":
        return None
    root, roots = _roots(workspace)
    here = os.path.normpath(os.path.join(root, cwd))
    steps: list[Step] = []
    uses_git = False
    for n, simple in enumerate(simples):
        if simple.words[0] == "cd":
            here = _moved(simples, n, here, roots)
            if not here:
                return None
            continue
        argv = checked(simple.words, lambda word, at=here: _readable(word, at, roots), git=git)  # type: ignore[misc]
        program = shutil.which(argv[0], path=SYSTEM_PATH) if argv else None
        if argv is None or program is None:
            return None
        uses_git = uses_git or argv[0] == "git"
        whole = (program, *argv[1:])
        if simple.joiner == "|":
            last = steps.pop()
            steps.append(Step((*last.pipeline, whole), last.joiner, here))
        else:
            steps.append(Step((whole,), simple.joiner if steps else "", here))
    return Plan(tuple(steps), uses_git) if steps else None


@dataclass(frozen=True, slots=True)
class BashLine:
    """A line for bash in which what only reads is named by its place in /usr/bin or /bin, so that no PATH, function or
    alias decides what runs. `free` holds the words of these parts, and of wrappers likewise placed; git is never there,
    since a repository can name programs for it to run."""

    text: str
    free: frozenset[tuple[Word, ...]] = frozenset()


def bash_line(command: str, workspace: Workspace | None, cwd: str = "") -> BashLine:
    """The line as bash gets it where it does not only read. One that is not made of plain words stays as it is."""
    simples = lex(command, quiet=True)
    if simples is None or os.name != "posix":
        return BashLine(command)
    root, roots = _roots(workspace)
    here = os.path.normpath(os.path.join(root, cwd))
    pieces: list[str] = []
    free: set[tuple[Word, ...]] = set()
    loose: set[tuple[Word, ...]] = set()
    for n, simple in enumerate(simples):
        words, placed = simple.words, None
        if words[0] in _SETS_UP:
            here = _moved(simples, n, here, roots) if words[0] == "cd" and not simple.quiet else ""
        elif here:
            placed = _placed(words, here, roots, free)
        if placed is None:
            loose |= {words} if inner(words) == Inner() else {p.argv for p in parts(simple.source)}
        shown = simple.source if placed is None else " ".join((shlex.join(placed), *simple.quiet))
        pieces += [simple.joiner, shown]
    return BashLine(" ".join(filter(None, pieces)), frozenset(free - loose)) if free else BashLine(command)


_SETS_UP = frozenset({"cd", "pushd", "popd"}) | SETTING
"""Behind these, words may mean other files or programs than they seem to."""


def _placed(words: tuple[str, ...], here: str, roots: list[str], free: set[tuple[Word, ...]]) -> tuple[str, ...] | None:
    """The words with wrappers and a reader named by their places; None where nothing is to be changed."""
    argv = checked(words, lambda word: _readable(word, here, roots), git=False)
    wrapper = WRAPPERS.get(words[0])
    if argv is None and not (wrapper and wrapper.clear and words[0] not in ("time", "command")):
        return None
    program = shutil.which(words[0], path=SYSTEM_PATH)
    if program is None:
        return None
    if argv is not None:
        free.add(words)
        return (program, *argv[1:])
    looked = inner(words)
    if not looked.clear or len(looked.argvs) != 1:
        return None
    free.add(words)
    rest = tuple(w for w in looked.argvs[0] if w is not None)
    return (program, *words[1 : len(words) - len(rest)], *(_placed(rest, here, roots, free) or rest))


def _roots(workspace: Workspace | None) -> tuple[str, list[str]]:
    root = str(workspace.root) if workspace else os.getcwd()
    return root, [root, *(str(p) for p in workspace.extra)] if workspace else [root]


def covers(rule: Rule, part: Part) -> bool:
    """Does an allow rule for commands take this part, as it is spelled? A rule with a * never takes what sets variables."""
    if rule.words and rule.open and part.sets:
        return False
    return part.plain and rule.fits_argv(part.argv, strictly=True) == "yes"


def network_rule(allow: Iterable[Rule], found: tuple[Part, ...], command: str, line: str) -> Rule | None:
    """The rule that lets a command use the network: one for all commands, for exactly this line, or for the one plain
    command that the line consists of. No part of a longer line counts as reading only.

    `line` is the command behind a cd into the folder that it runs in, where that is not the workspace's root.
    """
    simples = lex(command) if line == command else None
    single = len(found) == 1 and simples is not None and len(simples) == 1
    for rule in allow:
        if rule.tool != "network":
            continue
        given_for_it = not rule.open and rule.spec == line
        if given_for_it or ((single or not rule.words) and all(covers(rule, p) for p in found)):
            return rule
    return None


def is_free(part: Part, placed: BashLine) -> bool:
    """Is it named by its place, or a word of the shell that only runs what follows?"""
    return part.argv in placed.free or (part.wrapper and part.text.startswith(("time ", "command ")))


def only_cd(found: tuple[Part, ...]) -> bool:
    """A lone `cd DIR`, which the shell tool carries out itself."""
    return len(found) == 1 and found[0].argv[:1] == ("cd",)


def plain_parts(command: str) -> tuple[Part, ...]:
    """The parts of a line that the strict reader understands, without the larger parser; () for any other line."""
    return tuple(Part(simple.words, shlex.join(simple.words)) for simple in lex(command) or ())


def _moved(simples: tuple[Simple, ...], n: int, here: str, roots: list[str]) -> str:
    """The folder after `cd DIR &&`; "" when that is not what stands there."""
    words = simples[n].words
    if len(words) != 2 or words[1].startswith("-") or simples[n].joiner not in ("", "&&"):
        return ""
    if n + 1 >= len(simples) or simples[n + 1].joiner != "&&" or any(s.joiner not in ("", "&&") for s in simples[:n]):
        return ""
    there = os.path.normpath(os.path.join(here, words[1]))
    return there if _readable(words[1], here, roots) and os.path.isdir(there) else ""


def _readable(word: str, here: str, roots: list[str]) -> bool:
    try:
        real = os.path.realpath(os.path.join(here, word or "."))
    except OSError:  # a link that may not be read, as in /proc
        return False
    for root in roots:
        base = os.path.realpath(root)
        if Path(real).is_relative_to(base):
            return not is_secret(os.path.relpath(real, base)) and not is_secret(word)
    return False
