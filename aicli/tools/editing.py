"""Applies replacements to a file's bytes, all or none; says precisely what was found, or what stands there instead."""

from __future__ import annotations

from collections.abc import Sequence

from aicli.late import dataclass
from aicli.tools.base import ToolFailed
from aicli.tools.files import shown
from aicli.workspace.closest import Region, closest, holds_numbers
from aicli.workspace.faults import NotFound
from aicli.workspace.match import Found, find
from aicli.workspace.text import Text, decode, encode, split_lines

_REGION_LINES = 12
_FULL_LINES = 400
_FULL_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Replacement:
    old: str
    new: str
    all: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """The new bytes, and in words how many places changed and at which lines."""

    data: bytes
    told: str


class Missed(Exception):
    """The text was not found. `str` shows the nearest region; `full_text` the current text, and asks for a rewrite."""

    def __init__(self, path: str, lines: list[str], wanted: str, which: str) -> None:
        self.path, self.lines, self.which = path, lines, which
        self.wanted = split_lines(wanted.replace("\r\n", "\n"))
        self.region = closest(lines, self.wanted)
        super().__init__(self._message())

    def _message(self) -> str:
        text = f"{self.which}old_string was not found in {self.path}; nothing was changed."
        if holds_numbers(self.wanted):
            text += " It holds the line numbers that read_file shows: leave them out."
        if self.region is None:
            return f"{text} Nothing in the file is like it; read the file again."
        shown_lines = self._numbered(self.region.first, min(self.region.last, self.region.first + _REGION_LINES - 1))
        differs = "".join(f"\n- {shown(d)}" for d in self.region.differences)
        return f"{text} The closest text is:\n{shown_lines}{differs}"

    def full_text(self) -> str:
        """For the second miss in a row on one file."""
        region, whole = self._wide()
        text = self._numbered(region.first, region.last)
        ask = (
            "write the whole file anew with write_file"
            if whole
            else f"rewrite lines {region.first} to {region.last} in full: old_string must be exactly that text"
        )
        return (
            f"{self.which}old_string was not found in {self.path} again; nothing was changed. Its current text is "
            f"(number, tab, text):\n{text}\nDo not guess again: {ask}."
        )

    def _wide(self) -> tuple[Region, bool]:
        size = sum(len(line) + 1 for line in self.lines)
        if len(self.lines) <= _FULL_LINES and size <= _FULL_CHARS:
            return Region(1, len(self.lines), ()), True
        middle = self.region or Region(1, 1, ())
        first, last = max(1, middle.first - 20), min(len(self.lines), middle.last + 20, middle.first + _FULL_LINES)
        return Region(first, last, ()), False

    def _numbered(self, first: int, last: int) -> str:
        picked = enumerate(self.lines[first - 1 : last], first)
        return "\n".join(f"{number:>6}\t{shown(line[:2_000])}" for number, line in picked)


def apply(path: str, before: bytes | None, edits: Sequence[Replacement]) -> Applied:
    """The bytes after all edits, each made in the result of the one before.

    Raises Missed, or ToolFailed for an ambiguous text, a no-op, an encoding that lacks a character, and a missing file.
    """
    if before is None:
        return _create(path, edits)
    text = decode(before)
    told = []
    for number, wanted in enumerate(edits, 1):
        which = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        text, words = _replace(path, text, wanted, which)
        told.append(words)
    if all(e.old == e.new for e in edits) or text.text == decode(before).text:
        raise ToolFailed(f"The edit leaves {path} as it is: the new text equals the old. Nothing was changed.")
    return Applied(_encoded(path, text), "; ".join(told))


def _create(path: str, edits: Sequence[Replacement]) -> Applied:
    if len(edits) == 1 and edits[0].old == "":
        data = _encoded(path, Text(edits[0].new))
        return Applied(data, f"a new file of {len(data):,} bytes")
    raise NotFound(
        f"{path} does not exist, so there is nothing to replace. Check the path, or use write_file to create it."
    )


def _replace(path: str, text: Text, wanted: Replacement, which: str) -> tuple[Text, str]:
    if wanted.old == "":
        if text.text == "":
            return text.with_text(wanted.new), "filled the empty file"
        raise ToolFailed(
            f"{which}{path} exists: an empty old_string only creates a new file. "
            "Give the text to replace, or use write_file to replace the whole file."
        )
    if wanted.old == wanted.new:
        raise ToolFailed(f"{which}old_string and new_string are equal, so there is nothing to change in {path}.")
    found = find(text.text, wanted.old, wanted.new)
    if found is None:
        raise Missed(path, text.lines, wanted.old, which)
    numbers = _line_numbers(text.text, found.places)
    if len(found.places) > 1 and not wanted.all:
        raise ToolFailed(
            f"{which}old_string matches {len(numbers)} places in {path} (lines {_listed(numbers)}); nothing was changed. "
            "Add surrounding lines to make it the only one, or set replace_all."
        )
    return text.with_text(_replaced(text.text, found)), _words(
        found, _line_numbers(text.text, [hit.start for hit in found.hits])
    )


def _replaced(raw: str, found: Found) -> str:
    parts, at = [], 0
    for hit in found.hits:
        parts += [raw[at : hit.start], hit.new]
        at = hit.stop
    return "".join([*parts, raw[at:]])


def _line_numbers(raw: str, places: Sequence[int]) -> list[int]:
    """The 1-based lines of rising indices."""
    end = "\n" if "\n" in raw else "\r"
    numbers, line, at = [], 1, 0
    for place in places:
        line += raw.count(end, at, place)
        at = place
        numbers.append(line)
    return numbers


def _words(found: Found, numbers: list[int]) -> str:
    count = len(numbers)
    where = f"{count} replacement{'' if count == 1 else 's'} at line{'' if count == 1 else 's'} {_listed(numbers)}"
    return f"{where}, matched but for {found.how}" if found.how else where


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")


def _encoded(path: str, text: Text) -> bytes:
    try:
        return encode(text)
    except UnicodeEncodeError as error:
        char = error.object[error.start]
        raise ToolFailed(
            f"{path} is encoded as {text.encoding.title}, which can't hold {shown(char)!r} (U+{ord(char):04X}); nothing was "
            "changed. Use other characters, or write the whole file with write_file, which makes it UTF-8."
        ) from error
