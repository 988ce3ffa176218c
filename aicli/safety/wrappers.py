"""Programs that run another command: how to find that command among their words."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from aicli.late import dataclass

Word = str | None
"""A word of a command; None where its value is only known when it runs."""

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh", "pwsh"})


@dataclass(frozen=True)
class Wrapper:
    """`alone` and `valued` are its flags without and with a value; `skip` operands stand before the command.

    `clear`: what it runs is judged in its place, itself needs no rule.
    """

    alone: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    skip: int = 0
    clear: bool = False
    assigns: bool = False


def _wrapper(alone: str = "", valued: str = "", **more: int | bool) -> Wrapper:
    return Wrapper(frozenset(alone.split()), frozenset(valued.split()), **more)  # type: ignore[arg-type]


WRAPPERS: Mapping[str, Wrapper] = {
    "env": _wrapper("-i -0 - --ignore-environment -v --debug", "-u --unset -C --chdir", assigns=True),
    "command": _wrapper("-p", clear=True),
    "builtin": _wrapper(),
    "exec": _wrapper("-c -l", "-a"),
    "timeout": _wrapper(
        "--foreground --preserve-status -v --verbose", "-s --signal -k --kill-after", skip=1, clear=True
    ),
    "nice": _wrapper("", "-n --adjustment", clear=True),
    "nohup": _wrapper(clear=True),
    "stdbuf": _wrapper("", "-i -o -e --input --output --error", clear=True),
    "setsid": _wrapper("-c -f -w --ctty --fork --wait", clear=True),
    "time": _wrapper("-p -v --portability --verbose", "-f --format", clear=True),
    "ionice": _wrapper("-t", "-c -n", clear=True),
    "chrt": _wrapper("-b -f -i -o -r", "", skip=1),
    "taskset": _wrapper("-a", "-c", skip=1),
    "xargs": _wrapper(
        "-0 -r -t -p -x -o --null --no-run-if-empty --verbose --interactive --exit",
        "-I -n -P -L -d -a -s -E --replace --max-args --max-procs --max-lines --delimiter --arg-file",
    ),
    "sudo": _wrapper("-n -E -H -b -k -S -P --preserve-env", "-u -g -h -p -C -D -R -T --user --group", assigns=True),
    "doas": _wrapper("-n -L", "-u -C"),
    "runuser": _wrapper("", "-u -g -G"),
    "chroot": _wrapper("", "--userspec --groups", skip=1),
    "unshare": _wrapper("-U -r -n -m -p -f -i -u -C -T --fork --net --mount --pid --user --map-root-user"),
    "nsenter": _wrapper("-a -m -n -p -u -i -U", "-t --target"),
    "strace": _wrapper("-f -ff -q -c -C -y -v -t -tt -r -T", "-o -e -s -p -E -u -P"),
    "ltrace": _wrapper("-f -c -C -t -r", "-o -e -s -p"),
    "watch": _wrapper("-d -t -e -g -c -x -b", "-n --interval"),
    "flock": _wrapper("-s -x -e -u -n -o -F", "-w -E", skip=1),
    "unbuffer": _wrapper("-p"),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "linux32": _wrapper(),
    "linux64": _wrapper(),
    "setarch": _wrapper("-R --addr-no-randomize", "", skip=1),
    "systemd-run": _wrapper("--user --scope --pipe --wait -q -t -P", "-p -u --property --unit"),
    "parallel": _wrapper("-k -X -m -u", "-j --jobs"),
    "bwrap": _wrapper(),
    "coproc": _wrapper(),
    "then": _wrapper(),
    "do": _wrapper(),
    "else": _wrapper(),
    "!": _wrapper(),
}


@dataclass(frozen=True, slots=True)
class Inner:
    """What a command runs besides itself: argvs, and texts that a shell will read. `opaque`: something unknown as well."""

    argvs: tuple[tuple[Word, ...], ...] = ()
    texts: tuple[str, ...] = ()
    opaque: bool = False
    clear: bool = False


def name_of(word: Word) -> str:
    """The program's name without its folder."""
    return os.path.basename(word or "")


