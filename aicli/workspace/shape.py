"""A chain of character classes that stands in every match of a pattern: looked for in a tenth of the pattern's own time.

In bytes where each is replaced by the number of its class the chain is a plain text, which is found at the speed of
memory: `\\d+$` asks for a digit before a line's end.
"""

from __future__ import annotations

import re

from aicli.workspace.translate import TOKEN

_ENDS = frozenset(b"\r\n")
_BEYOND = frozenset(range(0x80, 0x100))
"""The bytes of characters beyond ASCII, of which a class may hold some: several in a row for one character."""
_LONGEST = 24
_REPEAT = re.compile(r"\{(\d*)(,?)(\d*)\}")


def shape(pattern: str, ignore_case: bool = False, beyond: bool = False) -> tuple[str, str]:
    """The best chain of a pattern for lines of ASCII, or of UTF-8 when it is to hold `beyond` ASCII: a table for
    bytes.translate (as latin-1) and what to look for in its result, between line ends; both "" when there is none."""
    chains = [part for chain in _chains(pattern, ignore_case, beyond) for part in _told_apart(chain)]
    if not chains:
        return "", ""
    best = max(chains, key=lambda chain: (len(chain), -sum(map(len, chain))))
    numbers = {members: chr(number) for number, members in enumerate(dict.fromkeys(best), 1)}
    kinds = {byte: number for members, number in numbers.items() for byte in members}
    return "".join(kinds.get(byte, "\0") for byte in range(256)), "".join(numbers[members] for members in best)


def _chains(pattern: str, ignore_case: bool, beyond: bool) -> list[list[frozenset[int]]]:
    """Bytes that stand side by side in every match; [] for any but the plainest syntax."""
    tokens: list[tuple[str, str]] = []
    at = depth = 0
    while at < len(pattern):
        token = TOKEN.match(pattern, at)
        if token is None or token[0] in ("{}", "{,}") or (depth == 0 and token[0] == "|") or not token[0].isascii():
            return []
        at = token.end()
        if token.lastgroup == "group":
            depth += -1 if token[0] == ")" else 1
        if depth == 0:
            tokens.append((str(token.lastgroup), token[0]))
    return _runs(tokens, re.IGNORECASE if ignore_case else re.NOFLAG, beyond)


def _runs(tokens: list[tuple[str, str]], flags: re.RegexFlag, beyond: bool) -> list[list[frozenset[int]]]:
    chains: list[list[frozenset[int]]] = [[]]
    anchors: set[str] = set()
    for (kind, text), (following, repeat) in zip(tokens, [*tokens, ("", "")][1:], strict=True):
        if kind == "repeat" or text in (r"\b", r"\B"):
            continue
        if text in ("^", "$"):
            chains[-1] += [] if text in anchors else [_ENDS]  # the second of two in one place asks for nothing more
            anchors.add(text)
            continue
        least, most = _times(repeat) if following == "repeat" else (1, 1)
        if most:
            anchors.clear()
        if kind == "group" or text == ".":
            chains.append([])
            continue
        members = _members(text, flags)
        if beyond and (kind == "escape" or text.startswith("[^") or "\\" in text or flags):
            members |= _BEYOND
        chains[-1] += [members] * min(least, _LONGEST)
        if least != most or least > _LONGEST:
            chains.append([members] if least else [])
    return [chain for chain in chains if chain]


def _times(repeat: str) -> tuple[int, int]:
    """How often at least and at most; -1 for no end."""
    found = _REPEAT.match(repeat)
    if found is None:
        return {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[repeat[0]]
    least = int(found[1] or 0)
    return least, (least if not found[2] else int(found[3]) if found[3] else -1)


def _members(text: str, flags: re.RegexFlag) -> frozenset[int]:
    one = re.compile(text, flags)
    return frozenset(byte for byte in range(128) if one.match(chr(byte)))


def _told_apart(chain: list[frozenset[int]]) -> list[list[frozenset[int]]]:
    """The longest parts of a chain in which any two classes are equal or share nothing, and where a character that may
    be of several bytes stands first or last."""
    parts: list[list[frozenset[int]]] = []
    part: list[frozenset[int]] = []
    for members in chain:
        while not all(other == members or other.isdisjoint(members) for other in part) or any(
            not _BEYOND.isdisjoint(inner) for inner in part[1:]
        ):
            parts.append(part)
            part = part[1:]
        part = [*part, members]
    return [part for part in [*parts, part] if set(part) - {_ENDS}]
