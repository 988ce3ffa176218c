"""A help page in another language: the parser's pieces translated, and wrapped by cells where it would count letters."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from aicli.ui.cells import pad_right, plain, width, wrap
from aicli.ui.translate import said

WIDEST, NARROWEST, FIRST_COLUMN = 80, 20, 30
_USAGE = (("[OPTIONS]", "[选项]"), ("COMMAND [ARGS]...", "命令 [参数]..."))


class HelpPage:
    """What the parser writes a page into, instead of its own formatter; the names are the parser's."""

    def __init__(self, language: str, columns: int | None = None) -> None:
        self.language = language
        self.width = 1_000  # what the parser cuts texts by: here they are wrapped
        self._columns = max(NARROWEST, min(columns or shutil.get_terminal_size().columns, WIDEST) - 1)
        self.current_indent = 0
        self._written: list[str] = []

    def write(self, string: str) -> None:
        self._written.append(string)

    def getvalue(self) -> str:
        return "".join(self._written)

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        for english, other in _USAGE:
            args = args.replace(english, other)
        self._fill(f"{said('Usage', self.language)}：{prog} {args}", "", "    ")

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':{self.current_indent}}{said(heading, self.language)}：\n")

    def write_paragraph(self) -> None:
        if self._written:
            self.write("\n")

    def write_text(self, text: str) -> None:
        indent = " " * self.current_indent
        paragraphs = inspect.cleandoc(text).split("\n\n")
        for i, paragraph in enumerate(paragraphs):
            if i:
                self.write("\n")
            self._fill(said(" ".join(paragraph.split()), self.language), indent, indent)

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = FIRST_COLUMN, col_spacing: int = 2) -> None:
        """Names at the left, what they are at the right; below each other where the page is narrow."""
        widest = max((width(name) for name, _ in rows), default=0)
        narrow = self._columns < 60
        column = 4 if narrow else min(widest, col_max) + col_spacing
        indent = " " * self.current_indent
        for name, text in rows:
            shown = self._described(text)
            if not shown:
                self._fill(name, indent, indent)
            elif not narrow and width(name) <= column - col_spacing:
                self._fill(shown, indent + pad_right(name, column), indent + " " * column)
            else:
                self._fill(name, indent, indent + "  ")
                self._fill(shown, indent + " " * column, indent + " " * column)

    def _described(self, text: str) -> str:
        """A description; what the parser adds in brackets (default, range, required) is translated by itself."""
        body, opened, added = text.rpartition("[")
        if not (opened and added.endswith("]") and (not body or body.endswith("  "))):
            return said(" ".join(text.split()), self.language)
        parts = "；".join(said(part, self.language) for part in added[:-1].split("; "))
        return f"{said(' '.join(body.split()), self.language)} [{parts}]".strip()

    def _fill(self, text: str, first: str, rest: str) -> None:
        for line in wrap(((text, ""),), self._columns, first=((first, ""),), rest=((rest, ""),)):
            self.write(plain(line).rstrip() + "\n")

    def indent(self) -> None:
        self.current_indent += 2

    def dedent(self) -> None:
        self.current_indent -= 2

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.write_paragraph()
        self.write_heading(name)
        with self.indentation():
            yield

    @contextmanager
    def indentation(self) -> Iterator[None]:
        self.indent()
        try:
            yield
        finally:
            self.dedent()
