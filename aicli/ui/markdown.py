"""Markdown as it streams: each line settles once it is final, only a table waits for its end. Linear in the text."""

from __future__ import annotations

import re

from aicli.ui.cells import Line, hard_wrap, width, wrap
from aicli.ui.inline import DIM, inline
from aicli.ui.tables import Table, is_rule, split_row

INDENT = "  "
HEADING, QUOTE = "1;35", "3"
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+")
_FENCE = re.compile(r"( *)(`{3,}|~{3,})[ \t]*([^`]*)$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_BULLET = re.compile(r"( *)([-*+])[ \t]+(\[[ xX]\][ \t]+)?")
_NUMBER = re.compile(r"( *)(\d{1,9}[.)])[ \t]+")
_QUOTE = re.compile(r" {0,3}((?:>[ \t]?)+)")
_UNSURE = re.compile(r" *(?:```.*|~~~.*|[-*+_#>|~`\d][-*+_#>~`\d.) \t\[\]xX]{0,40}|\|.*)?$")
TABLE_ROWS = 40


class MarkdownStream:
    """Feed text, take settled lines; `live()` is what is still open. `close()` settles the rest."""

    def __init__(self, columns: int, base: str = "") -> None:
        self.columns = columns
        self._base = base
        self._tail = ""
        self._settled: list[Line] = []
        self._fence = ""
        self._fence_indent = 0
        self._language = ""
        self._table: Table | None = None
        self._header = ""
        self._open: _Flow | None = None
        self._blank = True  # blank lines at the start and doubled ones are dropped

    def feed(self, text: str) -> list[Line]:
        """The lines that became final with `text`."""
        self._tail += text
        if "\n" in self._tail:
            *whole, self._tail = self._tail.split("\n")
            for line in whole:
                self._line(line.removesuffix("\r"))
        self._advance()
        return self._take()

    def resize(self, columns: int) -> None:
        """What settles from now on has the new width."""
        self.columns = columns
        if self._open is not None:
            self._open.columns = columns

    def live(self) -> list[Line]:
        """What is open now, as it would look if it ended here."""
        if self._table is not None:
            return self._table.lines(self.columns, self._base)[-3:]
        if self._open is not None:
            return self._open.live()
        text = self._header + ("\n" if self._header and self._tail else "") + self._tail
        if not text.strip():
            return []
        rows = [line for row in text.split("\n") for line in hard_wrap(row, self.columns - 2, self._base)]
        return [((INDENT, ""), *line) for line in rows[-3:]]

    def close(self) -> list[Line]:
        if self._tail or self._open is not None:
            self._line(self._tail)
            self._tail = ""
        self._end_header()
        self._end_table()
        while self._settled and not self._settled[-1]:
            self._settled.pop()
        self._fence = ""
        return self._take()

    def _take(self) -> list[Line]:
        lines, self._settled = self._settled, []
        return lines

    def _put(self, lines: list[Line]) -> None:
        self._settled.extend(lines)
        if lines:
            self._blank = not lines[-1]

    def _advance(self) -> None:
        """Lets a long line that is still coming settle what is final of it."""
        if self._open is None:
            if self._fence or self._table or self._header or not self._tail or _UNSURE.match(self._tail):
                return
            self._open = self._flow(self._tail)
            self._tail = ""
        else:
            self._open.raw += self._tail
            self._tail = ""
        lines = self._open.advance(final=False)
        if lines:
            self._put(lines)

    def _flow(self, text: str) -> _Flow:
        """The line's prefix (bullet, number, quote, heading) told apart from its text."""
        heading = _HEADING.match(text)
        if heading:
            return _Flow(text[heading.end() :], self.columns, INDENT, INDENT, HEADING)
        bullet = _BULLET.match(text)
        if bullet:
            box = {"": "", " ": "☐ ", "x": "☑ "}[(bullet[3] or "")[1:2].lower()]
            first = INDENT + self._nest(bullet[1]) + "• " + box
            return _Flow(text[bullet.end() :], self.columns, first, " " * width(first), self._base)
        number = _NUMBER.match(text)
        if number:
            first = INDENT + self._nest(number[1]) + number[2] + " "
            return _Flow(text[number.end() :], self.columns, first, " " * len(first), self._base)
        quote = _QUOTE.match(text)
        if quote:
            bars = INDENT + "│ " * quote[1].count(">")
            return _Flow(text[quote.end() :], self.columns, bars, bars, QUOTE)
        lead = self._nest(text[: len(text) - len(text.lstrip())])
        return _Flow(text.lstrip(), self.columns, INDENT + lead, INDENT + lead, self._base)

    def _nest(self, spaces: str) -> str:
        return " " * min(len(spaces.expandtabs(4)), max(0, self.columns // 4))

    def _line(self, line: str) -> None:
        """One whole source line."""
        if self._open is not None:
            self._open.raw += line
            self._put(self._open.advance(final=True))
            self._open = None
            return
        if self._fence:
            self._code(line)
            return
        if self._table is not None:
            if line.lstrip().startswith("|"):
                self._row(line)
                return
            self._end_table()
        if self._header:
            if is_rule(line) and len(split_row(line)) == len(split_row(self._header)):
                self._table = Table(split_row(self._header), line)
                self._header = ""
                return
            self._end_header()
        self._block(line)

    def _block(self, line: str) -> None:
        fence = _FENCE.match(line)
        if fence:
            self._fence, self._fence_indent, self._language = fence[2], len(fence[1]), fence[3].strip().lower()
            return
        if not line.strip():
            if not self._blank:
                self._settled.append(())
                self._blank = True
            return
        if _RULE.match(line):
            self._put([((INDENT + "─" * min(20, self.columns - 4), DIM),)])
        elif line.lstrip().startswith("|") and line.count("|") > 1:
            self._header = line
        else:
            self._put(self._flow(line).advance(final=True))

    def _end_header(self) -> None:
        if self._header:
            line, self._header = self._header, ""
            self._put(self._flow(line).advance(final=True))

    def _row(self, line: str) -> None:
        if self._table is None:
            return
        self._table.rows.append(split_row(line))
        if len(self._table.rows) >= TABLE_ROWS:
            self._put(self._table.lines(self.columns, self._base, part=True))

    def _end_table(self) -> None:
        if self._table is not None:
            table, self._table = self._table, None
            self._put(table.lines(self.columns, self._base))

    def _code(self, line: str) -> None:
        if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
            self._fence = ""
            return
        lead = len(line) - len(line.lstrip(" "))
        text = line[min(lead, self._fence_indent) :].expandtabs(4)
        style = "36"
        if self._language in ("diff", "patch"):
            style = {"+": "32", "-": "31", "@": "36"}.get(text[:1], "2")
        self._put([(("    ", ""), *part) for part in hard_wrap(text, max(8, self.columns - 4), style)])


class _Flow:
    """One source line, wrapped as it comes: `carry` is laid out but may still grow, `raw` is not read yet."""

    def __init__(self, raw: str, columns: int, first: str, rest: str, base: str) -> None:
        self.raw = raw
        self.columns = columns
        self._first: Line = ((first, "2" if "│" in first else ""),)
        self._rest: Line = ((rest, "2" if "│" in rest else ""),)
        self._base = base
        self._carry: Line = ()

    def advance(self, final: bool) -> list[Line]:
        """The lines that are final now."""
        if not final:
            # The last word may go on, and a wide character may yet get a closing mark.
            stop = max(self.raw.rfind(" ") + 1, len(self.raw) - 40 if not self.raw[-40:].isascii() else 0)
            spans, used = inline(self.raw[:stop], self._base, final=False) if stop > 0 else ((), 0)
            self.raw = self.raw[used:]
        else:
            spans, self.raw = inline(self.raw, self._base)[0], ""
        lines = wrap((*self._carry, *spans), self.columns, first=self._first, rest=self._rest, keep_end=not final)
        if final:
            return lines
        settled = lines[:-1]
        prefix = self._rest if settled else self._first
        self._carry = lines[-1][len(prefix) :]
        if settled:
            self._first = self._rest
        return settled

    def live(self) -> list[Line]:
        spans = (*self._carry, *inline(self.raw, self._base)[0])
        return wrap(spans, self.columns, first=self._first, rest=self._rest)
