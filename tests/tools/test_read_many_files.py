"""read_many_files: by name and by pattern, one budget for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hands import Hands


@pytest.fixture
def hands(isolated: Path) -> Hands:
    return Hands(isolated)


def test_names_and_patterns_each_file_once_ignored_ones_left_out(hands: Hands) -> None:
    hands.put(".gitignore", b"build/\n")
    for name in ("src/a.py", "src/sub/b.py", "build/c.py", "app/[id]/p.tsx"):
        hands.put(name, f"# {name}\n".encode())
    text = hands.ok("read_many_files", paths=["src/a.py", "**/*.py", "app/[id]/p.tsx"])
    assert text.count("==> src/a.py <==") == 1
    assert "==> src/sub/b.py <==\n     1\t# src/sub/b.py" in text
    assert "# app/[id]/p.tsx" in text
    assert "build/c.py" not in text


def test_one_budget_and_what_did_not_fit_is_named(hands: Hands) -> None:
    for n in range(30):
        hands.put(f"f{n:02}.txt", b"some words on a line\n" * 400)
    text = hands.ok("read_many_files", paths="*.txt")
    assert len(text) < 60_000
    assert "not read, as the answer is full" in text
    assert "f25.txt" in text
    assert "go on" in text or "goes on" in text


def test_binary_missing_outside_and_secret_files_are_named(hands: Hands) -> None:
    hands.put("a.txt", b"text\n")
    hands.put("b.bin", bytes(100))
    hands.put(".env", b"KEY=value-of-key\n")
    text = hands.ok("read_many_files", paths=["a.txt", "b.bin", "nope.txt", "../x", ".env", ".e*"])
    assert "b.bin is binary (100 bytes)" in text
    assert "Nothing matches nope.txt" in text
    assert "outside the workspace" in text
    assert "value-of-key" not in text
    assert "No files match" in hands.fails("read_many_files", paths=["zzz*"])


def test_a_folder_means_what_is_in_it(hands: Hands) -> None:
    hands.put("src/a.py", b"1\n")
    hands.put("src/deep/b.py", b"2\n")
    text = hands.ok("read_many_files", paths=["src"])
    assert "src/a.py" in text
    assert "src/deep/b.py" in text


def test_a_file_read_whole_counts_as_seen(hands: Hands) -> None:
    hands.put("a.txt", b"text\n")
    hands.ok("read_many_files", paths=["a.txt"])
    (hands.root / "a.txt").write_bytes(b"other\n")
    assert "changed since you last" in hands.fails("write_file", path="a.txt", content="mine\n")
