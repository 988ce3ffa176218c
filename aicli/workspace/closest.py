"""The stretch of a file that is nearest to a text that was not found, and what differs; bounded in time."""

from __future__ import annotations

import difflib
import time
from collections import Counter, defaultdict
from collections.abc import Sequence

from aicli.late import dataclass, regex

_SECONDS = 0.25
_COMMON = 200
_NUMBERED = regex(r"\s*\d+(?:\t|→|\|)")


@dataclass(frozen=True, slots=True)
class Region:
    """Lines `first` to `last` (1-based, inclusive) and, in sentences, what differs from the wanted text."""

    first: int
    last: int
    differences: tuple[str, ...]


def closest(have: Sequence[str], wanted: Sequence[str]) -> Region | None:
    """The lines of `have` nearest to `wanted`; None when nothing is alike."""
    wanted = [w.rstrip("\r") for w in wanted][:400]
    while wanted and not wanted[-1].strip():
        wanted = wanted[:-1]
    skipped = next((i for i, w in enumerate(wanted) if w.strip()), len(wanted))
    wanted = wanted[skipped:]
    if not wanted or not have:
        return None
    start = _by_equal_lines(have, wanted)
    if start is None:
        start = _by_likeness(have, wanted)
    if start is None:
        return None
    first = max(0, start)
    last = min(len(have), max(first + 1, start + len(wanted)))
    return Region(first + 1, last, tuple(_differences(have[first:last], wanted, first)))


def holds_numbers(wanted: Sequence[str]) -> bool:
    """Was the text copied together with the line numbers that read_file shows?"""
    full = [w for w in wanted if w.strip()]
    return bool(full) and all(_NUMBERED.match(w) for w in full)


def _by_equal_lines(have: Sequence[str], wanted: Sequence[str]) -> int | None:
    places: defaultdict[str, list[int]] = defaultdict(list)
    asked = {w.strip() for w in wanted if w.strip()}
    for i, line in enumerate(have):
        core = line.strip()
        if core in asked:
            places[core].append(i)
    votes: Counter[int] = Counter()
    for i, w in enumerate(wanted):
        found = places.get(w.strip(), ())
        if len(found) <= _COMMON:
            weight = 2 if len(w.strip()) > 3 else 1
            votes.update({at - i: weight for at in found})
    return max(votes, key=lambda s: (votes[s], -s)) if votes else None


def _by_likeness(have: Sequence[str], wanted: Sequence[str]) -> int | None:
    index, line = max(enumerate(wanted), key=lambda pair: min(200, len(pair[1].strip())))
    core = line.strip()[:300]
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(core)
    best, where = 0.5, None
    end = time.monotonic() + _SECONDS
    for i, other in enumerate(have):
        if i % 64 == 0 and time.monotonic() > end:
            break
        matcher.set_seq1(other.strip()[:300])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, where = ratio, i - index
    return where


def _differences(have: Sequence[str], wanted: Sequence[str], first: int) -> list[str]:
    out: list[str] = []
    matcher = difflib.SequenceMatcher(None, [h.strip() for h in have], [w.strip() for w in wanted], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        pairs = zip(have[i1:i2], wanted[j1:j2], strict=False)
        for n, (line, want) in enumerate(pairs):
            if line != want:
                out.append(_one(first + i1 + n + 1, line, want))
        if tag != "equal":
            out += [f"line {first + n + 1} is not in old_string" for n in range(i1 + (j2 - j1), i2)]
            out += [f"old_string has a line that is not there: {_quote(w)}" for w in wanted[j1 + (i2 - i1) : j2]]
    return out[:3] + ([f"and {len(out) - 3} more differences"] if len(out) > 3 else [])


def _one(number: int, line: str, want: str) -> str:
    if line.strip() == want.strip():
        return f"line {number}: white space differs: the file has {_blanks(line)}, old_string has {_blanks(want)}"
    if line.casefold() == want.casefold():
        return f"line {number}: letter case differs: the file has {_quote(line.strip())}"
    at = next((i for i, (a, b) in enumerate(zip(line, want, strict=False)) if a != b), min(len(line), len(want)))
    begin = max(0, at - 30)
    return f"line {number}: the file has {_quote(line[begin:])}, old_string has {_quote(want[begin:])}"


def _quote(text: str) -> str:
    return f"`{text[:100]}…`" if len(text) > 100 else f"`{text}`"


def _blanks(line: str) -> str:
    lead = line[: len(line) - len(line.lstrip())]
    tail = line[len(line.rstrip()) :] if line.strip() else ""
    words = []
    for run, where in ((lead, "at its start"), (tail, "at its end")):
        if run:
            counts = (("tab", run.count("\t")), ("blank", len(run) - run.count("\t")))
            words.append(" and ".join(f"{n} {w}{'s' if n > 1 else ''}" for w, n in counts if n) + " " + where)
    return ", ".join(words) or "none"