def inner(argv: Sequence[Word]) -> Inner:
    """Looks through one level of wrapping."""
    name = name_of(argv[0])
    if name == "eval":
        return _text(argv[1:])
    if name == "trap":
        return _text(argv[1:2]) if len(argv) > 2 else Inner()
    if name in ("alias", "enable", "bind", "complete", "hash") and len(argv) > 1:
        return Inner(opaque=True)
    if name in SHELLS or (name in ("su", "script") and any(w in ("-c", "--command") for w in argv)):
        return _shell(argv)
    if name == "find":
        return _find(argv)
    if re.fullmatch(r"ld(?:-linux.*|-musl.*)?\.so.*", name):
        return Inner(_suffixes(argv))
    wrapper = WRAPPERS.get(name)
    return _unwrap(wrapper, argv) if wrapper else Inner()


def _text(words: Sequence[Word]) -> Inner:
    if any(w is None for w in words):
        return Inner(opaque=True)
    return Inner(texts=(" ".join(w for w in words if w is not None),)) if words else Inner()


def _shell(argv: Sequence[Word]) -> Inner:
    for n, word in enumerate(argv[1:], 1):
        if word is None:
            return Inner(opaque=True)
        if re.fullmatch(r"[-+][A-Za-z]*c[A-Za-z]*|--command", word):
            later = [w for w in argv[n + 1 :] if w is None or not w.startswith(("-", "+"))]
            return _text(later[:1]) if later else Inner(opaque=True)
        if not word.startswith(("-", "+")):
            return Inner()
    return Inner(opaque=True)  # reads its commands from its input


def _find(argv: Sequence[Word]) -> Inner:
    found: list[tuple[Word, ...]] = []
    words = list(argv)
    while words:
        word = words.pop(0)
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            run: list[Word] = []
            while words and words[0] not in (";", "+"):
                run.append(words.pop(0))
            if run:
                found.append(tuple(run))
    return Inner(tuple(found), opaque=any(w is None for w in argv))


def _unwrap(wrapper: Wrapper, argv: Sequence[Word]) -> Inner:
    at = 1
    skip = wrapper.skip
    while at < len(argv):
        word = argv[at]
        if word is None:
            return Inner(_suffixes(argv), opaque=True)
        if word == "--":
            at += 1
            break
        if wrapper.assigns and re.match(r"[A-Za-z_]\w*=", word):
            at += 1
        elif word.startswith("-") and len(word) > 1:
            if word in wrapper.valued:
                at += 2
            elif _takes_no_word(wrapper, word):
                at += 1
            elif name_of(argv[0]) == "command" and word in ("-v", "-V"):
                return Inner()
            else:
                return Inner(_suffixes(argv), _texts_in(argv))
        elif skip:
            skip -= 1
            at += 1
        else:
            break
    rest = tuple(argv[at + skip :])
    if not rest:
        return Inner()
    texts = (rest[0],) if len(rest) == 1 and rest[0] is not None and " " in rest[0] else ()
    return Inner((rest,), texts, clear=wrapper.clear)


def _takes_no_word(wrapper: Wrapper, word: str) -> bool:
    known = wrapper.alone | wrapper.valued
    glued = word.split("=")[0] in known or word[:2] in wrapper.valued
    return word in wrapper.alone or glued or re.fullmatch(r"-[0-9]+", word) is not None


def _texts_in(argv: Sequence[Word]) -> tuple[str, ...]:
    """Words that may be whole command lines, as for env -S, also glued to their flag."""
    whole = [w for w in argv[1:] if w and " " in w]
    return tuple(t for w in whole for t in (w, w[2:], w.partition("=")[2]) if t)


def _suffixes(argv: Sequence[Word]) -> tuple[tuple[Word, ...], ...]:
    """Every way in which the end of the words could be the command: for wrappers with flags that are not known here."""
    return tuple(tuple(argv[n:]) for n in range(1, len(argv)))
