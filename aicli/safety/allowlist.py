"""Which programs, flags and operands only read: an allowlist, so a flag that is not here asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from aicli.late import dataclass, regex
from aicli.workspace.protected import SECRETS

PathCheck = Callable[[str], bool]
"""Is this word a path that may be read unasked?"""

_NUMBER = r"[+-]?[0-9]+[bkKMG]?"
_TEXT = r"[\s\S]*"
_PATH = "<path>"


@dataclass(frozen=True)
class Program:
    """`flags` are single letters without a value; `valued` maps a letter to the form of its value; `long` likewise for
    --names ("" takes no value, a form in brackets is optional). `operands` is path, text or none; `first` the kind of
    the first operand unless one of `instead` was given.
    """

    flags: str = ""
    valued: Mapping[str, str] = field(default_factory=dict)
    long: Mapping[str, str] = field(default_factory=dict)
    operands: str = "path"
    most: int = 1_000
    first: str = ""
    instead: str = ""
    digits: bool = False
    adds: tuple[str, ...] = ()


def _switches(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "")


_SECRET_GLOBS = tuple(p for p in SECRETS if p != ".env[a-z0-9]*")
_HIDE = tuple(f"--exclude={p}" for p in (*_SECRET_GLOBS, "id_*"))

PROGRAMS: Mapping[str, Program] = {
    "ls": Program(
        "1aAbBcCdFgGhiklmnNopqQrRsStuUvxXZ",
        {"w": _NUMBER, "T": _NUMBER},
        _switches("all almost-all human-readable recursive reverse size directory inode")
        | {"color": "[never|auto]", "sort": "[a-z]+", "time": "[a-z]+", "time-style": "[a-z-]+"},
    ),
    "cat": Program("AbeEnstTuv", long=_switches("number show-all show-ends show-tabs squeeze-blank")),
    "tac": Program(),
    "rev": Program(),
    "nl": Program("", {"b": "[atn]", "w": _NUMBER, "v": _NUMBER, "n": "ln|rn|rz", "s": _TEXT}),
    "head": Program("qvz", {"n": _NUMBER, "c": _NUMBER}, {"lines": _NUMBER, "bytes": _NUMBER}, digits=True),
    "tail": Program("qvz", {"n": _NUMBER, "c": _NUMBER}, {"lines": _NUMBER, "bytes": _NUMBER}, digits=True),
    "wc": Program("clmwL", long=_switches("lines words bytes chars max-line-length")),
    "grep": Program(
        "abcEFGHhiILlnoPqrsvwxyzZ",
        {"e": _TEXT, "f": _PATH, "m": _NUMBER, "A": _NUMBER, "B": _NUMBER, "C": _NUMBER},
        _switches(
            "count ignore-case line-number files-with-matches files-without-match with-filename no-filename "
            "only-matching quiet recursive invert-match word-regexp line-regexp extended-regexp fixed- "
            "strings perl-regexp no-messages null text"
        )
        | {"regexp": _TEXT, "include": _TEXT, "exclude": _TEXT, "exclude-dir": _TEXT, "color": "[never|auto]"}
        | {"context": _NUMBER, "after-context": _NUMBER, "before-context": _NUMBER, "max-count": _NUMBER},
        first="text",
        instead="ef",
        digits=True,
        adds=_HIDE,
    ),
    "pwd": Program("LP", operands="none"),
    "stat": Program("tL", {"c": _TEXT}, {"format": _TEXT, "terse": ""}),
    "cut": Program("sz", dict.fromkeys("dfbc", _TEXT), {"delimiter": _TEXT, "fields": _TEXT, "complement": ""}),
    "tr": Program("cCdst", operands="text", most=2),
    "basename": Program("az", {"s": _TEXT}, operands="text"),
    "dirname": Program("z", operands="text"),
    "realpath": Program("emsz", {}, {"relative-to": _PATH}),
    "readlink": Program("efmnz"),
    "uname": Program("asnrvmpio", operands="none"),
    "id": Program("gGnruz", operands="text", most=1),
    "echo": Program("neE", operands="text"),
    "comm": Program("123z", most=2),
    "cmp": Program("bls", {"n": _NUMBER}, most=2),
    "diff": Program(
        "abBcdeEiNnqrstTuwyZ",
        {"U": _NUMBER, "C": _NUMBER, "W": _NUMBER},
        _switches("unified brief recursive side-by-side ignore-case ignore-all-space") | {"color": "never|auto"},
        most=2,
        adds=("--no-dereference", *_HIDE),
    ),
    "du": Program(
        "abchkmsx0", {"d": _NUMBER, "t": _NUMBER}, {"max-depth": _NUMBER, "summarize": "", "apparent-size": ""}
    ),
    "df": Program("ahHikmPT"),
    "sort": Program("bdfghMnRrVcCmsuz", {"k": r"[0-9.,bdfgiMhnRrV]+", "t": _TEXT}, {"reverse": "", "unique": ""}),
    "uniq": Program("cdDiuz", {"f": _NUMBER, "s": _NUMBER, "w": _NUMBER}, {"count": "", "repeated": ""}, most=1),
    "seq": Program("w", {"s": _TEXT}, operands="number", most=3),
} | {f"{kind}sum": Program("btz") for kind in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "b2")}

_LOG = (
    _switches(
        "oneline stat shortstat numstat name-only name-status graph no-decorate all no-merges merges "
        "reverse patch follow abbrev-commit first-parent no-color no-patch branches tags remotes summary "
        "raw full-index minimal patience histogram"
    )
    | {"decorate": "[short|full|auto|no]", "date": r"[a-z0-9:%Y-]+", "skip": "[0-9]+", "max-count": "[0-9]+"}
    | dict.fromkeys(("author", "committer", "since", "until", "after", "before", "grep"), _TEXT)
    | dict.fromkeys(("format", "pretty"), r"(?![\s\S]*%G)[\s\S]*")
)
_DIFF = _switches("cached staged check ignore-all-space ignore-space-change ignore-blank-lines merge-base") | {
    "unified": "[0-9]+",
    "word-diff": "[plain|porcelain|none]",
    "diff-filter": "[A-Za-z]+",
    "color": "never|auto",
}
_SHOWN = {k: v for k, v in _LOG.items() if k not in ("all", "follow", "graph", "branches", "tags", "remotes")}
_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv")

GIT: Mapping[str, Program] = {
    "status": Program(
        "sbvz",
        {},
        _switches("short branch long show-stash ahead-behind")
        | {"porcelain": "[v1|v2]", "untracked-files": "[no|normal|all]", "ignored": "[traditional|no|matching]"},
        operands="git",
    ),
    "log": Program(
        "pusi",
        {"n": "[0-9]+", "S": _TEXT, "G": _TEXT},
        {**_LOG, **_DIFF},
        operands="git",
        digits=True,
        adds=_PLAIN_DIFF,
    ),
    "diff": Program("pusbwz", {"U": "[0-9]+"}, {**_SHOWN, **_DIFF}, operands="git", adds=_PLAIN_DIFF),
    "show": Program("pus", {"U": "[0-9]+"}, {**_SHOWN, **_DIFF}, operands="git", adds=_PLAIN_DIFF),
    "rev-parse": Program(
        "q",
        {},
        _switches("show-toplevel verify is-inside-work-tree git-dir show-prefix quiet")
        | {"abbrev-ref": "[strict|loose]", "short": "[0-9]*"},
        operands="git",
    ),
}
_NEUTRAL = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "safe.bareRepository=explicit",
    "diff.external=",
    "log.showSignature=false",
    "protocol.allow=never",
    "gpg.program=/bin/false",
    "gpg.openpgp.program=/bin/false",
    "gpg.ssh.program=/bin/false",
    "gpg.x509.program=/bin/false",
)
GIT_NEUTRAL = ("--no-pager", "--no-optional-locks", *(word for setting in _NEUTRAL for word in ("-c", setting)))

_FIND_ALONE = frozenset({"-not", "-o", "-a", "-print", "-print0", "-empty", "-prune"})
_FIND_VALUED = {
    "-name": _TEXT,
    "-iname": _TEXT,
    "-path": _TEXT,
    "-type": "[bcdpfls](?:,[bcdpfls])*",
    "-maxdepth": "[0-9]+",
    "-mindepth": "[0-9]+",
    "-size": r"[+-]?[0-9]+[bcwkMG]?",
    "-mtime": r"[+-]?[0-9]+",
    "-newer": _PATH,
}
_SED_SCRIPT = regex(r"[0-9]+(?:,(?:[0-9]+|\$))?p")


def checked(words: Sequence[str], path_ok: PathCheck, *, git: bool) -> tuple[str, ...] | None:
    """The argv to run for words that only read, with neutralising flags added; None for anything else."""
    name, args = words[0], tuple(words[1:])
    if name == "find":
        return (name, *args) if _find_ok(args, path_ok) else None
    if name == "sed":
        sound = len(args) >= 3 and args[0] == "-n" and _SED_SCRIPT.fullmatch(args[1])
        return (name, *args) if sound and all(not a.startswith("-") and path_ok(a) for a in args[2:]) else None
    if name == "git":
        if args[:1] == ("--no-pager",):
            args = args[1:]
        program = GIT.get(args[0]) if args and git else None
        if program is None or not _accepts(program, args[1:], path_ok):
            return None
        return (name, *GIT_NEUTRAL, args[0], *program.adds, *args[1:])
    program = PROGRAMS.get(name)
    if program is None or not _accepts(program, args, path_ok):
        return None
    return (name, *program.adds, *args)


def _accepts(program: Program, args: Sequence[str], path_ok: PathCheck) -> bool:
    operands: list[str] = []
    given: set[str] = set()
    at = 0
    while at < len(args):
        word = args[at]
        at += 1
        if word == "--":
            operands += args[at:]
            break
        if word == "-" or not word.startswith("-"):
            operands.append(word)
        elif program.digits and re.fullmatch(r"-[0-9]+", word):
            continue
        elif word.startswith("--"):
            if not _long_ok(program, word, path_ok):
                return False
        else:
            taken = _cluster(program, word[1:], args[at : at + 1], path_ok, given)
            if taken < 0:
                return False
            at += taken
    return _operands_ok(program, operands, path_ok, given)


def _long_ok(program: Program, word: str, path_ok: PathCheck) -> bool:
    name, equals, value = word[2:].partition("=")
    form = program.long.get(name)
    if form is None:
        return False
    if form.startswith("[") and form.endswith("]") and "|" in form:
        return not equals or value in form[1:-1].split("|")
    return _value_ok(form, value, path_ok) if equals else form == ""


def _cluster(program: Program, letters: str, following: Sequence[str], path_ok: PathCheck, given: set[str]) -> int:
    """How many following words belong to the cluster, -1 if it is not accepted."""
    for n, letter in enumerate(letters):
        given.add(letter)
        if letter in program.valued:
            rest = letters[n + 1 :]
            if not rest and not following:
                return -1
            sound = _value_ok(program.valued[letter], rest or following[0], path_ok)
            return -1 if not sound else 0 if rest else 1
        if letter not in program.flags:
            return -1
    return 0


def _value_ok(form: str, value: str, path_ok: PathCheck) -> bool:
    if form == _PATH:
        return path_ok(value)
    return bool(form) and re.fullmatch(form, value) is not None


def _operands_ok(program: Program, operands: list[str], path_ok: PathCheck, given: set[str]) -> bool:
    if program.first and not given & set(program.instead):
        operands = operands[1:]
    if len(operands) > program.most:
        return False
    match program.operands:
        case "none":
            return not operands
        case "text":
            return True
        case "number":
            return all(re.fullmatch(r"-?[0-9]{1,7}", o) for o in operands)
        case "git":
            return all(path_ok(part) for o in operands for part in o.split(":"))
    return all(o == "-" or path_ok(o) for o in operands)


def _find_ok(args: Sequence[str], path_ok: PathCheck) -> bool:
    at = 0
    while at < len(args) and not args[at].startswith("-"):
        if not path_ok(args[at]):
            return False
        at += 1
    while at < len(args):
        word = args[at]
        at += 1
        if word in _FIND_ALONE:
            continue
        form = _FIND_VALUED.get(word)
        if form is None or at >= len(args) or not _value_ok(form, args[at], path_ok):
            return False
        at += 1
    return True
