"""Markdown inside one line: code, strong, emphasis, strike and links, as spans; says up to where nothing is open."""

from __future__ import annotations

import re

from aicli.ui.cells import Line, Span

CODE, STRONG, EM, STRIKE, DIM = "36", "1", "3", "9", "2"
_TOKEN = re.compile(r"(`+)|(\*\*\*|\*\*|\*|___|__|_|~~)|(!?\[)|(\\[!-/:-@\[-`{-~])|(<br\s*/?>)")
_LINK = re.compile(
    r"!?\[([^\[\]\n]{0,300})\]\(\s*<?([^()\s<>]{0,500}(?:\([^()\s]*\)[^()\s<>]*)?)>?(?:\s+\"[^\"]*\")?\s*\)"
)
OPEN_LIMIT = 400
"""A mark that nothing closed within so many characters is text."""


def add(*styles: str) -> str:
    return ";".join(s for s in styles if s)


def _closes(text: str, mark: str, start: int) -> int:
    """Where `mark` closes after `start`, or -1."""
    at = start
    while True:
        at = text.find(mark, at)
        if at < 0:
            return -1
        before = text[at - 1]
        after = text[at + len(mark)] if at + len(mark) < len(text) else " "
        doubled = after == mark[0] and len(mark) < 3
        if before.isspace() or before == "\\" or doubled or (mark[0] == "_" and (after.isalnum() or after == "_")):
            at += len(mark) + (1 if doubled else 0)
            continue
        return at


def _opens(text: str, at: int, mark: str) -> bool:
    after = text[at + len(mark) : at + len(mark) + 1]
    if not after or after.isspace():
        return False
    return not (mark[0] == "_" and at and (text[at - 1].isalnum() or text[at - 1] == "_"))


class _Reader:
    def __init__(self, text: str, base: str, final: bool) -> None:
        self.text, self.base, self.final = text, base, final
        self.spans: list[Span] = []
        self.stopped: int | None = None

    def put(self, text: str, style: str = "") -> None:
        if text:
            self.spans.append((text, add(self.base, style)))

    def unclosed(self, at: int) -> bool:
        """Is the mark at `at` still to be closed by text that has not come yet? Then reading stops there."""
        if self.final or len(self.text) - at > OPEN_LIMIT:
            return False
        self.stopped = at
        return True

    def code(self, at: int, ticks: str) -> int:
        end = re.compile(rf"(?<!`){ticks}(?!`)").search(self.text, at + len(ticks))
        if end is None or (not self.final and end.end() == len(self.text)):
            if not self.unclosed(at):
                self.put(ticks)
            return at + len(ticks)
        code = self.text[at + len(ticks) : end.start()]
        self.put(code[1:-1] if code.startswith(" ") and code.endswith(" ") and code.strip() else code, CODE)
        return end.end()

    def mark(self, at: int, mark: str) -> int:
        after = at + len(mark)
        if not self.final and after == len(self.text):
            self.stopped = at
            return after
        if not _opens(self.text, at, mark):
            self.put(mark)
            return after
        end = _closes(self.text, mark, after)
        if end < 0 or (not self.final and end + len(mark) == len(self.text)):
            if not self.unclosed(at):
                self.put(mark)
            return after
        style = {"*": EM, "_": EM, "**": STRONG, "__": STRONG, "~~": STRIKE}.get(mark, f"{STRONG};{EM}")
        self.spans.extend(inline(self.text[after:end], add(self.base, style))[0])
        return end + len(mark)

    def link(self, at: int, mark: str) -> int:
        found = _LINK.match(self.text, at)
        if found:
            label, target = found.groups()
            self.spans.extend(inline(label, add(self.base, "4"))[0])
            if target and target != label and not target.startswith("#"):
                self.put(f" ({target})", DIM)
            return found.end()
        rest = self.text[at : at + OPEN_LIMIT]
        if not self.final and ("]" not in rest or rest.endswith("]") or ("](" in rest and ")" not in rest)):
            self.stopped = at if self.unclosed(at) else None
            if self.stopped is not None:
                return at + len(mark)
        self.put(mark)
        return at + len(mark)


def inline(text: str, base: str = "", final: bool = True) -> tuple[Line, int]:
    """(spans, how much of `text` they stand for). Unless `final`, a mark that may yet be closed stops the reading."""
    reader = _Reader(text, base, final)
    at = 0
    while at < len(text) and reader.stopped is None:
        token = _TOKEN.search(text, at)
        if token is None:
            reader.put(text[at:])
            at = len(text)
            break
        reader.put(text[at : token.start()])
        at = token.start()
        ticks, mark, bracket, escaped, _ = token.groups()
        if ticks:
            at = reader.code(at, ticks)
        elif mark:
            at = reader.mark(at, mark)
        elif bracket:
            at = reader.link(at, bracket)
        elif escaped:
            reader.put(escaped[1])
            at = token.end()
        else:
            reader.put(" ")
            at = token.end()
    return tuple(reader.spans), len(text) if reader.stopped is None else reader.stopped
