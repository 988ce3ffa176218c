"""Widths, cutting and wrapping: nothing wider than asked, nothing lost, Chinese punctuation where it belongs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aicli.ui.cells import NO_END, NO_START, cut, cut_middle, hard_wrap, line_width, plain, sides, width, wrap

PIECES = [*"ab z好你，。（）「」é😀-", "⚠️", "👩‍💻", "👨‍👩‍👧", "你好", "  ", "word "]
TEXT = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@given(TEXT, st.integers(4, 40))
def test_wrapped_lines_fit_and_keep_every_character(text: str, columns: int) -> None:
    lines = wrap(((text, ""),), columns)
    assert all(line_width(line) <= columns for line in lines)
    assert "".join(map(plain, lines)).replace(" ", "") == text.replace(" ", "")


@given(TEXT, st.integers(2, 40))
def test_hard_wrap_drops_nothing(text: str, columns: int) -> None:
    lines = hard_wrap(text, columns)
    assert "".join(map(plain, lines)) == text
    assert all(line_width(line) <= columns for line in lines)


@given(TEXT, st.integers(1, 40))
def test_cut_fits(text: str, columns: int) -> None:
    assert line_width(cut(((text, ""),), columns)) <= columns
    assert width(cut_middle(text, columns)) <= max(columns, 1)


def test_chinese_punctuation_starts_and_ends_no_line() -> None:
    text = (
        "他说：“我们明天（星期三）去北京，好不好？”她回答：“好！”然后，他们一起走了；路上，遇见了一位老人（八十岁）。"
        * 3
    )
    for columns in range(20, 60):
        lines = [plain(line) for line in wrap(((text, ""),), columns)]
        assert not any(line[0] in "，。、；：！？）】》”" for line in lines), lines
        assert not any(line[-1] in "（【《“" for line in lines[:-1]), lines


def test_long_words_are_cut_between_clusters_only() -> None:
    family = "👨‍👩‍👧"
    assert [plain(line) for line in wrap(((family * 5, ""),), 4)] == [family * 2, family * 2, family]


def test_sides_gives_up_the_right_one_first() -> None:
    left, right = (("subject of some length", ""),), (("212 lines", ""),)
    assert plain(sides(left, right, 40)).endswith("212 lines") and line_width(sides(left, right, 40)) == 40
    assert plain(sides(left, right, 20)) == "subject of some len…"


def test_marks_that_end_or_start_are_told_apart() -> None:
    assert not (NO_START & NO_END)
