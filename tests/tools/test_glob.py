"""The glob tool."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from aicli.tools.builtin.glob import glob
from aicli.tools.state import RunState
from tests.tools.calling import call, state_in


@pytest.fixture
def state(isolated: Path) -> RunState:
    return state_in(isolated)


def put(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("x")


def found(state: RunState, pattern: str, **more: object) -> set[str]:
    result = call(glob, state, pattern=pattern, **more)
    assert not result.is_error, result.text
    return set() if result.text.startswith("No files") else set(result.text.splitlines())


def test_star_stays_in_one_segment(state: RunState) -> None:
    put("a.py", "x/b.py", "x/y/c.py", "d.txt")
    assert found(state, "**/*.py") == {"a.py", "x/b.py", "x/y/c.py"}
    assert found(state, "*.py") == {"a.py"}
    assert found(state, "x/*.py") == {"x/b.py"}
    assert found(state, "*.py", path="x") == {"x/b.py"}
    assert found(state, "**/*.py", dir_path="x/y") == {"x/y/c.py"}


def test_newest_first(state: RunState) -> None:
    put("old", "mid", "new")
    for n, name in enumerate(("old", "mid", "new")):
        os.utime(name, (1_000_000 + n, 1_000_000 + n))
    assert call(glob, state, pattern="*").text.splitlines() == ["new", "mid", "old"]
    assert call(glob, state, pattern="*", limit=2).text.splitlines()[:2] == ["new", "mid"]
    assert "1 more" in call(glob, state, pattern="*", limit=2).text


def test_brackets_and_parentheses_are_literal_too(state: RunState) -> None:
    put("app/[locale]/(auth)/page.tsx", "app/[[...slug]]/x.tsx")
    assert found(state, "**/*.tsx") == {"app/[locale]/(auth)/page.tsx", "app/[[...slug]]/x.tsx"}
    assert found(state, "app/[locale]/(auth)/**") == {"app/[locale]/(auth)/page.tsx"}
    assert found(state, "app/[[...sign-in]]/*") == set()
    assert found(state, "*", path="app/[[...slug]]") == {"app/[[...slug]]/x.tsx"}


def test_hidden_files_asked_for_by_name(state: RunState) -> None:
    put(".github/workflows/ci.yml", ".env.example", "plain", "d/.hid/x", ".git/config")
    assert found(state, ".github/workflows/*.yml") == {".github/workflows/ci.yml"}
    assert found(state, ".env*") == {".env.example"}
    assert found(state, "**/*") == {"plain"}
    assert found(state, "**/*", hidden=True) == {".github/workflows/ci.yml", ".env.example", "plain", "d/.hid/x"}
    assert found(state, "**/.hid/*") == {"d/.hid/x"}


def test_braces(state: RunState) -> None:
    put("a.ts", "b.tsx", "c.md", "*.{ts")
    assert found(state, "**/*.{ts,tsx}") == {"a.ts", "b.tsx"}
    assert found(state, "*.{ts") == {"*.{ts"}
    Path("*.{ts").unlink()
    text = call(glob, state, pattern="*.{ts").text
    assert text.startswith("No files match *.{ts")


def test_links_in_a_circle_and_dangling(state: RunState, tmp_path: Path) -> None:
    put("d/f.txt", "ok.txt")
    Path("d/sub").mkdir()
    Path("d/sub/up").symlink_to("..")
    Path("d/sub/me").symlink_to(".")
    Path("gone").symlink_to("nowhere")
    Path("a").symlink_to("b")
    Path("b").symlink_to("a")
    Path("out").symlink_to(tmp_path)
    Path("file").symlink_to("ok.txt")
    start = time.monotonic()
    assert found(state, "**/*") == {"d/f.txt", "ok.txt", "gone", "a", "b", "out", "file"}
    assert time.monotonic() - start < 2
    assert call(glob, state, pattern="*", path="out").is_error


def test_names_that_git_would_quote(state: RunState) -> None:
    names = {"café.txt", "文件.md", "a b.txt", 'q"uote.txt'}
    put(*names)
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "add", "café.txt", "文件.md"], check=True)
    assert found(state, "*") == names


def test_ignored_files_unless_asked_for_by_name(state: RunState) -> None:
    put("keep/a.py", "build/b.py", "x.log")
    Path(".gitignore").write_text("build/\n*.log\n")
    assert found(state, "**/*.py") == {"keep/a.py"}
    assert found(state, "build/*.py") == {"build/b.py"}
    assert found(state, "*.py", path="build") == {"build/b.py"}


def test_folders_when_nothing_else_fits(state: RunState) -> None:
    put("src/one/a", "src/two/b", "src/c")
    assert found(state, "src/*") == {"src/c"}
    assert found(state, "src/*/") == {"src/one/", "src/two/"}
    assert found(state, "src/o*") == {"src/one/"}


def test_places(state: RunState, isolated: Path) -> None:
    put("x/a.py")
    assert found(state, f"{isolated}/x/*.py") == {"x/a.py"}
    assert found(state, "./x/*.py") == {"x/a.py"}
    for more in (
        {"pattern": "../*"},
        {"pattern": "*", "path": "/etc"},
        {"pattern": "/etc/*"},
        {"pattern": "*", "path": "x/a.py"},
    ):
        assert call(glob, state, **more).is_error
    assert call(glob, state, pattern="*", path="nowhere").is_error
    assert call(glob, state, pattern=" ").is_error
    assert "looks in all folders" in call(glob, state, pattern="*.rs").text


@pytest.mark.parametrize("name", ["find_files", "glob_search", "file_search"])
def test_other_names(state: RunState, name: str) -> None:
    put("a.py")
    assert call(glob, state, name=name, pattern="*.py").text == "a.py"
