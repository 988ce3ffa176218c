"""A command line as a shell reads it, and a further word for it, quoted so that the shell takes it for nothing but text."""

from __future__ import annotations

from aicli.clean import sanitise
from aicli.late import dataclass

_BREAKS = "><=;|&(:"
"""Behind one of them, unless it is quoted, bash lets the word begin that it completes."""
_SAFE = "_-./:=@%+,"
_SAFE_IN_POWERSHELL = "_-./:=+"
_QUOTES_OF_POWERSHELL = "'‘’‚‛"


@dataclass(frozen=True)
class Typed:
    """`words` are whole, `current` is being typed. bash leaves its `head` as it is; `quote` is the one open, or ""."""

    words: tuple[str, ...]
    current: str
    head: str
    quote: str


def typed(line: str) -> Typed:
    """Quotes and backslashes as a shell reads them; an open quote is forgiven."""
    words: list[str] = []
    word: str | None = None
    head = quote = ""
    before_quote = ""
    escaped = False
    for char in line:
        if escaped:
            word, escaped = (word or "") + char, False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote and char == quote:
            quote = ""
        elif quote:
            word = (word or "") + char
        elif char in "'\"":
            word = before_quote = word or ""
            quote = char
        elif char in " \t\n":
            words += [word] if word is not None else []
            word, head = None, ""
        else:
            word = (word or "") + char
            head = word if char in _BREAKS else head
    return Typed(tuple(words), word or "", before_quote if quote else head, quote)


def offerable(value: str) -> bool:
    """May it stand on a line and on a terminal? Not with a control, hidden or reversing character in it."""
    return "\t" not in value and sanitise(value, keep_newlines=False) == value


def for_bash(value: str, line: Typed) -> str:
    """What bash is to put in place of the part of the word that it completes; "" where that can't be quoted."""
    rest = value[len(line.head) :]
    if line.quote == "'":
        return rest.replace("'", "'\\''")
    if line.quote:  # a `!` there is history's, and a backslash before it would stay
        return "" if "!" in rest else "".join("\\" + c if c in '$`"\\' else c for c in rest)
    return "".join("\\" + c if c.isascii() and not (c.isalnum() or c in _SAFE) else c for c in rest)


def for_powershell(value: str) -> str:
    """The value, in single quotes if it is more than a plain word."""
    if all(c.isalnum() or c in _SAFE_IN_POWERSHELL for c in value):
        return value
    return "'" + "".join(c * 2 if c in _QUOTES_OF_POWERSHELL else c for c in value) + "'"
