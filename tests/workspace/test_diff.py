"""Diffs that give the new text when they are applied."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from aicli.workspace.diff import diff_bytes, diff_text
from tests.support.counts import count

MARK = "\\ No newline at end of file"


def patched(old: str, diff: str) -> str:
    """A small `patch`: trusts nothing but line numbers and signs."""
    lines = old.split("\n")
    whole = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    out: list[str] = []
    at = 0
    rows = diff.split("\n")[:-1]
    for n, row in enumerate(rows):
        unfinished = n + 1 < len(rows) and rows[n + 1] == MARK
        text = row[1:] + ("" if unfinished else "\n")
        if head := re.match(r"@@ -(\d+)(?:,(\d+))? ", row):
            start = int(head[1]) - (0 if head[2] == "0" else 1)
            out += whole[at:start]
            at = start
        elif row.startswith(("---", "+++")) and n < 2:
            continue
        elif row[:1] in (" ", "-"):
            assert whole[at] == text
            at += 1
            if row[0] == " ":
                out.append(text)
        elif row[:1] == "+":
            out.append(text)
    return "".join(out + whole[at:])


TEXT = st.lists(st.sampled_from(["a", "b", "c", "", "中", "--- x", "+++"]), max_size=30).map("\n".join)


@given(TEXT, TEXT)
@settings(max_examples=count(200, 20_000), deadline=None)
def test_a_diff_applied_to_the_old_text_gives_the_new(old: str, new: str) -> None:
    diff = diff_text("f", old, new)
    assert patched(old, diff.text) == new
    rows = diff.text.split("\n")[2:]
    assert diff.added == sum(r.startswith("+") for r in rows)
    assert diff.removed == sum(r.startswith("-") for r in rows)


def test_a_very_large_change_is_shown_whole_and_quickly() -> None:
    old = "".join(f"{i}\n" for i in range(100_000))
    new = "0\n" + "".join(f"{i}x\n" for i in range(1, 99_999)) + "99999\n"
    diff = diff_text("f", old, new)
    assert diff.added == diff.removed == 99_998
    assert patched(old, diff.text) == new


def test_new_deleted_binary_and_line_ends_are_said() -> None:
    assert diff_bytes("f", None, b"a\n").text.startswith("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n")
    assert diff_bytes("f", b"a\n", None).text.endswith("@@ -1 +0,0 @@\n-a\n")
    assert "Binary file f: 4 bytes -> 5 bytes" in diff_bytes("f", b"\0\0\0\0", b"\0\0\0\0\1").text
    assert "Only line ends differ" in diff_bytes("f", b"a\r\n", b"a\n").text
