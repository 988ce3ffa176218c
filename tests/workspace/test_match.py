"""What counts as the text that a model meant, layer by layer."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.workspace.closest import closest
from aicli.workspace.match import find
from tests.support.counts import count


def replaced(raw: str, old: str, new: str) -> str | None:
    found = find(raw, old, new)
    if found is None:
        return None
    assert len(found.places) == 1
    hit = found.hits[0]
    return raw[: hit.start] + hit.new + raw[hit.stop :]


def test_exact_text_wins_over_every_other_layer() -> None:
    found = find("a \na\n", "a \n", "b\n")
    assert found is not None
    assert found.how == ""
    assert found.places == (0,)


def test_line_ends_do_not_count() -> None:
    assert replaced("a = 1\r\nb = 2\r\n", "a = 1\nb = 2\n", "a = 9\nx\n") == "a = 9\r\nx\r\n"
    assert replaced("a\rb\r", "a\nb\n", "c\nd\n") == "c\rd\r"
    assert replaced("a\nb\n", "a\r\nb", "a\r\nc") == "a\nc\n"


def test_mixed_line_ends_stay_as_they_are_around_the_change() -> None:
    assert replaced("a\r\nb\nc\r\nd\n", "b", "b1\nb2") == "a\r\nb1\nb2\nc\r\nd\n"
    assert replaced("a\r\nb\nc\r\nd\n", "c", "c1\nc2") == "a\r\nb\nc1\r\nc2\r\nd\n"


def test_a_mark_that_the_model_copied_does_not_count() -> None:
    assert replaced("hello\n", "\ufeffhello", "bye") == "bye\n"


def test_blanks_at_line_ends_do_not_count_on_either_side() -> None:
    assert replaced("a  \nb\t\nc\n", "a\nb\n", "x\n") == "x\nc\n"
    assert replaced("a\nb\nc\n", "a  \nb", "x") == "x\nc\n"
    assert replaced("if a:   \n    b()\n", "if a:\n    b()", "if c:\n    b()") == "if c:\n    b()\n"


def test_one_run_of_one_character_may_be_missing_at_every_line() -> None:
    raw = "class A:\n    def f(self):\n        return 1\n"
    assert replaced(raw, "def f(self):\n    return 1\n", "def f(self):\n    x()\n    return 2\n") == (
        "class A:\n    def f(self):\n        x()\n        return 2\n"
    )


def test_one_run_of_one_character_may_be_too_much_at_every_line() -> None:
    assert replaced("a:\n\tb\n", "\t\ta:\n\t\t\tb\n", "\t\ta:\n\t\t\tc\n\n\t\t\td\n") == "a:\n\tc\n\n\td\n"


def test_a_tab_is_never_some_blanks() -> None:
    assert find("func f() {\n\treturn 1\n}\n", "    return 1", "    return 2") is None
    assert find("f:\n        x\n        y\n", "\tx\n\ty\n", "\tz\n") is None
    assert find("  \ta\n  \tb\n", "a\nb", "c\nd") is None  # blanks and a tab: two characters


def test_lines_that_differ_by_different_runs_do_not_match() -> None:
    assert find("  a\n    b\n", "a\nb\n", "c\n") is None


def test_typographic_quotes_and_dashes_match_plain_ones_and_stay() -> None:
    assert replaced("say “hello” — now\n", 'say "hello" - now', 'say "hello" - then') == "say “hello” — then\n"
    assert replaced("it's\n", "it’s", "it’s so") == "it's so\n"


def test_every_place_is_found_even_overlapping_ones() -> None:
    found = find("aaa", "aa", "b")
    assert found is not None
    assert found.places == (0, 1)
    assert len(found.hits) == 1


def test_places_in_looser_layers_are_counted_too() -> None:
    found = find("  a\n  b\nx\n  a\n  b\n", "a\nb\n", "c\n")
    assert found is not None
    assert len(found.places) == 2


def test_blank_text_matches_only_exactly() -> None:
    assert find("a\n\nb\n", "   \n", "x") is None


def test_the_end_of_the_file_is_no_empty_line() -> None:
    found = find("\ty\n\n\n\ty\n", "  \ty\n\n", "NEW")
    assert found is not None
    assert found.places == (0,)


WORDS = st.sampled_from(["a", "b()", "  x = 1", "\ty", "", "  ", "“q”", "中文", "z\t"])


@given(
    st.lists(WORDS, min_size=1, max_size=12),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.data(),
)
@settings(max_examples=count(150, 10_000), deadline=None)
def test_what_is_replaced_says_line_by_line_what_was_asked_for(lines: list[str], end: str, data: st.DataObject) -> None:
    raw = "".join(line + end for line in lines)
    start = data.draw(st.integers(0, len(lines) - 1))
    stop = data.draw(st.integers(start + 1, len(lines)))
    shift = data.draw(st.sampled_from(["", "  ", "\t"]))
    old = "\n".join((shift + line if line.strip() else line) for line in lines[start:stop])
    found = find(raw, old, "NEW")
    if found is None:
        return
    for hit in found.hits:
        gone = raw[hit.start : hit.stop].replace("\r\n", "\n").replace("\r", "\n")
        assert [g.strip() for g in gone.split("\n")] == [o.strip() for o in old.split("\n")]


def test_the_closest_text_says_what_differs() -> None:
    region = closest(["def f():", "\treturn 1"], ["def f():", "    return 1"])
    assert region is not None
    assert (region.first, region.last) == (1, 2)
    assert "1 tab" in region.differences[0]
    assert "4 blanks" in region.differences[0]
    case = closest(["Hello World", "x"], ["hello world"])
    assert case is not None
    assert "letter case" in case.differences[0]
    assert closest(["abc"], ["完全不同的一行"]) is None


def test_the_search_for_the_closest_text_is_bounded_in_a_big_file() -> None:
    lines = [f"some line of text number {i} with words" for i in range(200_000)]
    region = closest(lines, ["some lime of text number 77 with worms", "and more"])
    assert region is None or region.last - region.first < 10
