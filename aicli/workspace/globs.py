"""Glob patterns as regular expressions: `*` stays in one segment, `**` crosses, braces choose, brackets are literal too."""

from __future__ import annotations

import re

_MOST = 256


class BadGlob(ValueError):
    """The text says what is wrong with the pattern."""


def compile_glob(pattern: str, *, hidden: bool = False) -> re.Pattern[str]:
    """A regex for fullmatch on a relative path with "/". Raises BadGlob.

    `[id]` matches the class and the very text `[id]`. Without `hidden`, wildcards match no name that starts with a dot
    unless the pattern spells that dot.
    """
    if "\0" in pattern:
        raise BadGlob("the pattern holds a NUL character")
    if any("\ud800" <= c <= "\udfff" and not "\udc80" <= c <= "\udcff" for c in pattern):
        raise BadGlob("the pattern holds half a character, which no file name can")
    choices = []
    for one in expand(_plain(pattern)):
        choices.append(_translate(one, hidden, classes=True))
        if "[" in one:
            choices.append(_translate(one, hidden, classes=False))
    try:
        return re.compile("|".join(f"(?:{c})" for c in choices), re.DOTALL)
    except (re.error, OverflowError) as e:
        raise BadGlob(f"the pattern {pattern!r} can't be read: {e}") from None


def _plain(pattern: str) -> str:
    while pattern.startswith("./"):
        pattern = pattern[2:]
    return re.sub(r"/{2,}", "/", pattern)


def expand(pattern: str) -> list[str]:
    """Braces written out; an unclosed brace, or one without a comma, stays as it is. Raises BadGlob above 256 patterns."""
    done: list[str] = []
    queue = [pattern]
    while queue:
        if len(queue) + len(done) > _MOST:
            raise BadGlob(f"the braces of {pattern!r} stand for more than {_MOST} patterns")
        one = queue.pop(0)
        found = _braces(one)
        if found is None:
            done.append(one)
        else:
            start, stop, options = found
            queue += [one[:start] + option + one[stop:] for option in options]
    return list(dict.fromkeys(done))


def _braces(pattern: str) -> tuple[int, int, list[str]] | None:
    """The first pair of braces with a comma at its own level: start, stop and its options."""
    for start, char in enumerate(pattern):
        if char != "{":
            continue
        depth, options, at = 0, [], start + 1
        for i in range(start, len(pattern)):
            if pattern[i] == "{":
                depth += 1
            elif pattern[i] == "," and depth == 1:
                options.append(pattern[at:i])
                at = i + 1
            elif pattern[i] == "}":
                depth -= 1
                if depth == 0:
                    if options:
                        return start, i + 1, [*options, pattern[at:i]]
                    break
    return None


def _translate(pattern: str, hidden: bool, classes: bool) -> str:
    segments = pattern.split("/")
    out: list[str] = []
    for i, segment in enumerate(segments):
        last = i == len(segments) - 1
        if segment == "**":
            name = r"[^/]+" if hidden else r"(?!\.)[^/]+"
            out.append(rf"{name}(?:/{name})*" if last else rf"(?:{name}/)*")
        else:
            out.append(_segment(segment, hidden, classes) + ("" if last else "/"))
    return "".join(out)


def _segment(segment: str, hidden: bool, classes: bool) -> str:
    out: list[str] = []
    at = 0
    while at < len(segment):
        char = segment[at]
        guard = r"(?!\.)" if at == 0 and not hidden else ""
        if char == "*":
            while segment[at : at + 1] == "*":
                at += 1
            out.append(guard + r"[^/]*")
            continue
        if char == "?":
            out.append(guard + r"[^/]")
        elif char == "[" and classes and (end := _class_end(segment, at)):
            inner = segment[at + 1 : end]
            negated = inner[:1] in ("!", "^")
            body = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner[1:] if negated else inner)
            spelled = re.escape(segment[at : end + 1])
            chosen = f"[{'^' if negated else ''}{body}]"
            out.append(guard + (rf"(?:(?!/){chosen}|{spelled})" if _valid(chosen) else spelled))
            at = end
        elif char == "\\" and at + 1 < len(segment):
            at += 1
            out.append(re.escape(segment[at]))
        else:
            out.append(re.escape(char))
        at += 1
    return "".join(out) or "(?!)"


def _valid(char_class: str) -> bool:
    """A range may run backwards (`[...sign-in]`): then the brackets are only text."""
    try:
        re.compile(char_class)
    except re.error:
        return False
    return True


def _class_end(segment: str, start: int) -> int:
    """The index of the bracket that closes the class, 0 if none does. A bracket right after the start is literal."""
    at = start + 1
    if segment[at : at + 1] in ("!", "^"):
        at += 1
    end = segment.find("]", at + 1)
    return end if end > 0 else 0


def fixed_prefix(pattern: str) -> str:
    """The folders at the pattern's start that hold no wildcard, "" if there are none."""
    segments = _plain(pattern).split("/")[:-1]
    fixed = []
    for segment in segments:
        if re.search(r"[*?\[{\\]", segment):
            break
        fixed.append(segment)
    return "/".join(fixed)


def names_hidden(pattern: str) -> bool:
    """Does the pattern spell a name that starts with a dot?"""
    return re.search(r"(?:^|[/{,])\.(?![./]|$)", _plain(pattern)) is not None
