"""English sentences of the program in the person's language, found by their templates at the place where they are shown.

Lower layers, the model and machines read English; what a person sees goes through `said`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from aicli.late import dataclass, regex
from aicli.ui.language import spoken

_SLOT = regex(r"\{(\d+)\}")
_WORDED = regex(r"\{(\d+):t\}")
_PLACE = regex(r"[^\s]*[^\sA-Za-z][^\s]*")
"""A file and line, a variable: what stands before a complaint."""
_LINE = regex(r"\S+:\d+|AICLI_[A-Z_]+")
"""What stands before a complaint about a setting."""
_JOINTS = {". ": "。", "? ": "？", "; ": "；", ": ": "："}
_JOINT = regex(r"(\. |\? |; |: )")
_MOST_JOINTS, _LONGEST, _LONGEST_WORDS = 12, 2_000, 500
"""Longer texts are not ours: a page, a program's output."""
_WAYS = 12
"""In so many ways at most a text may fit a template."""
_LOOKS = 60
"""So many texts are looked up for one message."""
_TELLING = 6
"""Letters."""
_ENDINGS = frozenset({"", "s", "es"})


@dataclass
class Template:
    """An English sentence with numbered slots, and the same in another language. The slots' texts are anybody's and stay
    as they are; those that the translation marks `:t` are words of the program's own."""

    other: str
    source: str
    _made: list[tuple[list[str], frozenset[int], frozenset[int]]] = field(default_factory=list)

    @property
    def literals(self) -> list[str]:
        return [part for part in _SLOT.split(self.source)[::2] if part]

    @property
    def letters(self) -> int:
        return sum(map(str.isalpha, "".join(self.literals)))

    @property
    def weak(self) -> bool:
        """So few letters of its own that it could fit somebody else's sentence."""
        own = "".join(self.literals)
        return self.letters < _TELLING and not ({":", "`"} & set(own) or "  " in own)

    @property
    def wordy(self) -> bool:
        """Has it two words of its own, and something between any two slots? Else many a sentence fits it."""
        words = [word for word in " ".join(self.literals).split() if any(map(str.isalpha, word))]
        return len(words) > 1 and "" not in self._parts[0][1:-1]

    @property
    def _parts(self) -> tuple[list[str], frozenset[int], frozenset[int]]:
        """Texts around the slots; the slots (by their place) with words of ours, and those with a plural's ending."""
        if not self._made:
            parts = _SLOT.split(self.source)
            worded = set(_WORDED.findall(self.other))
            kept = worded | set(_SLOT.findall(self.other))
            slots = list(enumerate(parts[1::2]))
            ending = {i for i, n in slots if n not in kept and parts[2 * i][-1:].islower()}
            self._made.append((parts[::2], frozenset(i for i, n in slots if n in worded), frozenset(ending)))
        return self._made[0]

    @property
    def worded(self) -> frozenset[int]:
        return self._parts[1]

    @property
    def foreign(self) -> list[int]:
        """The slots, by their place, whose text must stand in the translation."""
        around, worded, ending = self._parts
        return [i for i in range(len(around) - 1) if i not in worded | ending]

    def ways(self, text: str) -> list[list[str]]:
        """Each way in which the whole text fits: the slots' texts in their order; [] also where there are too many."""
        around, _, ending = self._parts
        first, last = around[0], around[-1]
        if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
            return []
        found: list[list[str]] = []
        open_ways: list[tuple[int, list[str]]] = [(len(first), [])]
        end = len(text) - len(last)
        steps = 0
        while open_ways:
            at, slots = open_ways.pop()
            if len(slots) == len(around) - 2:
                found += [[*slots, text[at:end]]] if len(slots) not in ending or text[at:end] in _ENDINGS else []
                continue
            literal, place = around[len(slots) + 1], at
            while (place := text.find(literal, place, end)) >= 0:
                steps += 1
                if steps > 3 * _WAYS:
                    return []
                if len(slots) not in ending or text[at:place] in _ENDINGS:
                    open_ways.append((place + len(literal), [*slots, text[at:place]]))
                place += 1
                if not literal and place > end:
                    break
        names = None if self.weak else 0 if self.letters else 1  # how many of its slots are a name, without blanks
        fits = [way for way in found if not any(" " in slot for slot in way[:names])]
        return fits if len(fits) <= _WAYS else []

    def generalises(self, other: Template) -> bool:
        """Does all that fits the other fit this one?"""
        return bool(self.ways(_SLOT.sub(lambda n: f"X{n[1]}", other.source)))


@dataclass(frozen=True)
class Catalogue:
    """`whole`: sentences without slots; `templates`: (how it begins, its end, its longest literal, itself), the most telling
    ones first."""

    whole: Mapping[str, str]
    templates: tuple[tuple[str, str, str, Template], ...]


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
    edges = ((_SLOT.split(t.source), t) for t in templates)
    return Catalogue(whole, tuple((parts[0], parts[-1], max(parts[::2], key=len), t) for parts, t in edges))


def _bare(text: str, stop: str = ".") -> str:
    """Without its full stop: whoever joins sentences drops or adds it. An ellipsis stays."""
    return text[:-1] if text.endswith(stop) and not text.endswith(stop * 2) else text


Fit: TypeAlias = tuple[Template, list[list[str]]]
"""A template, and the ways in which a text fits it."""


def _untold(text: str) -> int:
    """Letters that were left in English."""
    return sum(char.isascii() and char.isalpha() for char in text)


