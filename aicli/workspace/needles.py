"""Texts of which every match of a regular expression must hold one: what lets a search pass over most of a file unread."""

from __future__ import annotations

import re

from aicli.late import regex

_SKIP = {"x": 2, "u": 4, "U": 8}
_QUANTIFIER = regex(r"\{\d*,?\d*\}")


def needles(pattern: str) -> tuple[str, ...]:
    """One literal text per top-level alternative, no single letter or digit of ASCII; () when any alternative has none.

    Careful, not clever: a text it names is always needed, many that are needed it does not name. The pattern is valid.
    """
    runs: list[list[str]] = [[]]
    run = ""
    at = 0

    def cut() -> None:
        nonlocal run
        if run:
            runs[-1].append(run)
        run = ""

    while at < len(pattern):
        char = pattern[at]
        if char == "|":
            cut()
            runs.append([])
        elif char == "\\":
            literal, at = _escape(pattern, at)
            if literal:
                run += literal
            else:
                cut()
            continue
        elif char == "[":
            cut()
            at = _after_class(pattern, at)
            continue
        elif char == "(":
            cut()
            if re.match(r"\(\?[aiLmsux#-]", pattern[at:]):
                return ()
            at = _after_group(pattern, at)
            continue
        elif char in "*?" or (char == "{" and _QUANTIFIER.match(pattern, at)):
            run = run[:-1]
            cut()
            if char == "{":
                at = pattern.index("}", at)
        elif char in ".^$+":
            cut()
        else:
            run += char
        at += 1
    cut()
    best = [max(found, key=len, default="") for found in runs]
    return tuple(dict.fromkeys(best)) if all(map(_tells, best)) else ()


def _tells(text: str) -> bool:
    """Is it rarer than a single letter or digit of ASCII, which nearly every line holds?"""
    return len(text) >= 2 or (text != "" and not (text.isalnum() and text.isascii()))


def _escape(pattern: str, at: int) -> tuple[str, int]:
    """The literal that an escape stands for ("" if it is none that is simple) and the index after it."""
    char = pattern[at + 1 : at + 2]
    if not char.isalnum():
        return char, at + 2
    if char in _SKIP:
        return "", at + 2 + _SKIP[char]
    if char == "N":
        return "", pattern.find("}", at) + 1 or len(pattern)
    if char.isdigit():
        end = at + 2
        while end < at + 4 and pattern[end : end + 1].isdigit():
            end += 1
        return "", end
    return "", at + 2


def _after_class(pattern: str, at: int) -> int:
    at += 1
    if pattern[at : at + 1] == "^":
        at += 1
    if pattern[at : at + 1] == "]":
        at += 1
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _after_group(pattern: str, at: int) -> int:
    depth = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 2
            continue
        if char == "[":
            at = _after_class(pattern, at)
            continue
        depth += (char == "(") - (char == ")")
        at += 1
        if depth == 0:
            break
    return at
