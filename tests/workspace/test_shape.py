"""The chain of classes that a pattern needs: never missing where the pattern matches a line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.workspace.searchfile import unified
from aicli.workspace.shape import shape


def within(pattern: str, data: bytes, ignore_case: bool = False, beyond: bool = False) -> bool:
    table, chain = (text.encode("latin-1") for text in shape(pattern, ignore_case, beyond))
    assert table
    return chain in (b"\n" + data + b"\n").translate(table)


@pytest.mark.parametrize(
    ("pattern", "there", "absent"),
    [
        (r"\d+$", b"a 12\nb", b"1a\n2b"),
        (r"\d+$", b"a 12\r\nb", b"12 \r\n"),
        (r"^\d", b"a\n1", b"a1\nb2"),
        (r"\bx\d (?:foo|bar)", b"ax1 ", b"x1foo x 1"),
        (r"\d{3}-\d{4}", b"tel 123-4567", b"12-34567 1234 567"),
        ("[A-Z]", b"aBc", b"abc"),
        (r"a*b?\d", b"1", b"aab"),
    ],
)
def test_chains(pattern: str, there: bytes, absent: bytes) -> None:
    assert within(pattern, there) and not within(pattern, absent)


@pytest.mark.parametrize(
    ("pattern", "there", "absent"),
    [
        (r"\d+$", "你1\n３\n", "1 a\n你 b\n2。 c"),
        (r"\d+$", "３\n", "1a"),
        ("[0-9]+$", "你1\n", "1 好\n３\n"),
        (r"x\d{2}y", "x1３y", "1 你 x, y"),
    ],
)
def test_beyond_ascii(pattern: str, there: str, absent: str) -> None:
    assert within(pattern, there.encode(), beyond=True) and not within(pattern, absent.encode(), beyond=True)


def test_case() -> None:
    assert within("k ", "\u212a ".encode(), ignore_case=True, beyond=True)
    assert within("[a-c]d", b"BD", True) and not within("[a-c]d", b"BD")


@pytest.mark.parametrize(
    "pattern", ["", "a|b", "(a|b)", ".*", "a*", "^$", r"(?i)a", r"(?=a)b", "[^a", "{}", "a{,}", "é"]
)
def test_patterns_without_one(pattern: str) -> None:
    assert shape(pattern) == ("", "")


atoms = ["a", "b", "1", " ", ".", r"\w", r"\d", r"\s", r"\S", r"\W", "[ab]", "[^a]", r"\.", "(?:a|b)", "(b)"]
places = ["^", "$", r"\b", r"\B", "^^", "$^", "^$"]
times = ["", "", "", "*", "+", "?", "{2}", "{0}", "{0,1}", "{,2}", "*?", "+?", "{1,}"]
tokens = st.one_of(st.tuples(st.sampled_from(atoms), st.sampled_from(times)).map("".join), st.sampled_from(places))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(tokens, max_size=5).map("".join),
    st.lists(
        st.sampled_from(["a", "b", "1", " ", ".", "B", "\n", "\r\n", "\r", "é", "３", "　", "你", "K"]), max_size=8
    ).map("".join),
    st.booleans(),
)
def test_every_match_of_a_line_holds_the_chain(pattern: str, text: str, ignore_case: bool) -> None:
    regex = re.compile(pattern, re.MULTILINE | (re.IGNORECASE if ignore_case else 0))
    beyond = not text.isascii()
    if not shape(pattern, ignore_case, beyond)[0]:
        return
    if any(regex.search(line) for line in unified(text).split("\n")):
        assert within(pattern, text.encode(), ignore_case, beyond)
