"""A Python pattern as one for ripgrep that finds at least the same lines: what lets ripgrep choose where to look."""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"""(?P<escape>\\[dDwWsSbB])
    |(?P<literal>\\[!-/:-@[-`{-~]|[\w \t"'#%&,/:;<=>@`~!-])
    |(?P<class>\[\^?(?:\\[dws\]\\^.*+?(){}|/$-]|[\w .,:;+*?()/=<>"'#%@!$|{}-])+\])
    |(?P<group>\((?!\?)|\(\?:|\))
    |(?P<repeat>(?:[*+?]|\{[0-9]{0,2}(?:,[0-9]{0,2})?\})\??(?![*+?{]))
    |(?P<other>[.^$|])""",
    re.VERBOSE | re.ASCII,
)
_SENSE = {
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": "[0-9A-Za-z_]",
    r"\W": "[^0-9A-Za-z_]",
    r"\s": r"[\t\r\x0b\x0c\x1c-\x20]",
    r"\S": r"[^\t\r\x0b\x0c\x1c-\x20]",
    r"\b": r"\b",
    r"\B": r"\B",
    "^": r"(?:^|\r)",
    "$": r"(?:$|\r)",
}
_IN_CLASS = {r"\d": "0-9", r"\w": "0-9A-Za-z_", r"\s": r"\t\r\x0b\x0c\x1c-\x20"}
_SET = re.compile(r"--|&&|~~|\|\|")
"""What only ripgrep takes for an operation on sets."""
_PLACES = frozenset({"^", "$", r"\b", r"\B"})
_PART = re.compile(r"\\.|.")
_BEYOND = r"[\x00\x80-\xff]"
"""A byte that is no ASCII text: what the two make of it may differ, so a line that holds one is always found."""


def translated(pattern: str) -> str:
    """For single lines (no multi-line search); "" for a pattern with anything but the plainest syntax.

    It finds too much: every line that is not all ASCII, an anchor at a carriage return. Python looks again.
    """
    out: list[str] = []
    tokens: list[str] = []
    at = 0
    while at < len(pattern):
        token = TOKEN.match(pattern, at)
        if token is None:
            return ""
        at = token.end()
        kind, text = token.lastgroup, token.group()
        tokens.append(text)
        if kind == "class" and _SET.search(text):
            return ""
        if kind == "repeat" and text.rstrip("?").strip("{}") in ("", ","):
            return ""
        if kind == "repeat":
            out.append(text.replace("{,", "{0,"))
        elif kind == "class":
            out.append(_PART.sub(lambda part: _IN_CLASS.get(part[0], part[0]), text))
        elif kind == "literal":
            out.append(text[-1] if text[-1].isalnum() else f"\\x{ord(text[-1]):02x}")
        else:
            out.append(_SENSE.get(text, text))
    return f"(?-u:(?:{''.join(out)})|{_BEYOND})" if pattern.isascii() and _anchors_fit(tokens) else ""


def _anchors_fit(tokens: list[str]) -> bool:
    """Does each anchor stand at an end of its alternative? One that may take a carriage return must not have another
    condition on the same place beside it."""
    depth = 0
    for i, text in enumerate(tokens):
        depth += text.startswith("(") - (text == ")")
        before, after = tokens[:i], tokens[i + 1 :]
        if text == "$" and ((after and after[0] not in ("|", ")")) or (depth and not _PLACES.isdisjoint(after))):
            return False
        if text == "^" and (
            (before and before[-1] not in ("|", "(", "(?:")) or (depth and not _PLACES.isdisjoint(before))
        ):
            return False
    return bool(tokens)
