"""English sentences of the program in the person's language, found by their templates at the place where they are shown.

Lower layers, the model and machines read English; what a person sees goes through `said`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path

from aicli.late import dataclass, regex
from aicli.ui.language import spoken

_SLOT = regex(r"\{(\d+)\}")
_PLACE = regex(r"[^\s]*[^\sA-Za-z][^\s]*")
"""A file and line, a variable: what stands before a complaint."""
_JOINTS = ((". ", "。"), ("? ", "？"), ("; ", "；"), (": ", "："))
_ENDS = _JOINTS[:3]
_MOST_JOINTS, _LONGEST = 20, 2_000
"""Longer texts are not ours: a page, a program's output."""
_TELLING = 6
"""Letters."""


@dataclass
class Template:
    """An English sentence with numbered slots, and the same in another language."""

    other: str
    source: str
    _made: list[re.Pattern[str]] = field(default_factory=list)

    @property
    def literals(self) -> list[str]:
        return [part for part in _SLOT.split(self.source)[::2] if part]

    @property
    def weak(self) -> bool:
        """So few letters of its own that it could fit somebody else's sentence."""
        own = "".join(self.literals)
        return sum(map(str.isalpha, own)) < _TELLING and not ({":", "`"} & set(own) or "  " in own)

    def match(self, text: str) -> re.Match[str] | None:
        """The slots' texts, where the whole text fits."""
        if not self._made:  # hundreds are known and few are ever looked for
            parts = _SLOT.split(self.source)
            pattern = "".join("(.*?)" if i % 2 else re.escape(part) for i, part in enumerate(parts))
            self._made.append(re.compile(pattern, re.DOTALL))
        found = self._made[0].fullmatch(text)
        return None if found and self.weak and any(" " in part for part in found.groups()) else found


@dataclass(frozen=True)
class Catalogue:
    """`whole`: sentences without slots; `templates`: (longest literal, template), the most telling ones first."""

    whole: Mapping[str, str]
    templates: tuple[tuple[str, Template], ...]


@lru_cache(maxsize=2)
def entries(language: str) -> Mapping[str, str]:
    """Every English sentence or template with its translation, from all files of the language's folder.

    The files are TOML of one plain form, a pair of quoted strings a line, which JSON's reader takes twenty times as fast.
    """
    import json

    found = {}
    for file in sorted((Path(__file__).parent / "words" / language).glob("*.toml")):
        for row in file.read_text("utf-8").split("\n"):
            if row.startswith('"'):
                english, _, other = row.partition('" = "')
                found[json.loads(english + '"')] = json.loads('"' + other)
    return found


@lru_cache(maxsize=2)
def _catalogue(language: str) -> Catalogue:
    whole, templates = {}, []
    for source, other in entries(language).items():
        source, other = _bare(source.strip()), _bare(other.strip(), "。")
        if _SLOT.search(source):
            templates.append(Template(other, source))
        else:
            whole[source] = other
    templates.sort(key=lambda t: -sum(map(len, t.literals)))
    return Catalogue(whole, tuple((max(t.literals, key=len, default=""), t) for t in templates))


def _bare(text: str, stop: str = ".") -> str:
    """Without its full stop: whoever joins sentences drops or adds it. An ellipsis stays."""
    return text[:-1] if text.endswith(stop) and not text.endswith(stop * 2) else text


class _Slot(str):
    """What stood in a slot: `{0}` is translated where it is a sentence of ours, `{0:t}` where it is a word of ours too."""

    language = ""

    def __format__(self, spec: str) -> str:
        if spec == "t" or " " in self:
            return _other(str(self), self.language, joined=spec == "t") or str(self)
        return str(self)

    @classmethod
    def of(cls, text: str, language: str) -> _Slot:
        slot = cls(text)
        slot.language = language
        return slot


@lru_cache(maxsize=1024)
def _other(text: str, language: str, *, joined: bool = True) -> str:
    """The translation, "" where there is none. Sentences that were joined by others are taken apart."""
    core = text.strip()
    found = _matched(_bare(core), language) if core else ""
    if found:
        stop = "。" if core.endswith(".") and not core.endswith("..") and found[-1:] not in "。？！…" else ""
        lead = text[: len(text) - len(text.lstrip())]
        return lead + found + stop + text[len(text.rstrip()) :]
    return _taken_apart(text, language) if joined else ""


def _matched(core: str, language: str) -> str:
    catalogue = _catalogue(language)
    if core in catalogue.whole:
        return catalogue.whole[core]
    if several := _taken_apart(core, language, _ENDS, partly=False):
        return several  # a slot must not swallow the next sentence
    place, colon, rest = core.partition(": ")
    if colon and _PLACE.fullmatch(place) and (told := _other(rest, language)):
        return f"{place}：{told}"
    for literal, template in catalogue.templates:
        if literal in core and (match := template.match(core)):
            return template.other.format(*(_Slot.of(part, language) for part in match.groups()))
    return ""


def _taken_apart(
    text: str, language: str, joints: tuple[tuple[str, str], ...] = _JOINTS, *, partly: bool = True
) -> str:
    """Sentences joined by others: where both sides are known, else (`partly`) where one is. A lone word is no sentence."""
    half = ""
    if sum(text.count(joint) for joint, _ in joints) > _MOST_JOINTS:
        return half
    for joint, other in joints:
        head, found, rest = text.partition(joint)
        while found:
            first = _other(head, language, joined=False) if " " in head else ""
            second = _other(rest, language, joined=partly) if (first or partly) and " " in rest else ""
            whole = f"{_bare(first or head, '。')}{other}{second or rest}"
            if first and second:
                return whole
            half = half or (whole if first or second else "")
            more, found, rest = rest.partition(joint)
            head = f"{head}{joint}{more}"
    return half if partly else ""


def said(text: str, language: str = "") -> str:
    """The text in the language (the person's own where none is named); as it is where nothing is known of it. Pure."""
    language = language or spoken()
    return text if language == "en" or len(text) > _LONGEST else _other(text, language) or text


def exactly(text: str, language: str) -> str:
    """The same for a text that may be anybody's: only where it is a sentence of ours letter by letter."""
    found = "" if language == "en" else _catalogue(language).whole.get(_bare(text), "")
    return found + ("。" if text.endswith(".") else "") if found else text


def lines(text: str, language: str = "") -> str:
    """The same line by line, for tables and lists."""
    language = language or spoken()
    return text if language == "en" else "\n".join(said(row, language) for row in text.split("\n"))


def error_line(message: str, hint: str = "", language: str = "") -> str:
    """An error and what to do about it in one line."""
    language = language or spoken()
    if language == "en":
        return f"{message}{'' if message.endswith(('.', '?')) else '.'} {hint}" if hint else message
    first, second = said(message, language), said(hint, language)
    return f"{first.rstrip('.。')}。{second}" if hint else first
