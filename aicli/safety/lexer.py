"""The strict reader of command lines: what it accepts means the same to every shell, all else is not understood."""

from __future__ import annotations

from typing import Literal

from aicli.late import dataclass, regex

Joiner = Literal["", "&&", "||", ";", "|"]

MOST_CHARACTERS = 8_000
MOST_PARTS = 20

_BARE = regex(r"[A-Za-z0-9_./:,@%+=-]+")
_AFTER_NAME = regex(r"(?<=[A-Za-z0-9_])[~^]+[0-9]*")
_SINGLE = regex(r"'([ -&(-~]*)'")
_DOUBLE = regex(r'"([^"$`\\!\x00-\x1f\x7f-\U0010ffff]*)"')
_JOIN = regex(r"&&|\|\||[|;]")
_QUIET = regex(r"(?:2>&1|[12]?>/dev/null)(?=[ \t|;]|&&|$)")


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command: its words as the shell would pass them, and what joins it to the one before.

    `source` is its text as written; `quiet` its redirects, which write into no file.
    """

    words: tuple[str, ...]
    joiner: Joiner
    source: str = ""
    quiet: tuple[str, ...] = ()


def lex(command: str, *, quiet: bool = False) -> tuple[Simple, ...] | None:
    """The simple commands of a line, None for anything but plain words joined by && || | ;

    Newlines, globs, braces, tildes, redirects, &, substitutions, assignments in front, comments, backslashes and all
    that is not printable ASCII are not understood. A ~ or ^ right behind a name (HEAD~2) is a plain character.
    With `quiet`, 2>&1 and what goes to /dev/null is.
    """
    if not command.strip(" ") or len(command) > MOST_CHARACTERS:
        return None
    out: list[Simple] = []
    words: list[str] = []
    silenced: list[str] = []
    joiner: Joiner = ""
    at = begin = 0
    while at < len(command):
        if command[at] in " \t":
            at += 1
        elif join := _JOIN.match(command, at):
            if not words:
                return None
            out.append(Simple(tuple(words), joiner, command[begin:at].strip(" \t"), tuple(silenced)))
            words, silenced, joiner, at = [], [], join.group(), join.end()  # type: ignore[assignment]
            begin = at
        elif quiet and (redirect := _QUIET.match(command, at)):
            silenced.append(redirect.group())
            at = redirect.end()
        else:
            word, at = _word(command, at)
            if word is None:
                return None
            words.append(word)
    if not words or len(out) >= MOST_PARTS:
        return None
    out.append(Simple(tuple(words), joiner, command[begin:].strip(" \t"), tuple(silenced)))
    return tuple(out)


def _word(command: str, at: int) -> tuple[str | None, int]:
    pieces: list[str] = []
    while at < len(command) and command[at] not in " \t|;&":
        if (found := _BARE.match(command, at)) or (found := _AFTER_NAME.match(command, at)):
            pieces.append(found.group())
        elif found := (_SINGLE.match(command, at) or _DOUBLE.match(command, at)):
            pieces.append(found.group(1))
        else:
            return None, at
        at = found.end()
    return ("".join(pieces) if pieces else None), at
