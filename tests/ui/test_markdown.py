"""MarkdownStream: the same lines however the text is cut, linear, every table of one width, brackets are text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aicli.ui.cells import line_width, plain
from aicli.ui.markdown import MarkdownStream

SAMPLE = """# Title **b**

Some *text* with `code` and [a link](http://x.y/z) and 2 * 3 * 4 and *args, **kwargs. A long line goes on until it wraps.
- item one
  - nested 中文，很长的中文段落，需要在四十列的地方换行。所以我们继续写下去，直到它换行为止（也就是这里）。
- [x] done
1. number
> quote *this* way
```py
def f(): return "| a | b |"
```

| 文件 | lines | change |
|---|--:|:-:|
| src/cart.py | 42 | 整数分 |
| a⚠️b | 1 | 👨‍👩‍👧 |
| é 😀 | 7 | x |

***
a_b_c __strong__ ~~gone~~ ![alt](pic.png) \\*not em\\*
done [/INST] [bold]b [/'A', 1]
"""


def rendered(text: str, columns: int, cuts: list[int] | None = None) -> list[str]:
    stream, lines, last = MarkdownStream(columns), [], 0
    for at in [*(cuts or ()), len(text)]:
        lines += stream.feed(text[last:at])
        stream.live()
        last = at
    return [plain(line) for line in [*lines, *stream.close()]]


@pytest.mark.parametrize("columns", [20, 39, 79, 119])
def test_any_cut_gives_the_same_lines(columns: int) -> None:
    whole = rendered(SAMPLE, columns)
    assert rendered(SAMPLE, columns, list(range(1, len(SAMPLE)))) == whole
    assert rendered(SAMPLE, columns, list(range(7, len(SAMPLE), 7))) == whole


@given(st.lists(st.sampled_from([*"*_`~[]()|#->\n 1.", "word ", "中文，", "|a|b|\n|-|-|\n", "```\n"]), max_size=40))
def test_any_cut_of_any_text_gives_the_same_lines(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert rendered(text, 30, list(range(1, len(text)))) == rendered(text, 30)


@given(st.text(st.sampled_from("*_`~[]()|#->\n ab中"), max_size=60), st.integers(12, 60))
def test_no_line_is_wider_than_the_screen(text: str, columns: int) -> None:
    stream = MarkdownStream(columns)
    lines = [*stream.feed(text), *stream.live(), *stream.close()]
    assert all(line_width(line) <= columns for line in lines)


@pytest.mark.parametrize("columns", [39, 79, 119])
def test_lines_of_a_table_have_one_width(columns: int) -> None:
    stream = MarkdownStream(columns)
    lines = [*stream.feed(SAMPLE), *stream.close()]
    rows = [
        line_width(line) for line in lines if plain(line).startswith(("  │ ", "  ├")) and "quote" not in plain(line)
    ]
    assert len(rows) == 5 and len(set(rows)) == 1


def test_alignment_is_honoured() -> None:
    text = "\n".join(rendered(SAMPLE, 79))
    assert "│ src/cart.py │    42 │ 整数分 │" in text
    assert "│ é 😀        │     7 │   x    │" in text


def test_a_table_that_would_cut_words_becomes_records() -> None:
    text = rendered("| name | description |\n|---|---|\n| incomprehensibilities | extraordinarily |\n", 24)
    assert text[:2] == ["  name: incomprehensibilities"[:24], "  description:"] or text[0].startswith("  name:")
    assert "extraordinarily" in "\n".join(text)


def test_square_brackets_are_text() -> None:
    assert rendered("a [/INST] [bold]b [/'A', 1] [red].txt\n", 79) == ["  a [/INST] [bold]b [/'A', 1] [red].txt"]


def test_text_never_begins_in_columns_0_and_1() -> None:
    assert all(not row[:2].strip() for row in rendered(SAMPLE + "\n? shell\n  y once\n✓ done\n› hi", 60))


def test_lines_settle_as_they_become_final() -> None:
    stream = MarkdownStream(40)
    assert stream.feed("A first sentence that is long enough to wrap, ") != []
    assert stream.feed("- item") == []
    assert [plain(line) for line in stream.feed(" goes on\n")][-1].endswith("goes on")


def test_only_a_table_waits_and_at_most_forty_rows() -> None:
    stream = MarkdownStream(60)
    head = "|a|b|\n|-|-|\n"
    assert stream.feed(head + "|1|2|\n" * 39) == []
    assert len(stream.feed("|1|2|\n")) == 42
    assert stream.feed("|3|4|\n") == [] and len(stream.feed("\n")) >= 1


def test_work_grows_with_the_text_only() -> None:
    """Counted, not timed: how often a character is looked at by the wrapper."""
    import aicli.ui.cells as cells

    def steps(size: int) -> int:
        seen = 0
        original = cells.clusters

        def counting(text: str, style: str = "") -> object:
            nonlocal seen
            seen += len(text)
            return original(text, style)

        cells.clusters = counting  # type: ignore[assignment]
        try:
            stream = MarkdownStream(79)
            text = ("Lorem **ipsum** dolor `sit` amet, " * 30 + "\n- 中文，项目\n") * size
            for at in range(0, len(text), 100):
                stream.feed(text[at : at + 100])
        finally:
            cells.clusters = original
        return seen

    assert steps(20) <= steps(10) * 2.1
