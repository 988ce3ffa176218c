"""The parts of a search: needles, excerpts, and the engine on bytes cut anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.workspace.faults import Denied
from aicli.workspace.needles import needles
from aicli.workspace.search import BadPattern, request, search
from aicli.workspace.searchfile import BLOCK, excerpt, unified


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        *(("hello", ("hello",)), ("a", ()), ("_", ("_",)), ("foo|bar", ("foo", "bar")), ("foo|b", ())),
        ("foo.*barbaz", ("barbaz",)),
        *(
            (r"def \w+\(", ("def ",)),
            (r"colou?r", ("colo",)),
            (r"x{3}abc", ("abc",)),
            (r"ab{2}", ()),
            ("ab+cd", ("ab",)),
        ),
        *(
            (r"(foo)bar", ("bar",)),
            ("(foo|bar)", ()),
            ("[abc]def", ("def",)),
            (r"[]a]bc", ("bc",)),
            (r"[^\]]bc", ("bc",)),
        ),
        *(
            (r"\x41bcd", ("bcd",)),
            (r"\u0041bc", ("bc",)),
            (r"\101bc", ("bc",)),
            (r"\.\*ab", (".*ab",)),
            (r"\bword\b", ("word",)),
        ),
        *(
            ("(?i)foo", ()),
            (r"(?=foo)bar", ("bar",)),
            (r"(?:a|b)cd", ("cd",)),
            (r"((x)(y))zz", ("zz",)),
            (r"([)])ab", ("ab",)),
        ),
        *(("你好.世界", ("你好",)), (r"a{,3}bcd", ("bcd",)), ("a{x}bc", ("a{x}bc",)), ("", ()), ("x|", ())),
        (r"\N{DIGIT ONE}ab", ("ab",)),
        *(
            (r"(?P<n>ab)(?P=n)cd", ("cd",)),
            ("ab*?cd", ("cd",)),
            (r"a\|bc", ("a|bc",)),
            ("^ab$", ("ab",)),
            (r"ab\ncd", ("ab",)),
        ),
    ],
)
def test_needles(pattern: str, found: tuple[str, ...]) -> None:
    re.compile(pattern)
    assert needles(pattern) == found


atoms = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        "_",
        ".",
        r"\w",
        r"\d",
        r"\.",
        "[ab]",
        "[^a]",
        r"\x61",
        "(ab)",
        "(?:a|b)",
        "(?=a)",
        r"\b",
        "^",
        "{",
    ]
)
suffixes = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,1}", "*?"])
patterns = st.lists(st.one_of(st.tuples(atoms, suffixes).map("".join), st.just("|")), max_size=6).map("".join)


@settings(max_examples=150, deadline=None)
@given(patterns, st.text(alphabet="ab_. 1{", max_size=12))
def test_every_match_holds_a_needle(pattern: str, text: str) -> None:
    try:
        regex = re.compile(pattern)
    except re.error:
        return
    wanted = needles(pattern)
    if wanted and regex.search(text):
        assert any(needle in text for needle in wanted)


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["needle", "ne+dle", r"x\s*y", "你.", r"^\w+$", r"(?<!x)y", "é", r"[^a]b"]),
    st.lists(st.sampled_from(["a needle", "x", "y", "xy", "你好", "", "b" * 300, "é", "ab", "word"]), max_size=12),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(0, 400),
)
def test_the_engine_finds_what_a_plain_loop_finds(
    tmp_path_factory: pytest.TempPathFactory, pattern: str, lines: list[str], newline: str, padding: int
) -> None:
    """Also where a line lies across two blocks."""
    folder = tmp_path_factory.mktemp("engine")
    filler = ["z" * 78] * ((BLOCK - padding) // 79)
    everything = lines + filler + lines + filler + lines
    (folder / "f").write_bytes(newline.join(everything).encode())
    wanted = [n for n, line in enumerate(everything, 1) if re.search(pattern, line)]
    if everything and everything[-1] == "" and wanted and wanted[-1] == len(everything):
        wanted.pop()  # a final line end makes no further line
    found = search(request(folder, pattern, limit=100_000), ["f"])
    assert [line.number for line in found.lines] == wanted and found.complete


def test_excerpts() -> None:
    line = "x" * 1000 + "hit" + "y" * 1000
    cut = excerpt(line, 1000, 100)
    assert "hit" in cut and cut.startswith("[975 more]…") and cut.endswith("…[928 more]")
    assert excerpt("short", 0, 100) == "short"


def test_line_ends() -> None:
    assert unified("a\r\nb\rc\n") == "a\nb\rc\n" and unified("a\rb") == "a\nb" and unified("plain") == "plain"


def test_files_that_went_away_or_turned_into_links(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "ok").write_text("word\n")
    (tmp_path / "link").symlink_to("d/ok")
    (tmp_path / "folder").symlink_to("d")
    found = search(request(tmp_path, "word"), ["gone", "link", "folder/ok", "d/ok", "d"])
    assert [(line.path, line.number) for line in found.lines] == [("d/ok", 1)]
    assert [path for path, _ in found.skipped] == ["gone", "link", "folder/ok", "d"]


def test_bad_patterns() -> None:
    for pattern in ("(", "[a", "*", "a{2}{3}", "(?P<1>x)", "\\"):
        with pytest.raises(BadPattern):
            request(Path("/"), pattern)
    assert request(Path("/"), "(", literal=True).pattern == r"\("


def test_a_folder_that_can_not_be_walked_is_an_error_not_an_empty_answer(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("word\n")

    def files() -> Iterator[str]:
        yield "a"
        raise Denied("Cannot list closed: permission denied.")

    with pytest.raises(Denied):
        search(request(tmp_path, "word"), files())


@pytest.mark.parametrize(
    "lines", [["z" * 300_000, "caf\u00e9", "z" * 300_000], ["z" * 300_000 + "\u00f1", "caf\u00e9 z"]]
)
def test_a_long_line_without_the_one_letter_is_passed_over(tmp_path: Path, lines: list[str]) -> None:
    (tmp_path / "long.txt").write_text("\n".join(lines) + "\n", "utf-8")
    ask = request(tmp_path, r"\w+é", mode="count")
    ask.ripgrep = ""
    found = search(ask, ["long.txt"], children=1, limit=60)
    assert found.counts == {"long.txt": 1} and found.complete
