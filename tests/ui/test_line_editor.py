"""The line editor: several lines, history and its search, pastes as tokens, completion, wide characters under the caret."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from aicli.ui.cells import plain, width
from aicli.ui.history import History
from aicli.ui.keys import Key
from aicli.ui.line_editor import Candidate, LineEditor


def typed(editor: LineEditor, *keys: str) -> LineEditor:
    for key in keys:
        editor.key(Key(key[1:-1]) if key.startswith("<") else Key("char", key))
    return editor


def test_lines_are_broken_in_three_ways() -> None:
    editor = typed(LineEditor(), "a", "<ctrl-j>", "b", "<alt-enter>", "c\\", "<enter>", "d")
    assert editor.text == "a\nb\nc\nd"
    assert editor.key(Key("enter")) == "submit"


def test_a_short_paste_is_text_and_a_long_one_a_token() -> None:
    editor = LineEditor()
    editor.key(Key("paste", "one\ntwo"))
    assert editor.text == "one\ntwo"
    editor.clear()
    long = "\n".join(f"line {i}" for i in range(8))
    editor.key(Key("paste", long))
    assert editor.text == long and len(editor.buffer.items) == 1
    shown = [plain(line) for line in editor.view(60, 5)[0]]
    assert shown == ["› [paste 1: 8 lines]"]
    editor.key(Key("paste", long))
    assert editor.text == long and len(editor.buffer.items) == len(long)


def test_ctrl_o_opens_a_token() -> None:
    editor = LineEditor()
    long = "\n".join("x" * 3 for _ in range(9))
    editor.key(Key("paste", long))
    assert editor.buffer.open_token() and editor.text == long and len(editor.buffer.items) > 1
    assert not editor.buffer.open_token()


def test_history_goes_up_and_the_draft_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "sub" / "history.jsonl"
    editor = LineEditor(History(file))
    for text in ("first", "second\nline", "第三"):
        typed(editor, text)
        editor.take()
    typed(editor, "draft", "<up>")
    assert editor.text == "第三"
    typed(editor, "<up>")
    assert editor.text == "second\nline"
    typed(editor, "<up>", "<up>", "<down>", "<down>", "<down>", "<down>")
    assert editor.text == "draft"
    assert History(file).entries == ["first", "second\nline", "第三"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_search_finds_older_entries_and_escape_gives_the_draft_back() -> None:
    history = History()
    for text in ("make test", "git status", "make lint"):
        history.add(text)
    editor = typed(LineEditor(history), "dr", "<ctrl-r>", "m", "a")
    assert editor.text == "make lint"
    typed(editor, "<ctrl-r>")
    assert editor.text == "make test"
    typed(editor, "<esc>")
    assert editor.text == "dr"
    typed(editor, "<ctrl-r>", "git", "<enter>")
    assert editor.text == "git status" and not editor.searching


def test_words_kill_yank_undo() -> None:
    editor = typed(LineEditor(), "one two three", "<ctrl-w>")
    assert editor.text == "one two "
    typed(editor, "<ctrl-y>")
    assert editor.text == "one two three"
    typed(editor, "<ctrl-a>", "<ctrl-k>")
    assert editor.text == ""
    typed(editor, "<ctrl-_>")
    assert editor.text == "one two three"


def test_the_caret_stands_right_behind_wide_clusters() -> None:
    editor = typed(LineEditor(), "你好👨‍👩‍👧⚠️")
    lines, caret = editor.view(40, 5)
    assert caret == (0, 2 + 8) and plain(lines[0]) == "› 你好👨‍👩‍👧⚠️"
    typed(editor, "<backspace>")
    assert editor.text == "你好👨‍👩‍👧"
    typed(editor, "<backspace>")
    assert editor.text == "你好"


@given(st.lists(st.sampled_from([*"ab 你，", "👩‍💻", "\n"]), max_size=60), st.integers(8, 30), st.integers(1, 6))
def test_the_view_fits_and_holds_the_caret(pieces: list[str], columns: int, limit: int) -> None:
    editor = LineEditor()
    editor.set("".join(pieces))
    for step in ("<left>", "<left>", "<home>", "<up>", "<end>"):
        lines, (row, column) = editor.view(columns, limit)
        assert len(lines) <= limit and 0 <= row < len(lines) and column <= columns
        assert all(width(plain(line)) <= columns for line in lines)
        typed(editor, step)


def test_completion_cycles_and_a_single_one_is_taken() -> None:
    words = {"/h": [Candidate(0, "/help "), Candidate(0, "/history ")], "/hel": [Candidate(0, "/help ")]}
    editor = LineEditor(complete=lambda before: words.get(before, ()))
    typed(editor, "/h", "<tab>")
    assert editor.text == "/help "
    typed(editor, "<tab>")
    assert editor.text == "/history "
    assert editor.key(Key("enter")) == "changed"  # takes the choice, sends nothing
    editor.set("/hel")
    typed(editor, "<tab>")
    assert editor.text == "/help "
