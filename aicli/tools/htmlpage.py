"""HTML as Markdown. A program of its own (HTML on stdin, Markdown on stdout), for a page may be made to take for ever."""

from __future__ import annotations

import contextlib
import re
import sys
from html import escape
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import urljoin

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

_DEEPEST = 80
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
_SILENT = frozenset(
    {"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "textarea", "select"}
)
_DROP = ("form", "button", "nav", "dialog")
_BLOCKS = frozenset(
    "address article aside blockquote div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre "  # noqa: SIM905
    "section table ul".split()
)
_CLOSES = {
    "li": ({"li"}, {"ul", "ol"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
    "tr": ({"tr", "td", "th"}, {"table", "tbody", "thead", "tfoot"}),
    "td": ({"td", "th"}, {"tr", "table"}),
    "th": ({"td", "th"}, {"tr", "table"}),
    "tbody": ({"tbody", "thead", "tfoot", "tr", "td", "th"}, {"table"}),
    "thead": ({"tbody", "thead", "tfoot", "tr", "td", "th"}, {"table"}),
    "option": ({"option"}, {"select"}),
}
"""A start tag ends these open elements, looking no further out than those."""


class Tidy(HTMLParser):
    """Writes the page again with every element closed, none nested deeper than a limit, and no scripts or styles."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self.title = ""
        self._open: list[str] = []
        self._silent = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
            return
        if self._silent:
            return
        if tag == "title":
            self._in_title = True
            return
        self._imply(tag)
        if tag in _VOID:
            self.out.append(f"<{tag}{_attributes(attrs)}>")
        elif len(self._open) < _DEEPEST:
            self._open.append(tag)
            self.out.append(f"<{tag}{_attributes(attrs)}>")

    def _imply(self, tag: str) -> None:
        ends, bounds = _CLOSES.get(tag, ({"p"}, {"div", "td", "li"}) if tag in _BLOCKS else (set(), set()))
        for i in range(len(self._open) - 1, max(-1, len(self._open) - 20), -1):
            if self._open[i] in bounds:
                return
            if self._open[i] in ends:
                if tag in ("tr", "tbody", "thead") and i and self._open[i - 1] in ends:
                    continue
                self._close_to(i)
                return

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "title":
            self._in_title = False
        elif not self._silent and tag in self._open:
            self._close_to(len(self._open) - 1 - self._open[::-1].index(tag))

    def _close_to(self, index: int) -> None:
        while len(self._open) > index:
            self.out.append(f"</{self._open.pop()}>")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            self.out.append(escape(data, quote=False))

    def text(self) -> str:
        self.close()
        self._close_to(0)
        return "".join(self.out)


def _attributes(attrs: list[tuple[str, str | None]]) -> str:
    """Those that Markdown has a use for."""
    kept = ((k, v) for k, v in attrs if k in ("href", "src", "alt", "title", "class", "start", "colspan") and v)
    return "".join(f' {k}="{escape(v or "")}"' for k, v in kept)


def markdown(html: str, url: str = "") -> str:
    """Without scripts, styles, forms and menus, links made absolute, the title on top."""
    from bs4 import BeautifulSoup  # these two take 150 ms
    from markdownify import MarkdownConverter

    tidy = Tidy()
    tidy.feed(html)
    soup = BeautifulSoup(tidy.text(), "html.parser")
    for tag in soup.find_all(_DROP):
        tag.decompose()
    _absolute(soup, url)
    text = MarkdownConverter(heading_style="ATX", bullets="-", escape_misc=False).convert_soup(soup)
    text = re.sub(r"[ \t]+\n", "\n", text)
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    title = " ".join(tidy.title.split())[:300]
    return f"# {title}\n\n{text}" if title and title not in text[:500] else text


def _absolute(soup: BeautifulSoup, url: str) -> None:
    for tag in soup.find_all(["a", "img"]):
        name = "href" if tag.name == "a" else "src"
        link = str(tag.get(name, ""))
        if link.startswith(("data:", "javascript:")):
            del tag[name]
        elif link and not link.startswith("#"):
            with contextlib.suppress(ValueError):
                tag[name] = urljoin(url, link)


def main() -> int:
    sys.path.extend(sys.argv[2:])
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stdout.buffer.write(markdown(html, sys.argv[1]).encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