class _Reader:
    """Reads one message. What it can't read for certain stays English."""

    def __init__(self, language: str) -> None:
        self._catalogue = _catalogue(language)
        self._left = _LOOKS
        self._known: dict[str, tuple[str, bool]] = {}

    def whole(self, text: str) -> str:
        """The translation of a text that is one sentence of ours, "" for any other."""
        core = text.strip()
        found = self._matched(_bare(core))[0] if core else ""
        if not found:
            return ""
        stop = "。" if core.endswith(".") and not core.endswith("..") and found[-1:] not in "。？！…" else ""
        return text[: len(text) - len(text.lstrip())] + found + stop + text[len(text.rstrip()) :]

    def any(self, text: str) -> str:
        """The same, also for sentences that were joined by others."""
        core = text.strip()
        if not core:
            return ""
        place, colon, rest = core.partition(": ")
        if colon and _LINE.fullmatch(place) and (told := self.any(rest)):
            return f"{place}：{told}"
        found, fits = self._matched(_bare(core))
        if fits:
            return self.whole(text) if found else ""
        return self._joined(text)

    def _matched(self, core: str) -> tuple[str, bool]:
        """(the translation or "", does the text fit a sentence of ours?)"""
        if core in self._catalogue.whole:
            return self._catalogue.whole[core], True
        if core not in self._known:
            self._left -= 1
            self._known[core] = self._looked_up(core) if self._left >= 0 else ("", False)
        return self._known[core]

    def _looked_up(self, core: str) -> tuple[str, bool]:
        fits = [
            (template, ways)
            for first, last, literal, template in self._catalogue.templates
            if core.startswith(first) and core.endswith(last) and literal in core and (ways := template.ways(core))
        ]
        readings = [told for template, ways in fits if (told := self._reading(template, ways, fits))]
        return min(readings, key=_untold, default=""), bool(fits)

    def _reading(self, template: Template, ways: list[list[str]], fits: Sequence[Fit]) -> str:
        """The text as this sentence; "" where it may as well be another one, of which a name would be lost then."""
        found, way, known = self._filled(template, ways)
        words = [way[i] for i in template.worded] if found else []
        for other, its in fits:
            inside = any(all(literal in own for literal in other.literals) for own in words)
            kept = all(slots[i] in found for slots in its for i in other.foreign)
            special = other.generalises(template) and (known or template.letters > other.letters)
            if other.wordy and not (inside or kept or special):
                return ""
        return found

    def _filled(self, template: Template, ways: list[list[str]]) -> tuple[str, list[str], bool]:
        """(the translation with the slots' texts, those, are all words of ours in it known?), of the ways that the text
        fits that in which most words are known. "" where two of them say different things."""
        order = _SLOT.split(template.source)[1::2]
        best: dict[str, list[str]] = {}
        most = -1
        for way in ways:
            shown, known = list(way), 0
            for i in template.worded:
                words = len(way[i]) <= _LONGEST_WORDS and self.whole(way[i])
                known += 2 * bool(words)
                if not words and len(way[i]) <= _LONGEST_WORDS and (words := self.any(way[i])):
                    known += 1
                shown[i] = words or way[i]
            values = dict(zip(order, shown, strict=True))
            text = re.sub(r"\{(\d+)(?::t)?\}", lambda slot: values[slot[1]], template.other)  # noqa: B023
            if known > most:
                best, most = {}, known
            if known == most:
                best[text] = way
        all_known = most == 2 * len(template.worded)
        return (*next(iter(best.items())), all_known) if len(best) == 1 else ("", [], False)

    def _joined(self, text: str) -> str:
        """Sentences joined by others, the longest that are known; what is not known stays, and its joint with it."""
        parts = _JOINT.split(text)
        if not 1 < len(parts) <= 2 * _MOST_JOINTS + 1:
            return ""
        pieces: list[tuple[str, int, str]] = []  # (text, is it known (2: without slots), the joint after it)
        at = 0
        while at < len(parts):
            for end in range(len(parts), at, -2):
                run = "".join(parts[at:end])
                if (at, end) != (0, len(parts)) and " " in run and (told := self.whole(run)):
                    break
            else:
                end, told = at + 1, ""
            known = bool(told) + (_bare(run.strip()) in self._catalogue.whole)
            pieces.append((told or parts[at], known, "".join(parts[end : end + 1])))
            at = end + 1
        if not any(known for _, known, _ in pieces):
            return ""
        out = ""
        for (piece, known, joint), (_, following, _) in zip(pieces, [*pieces[1:], ("", 1, "")], strict=True):
            place = joint == ": " and not out and _PLACE.fullmatch(piece) is not None
            ours = joint and (known == 2 or (following and (known or place)))
            out += f"{_bare(piece, '。')}{_JOINTS[joint]}" if ours else piece + joint
        return out


@lru_cache(maxsize=1024)
def _other(text: str, language: str) -> str:
    """The translation, "" where there is none."""
    return _Reader(language).any(text)


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


_STOPS = tuple("。？！；：…?!")
"""After these no full stop is due."""


def error_line(message: str, hint: str = "", language: str = "") -> str:
    """An error and what to do about it in one line."""
    language = language or spoken()
    if language == "en":
        return f"{message}{'' if message.endswith(('.', '?')) else '.'} {hint}" if hint else message
    first, second = said(message, language), said(hint, language)
    first = first.rstrip(".。")
    return f"{first}{'' if first.endswith(_STOPS) else '。'}{second}" if hint else first
