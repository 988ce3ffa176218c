"""Ignore rules as git has them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from aicli.workspace.globs import BadGlob, compile_glob, expand, fixed_prefix, names_hidden
from aicli.workspace.ignore import IgnoreRules

RULES = {
    ".gitignore": "# comment\n\n*.log\n!keep.log\nbuild/\n/top\ndocs/*.txt\n**/deep/**\n!**/deep/**/kept\n"
    "\\#odd\n\\!bang\ntrail  \n文件*\na?c\n[xy]1\n",
    "sub/.gitignore": "!again.log\n/only\nlocal/\n",
    "sub/more/.gitignore": "*\n!.gitignore\n!yes\n",
    "inner/.gitignore": "out/**\n!out/in/\n!out/in/**\nbad[\n",
}
NAMES = [
    *(
        "a.log",
        "keep.log",
        "x/keep.log",
        "build/a",
        "x/build/b",
        "build.txt",
        "top",
        "x/top",
        "docs/a.txt",
        "docs/x/a.txt",
    ),
    *(
        "deep/a",
        "q/deep/b/c",
        "q/deep/b/kept",
        "#odd",
        "!bang",
        "trail",
        "trail  ",
        "文件一",
        "x/文件二.md",
        "abc",
        "ac",
        "x1",
        "y1",
    ),
    *(
        "sub/again.log",
        "sub/other.log",
        "sub/only",
        "sub/x/only",
        "sub/local/f",
        "sub/more/no",
        "sub/more/yes",
        "sub/more/d/e",
    ),
    *("inner/out/a", "inner/out/in/b", "inner/bad[", "plain", "sp ace", 'q"uote', "with:colon"),
]


def make(root: Path) -> None:
    for name, text in RULES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name in NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")


def test_it_agrees_with_git(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    root = tmp_path / "repo"
    root.mkdir()
    make(root)
    subprocess.run(["git", "init", "-q", root], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("plain\n")
    argv = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    listed = set(subprocess.run(argv, check=True, capture_output=True, env=env).stdout.decode().split("\0")) - {""}
    rules = IgnoreRules(root)
    everything = [*NAMES, *RULES]
    assert {name for name in everything if not rules.ignored(name, False)} == listed


def test_a_folder_asked_for_as_such(tmp_path: Path) -> None:
    make(tmp_path)
    rules = IgnoreRules(tmp_path)
    assert rules.ignored("build", True) and not rules.ignored("build", False)
    assert rules.ignored("x/build/deeper/still", False)
    assert rules.ignored("sub/local", True) and not rules.ignored("sub", True)
    assert not rules.ignored("", True) and not rules.ignored(".", True)
    assert rules.ignored(".git", True) and rules.ignored("x/.git/config", False)


def test_own_rules_win_over_gits(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.gen\n")
    (tmp_path / ".aicliignore").write_text("!wanted.gen\nsecret.txt\n")
    rules = IgnoreRules(tmp_path)
    assert (
        rules.ignored("a.gen", False) and not rules.ignored("wanted.gen", False) and rules.ignored("secret.txt", False)
    )


def test_rules_above_count_inside_a_work_tree_only(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "a" / "b"
    inner.mkdir(parents=True)
    (outer / ".gitignore").write_text("*.o\n/a/b/gen\n")
    (outer / "a" / ".gitignore").write_text("!keep.o\n")
    assert not IgnoreRules(inner).ignored("x.o", False)
    (outer / ".git").mkdir()
    rules = IgnoreRules(inner)
    assert rules.ignored("x.o", False) and rules.ignored("sub/x.o", False) and rules.ignored("gen", False)
    assert not rules.ignored("keep.o", False) and not rules.ignored("sub/gen", False)


def test_odd_rule_files_do_no_harm(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / ".gitignore").write_bytes(b"\xef\xbb\xbf*.x\r\n\xff\xfe\nbad\\\n")
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / ".gitignore").symlink_to("/etc/passwd")
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / ".gitignore").write_text("*\n" * 600_000)
    rules = IgnoreRules(tmp_path)
    assert rules.ignored("d/a.x", False)
    assert not any(rules.ignored(name, False) for name in ("a", "d/a.y", "e/root", "f/a"))


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        *(("**/*.py", "a.py", True), ("**/*.py", "x/y/a.py", True), ("*.py", "a.py", True), ("*.py", "x/a.py", False)),
        *(("src/**", "src/a/b", True), ("src/**", "src", False), ("a/**/b", "a/b", True), ("a/**/b", "a/x/y/b", True)),
        *(("**", "a/b/c", True), ("**/x/**", "a/x/b", True), ("a**b", "axxb", True), ("a**b", "ax/xb", False)),
        *(("?.c", "a.c", True), ("?.c", "/.c", False), ("[a-c].x", "b.x", True), ("[!a-c].x", "b.x", False)),
        *(("[!a].x", "b.x", True), ("[^a].x", "b.x", True), ("[]a].x", "].x", True), ("a[/]b", "a/b", False)),
        *(
            ("app/[locale]/(auth)/**", "app/[locale]/(auth)/page.tsx", True),
            ("[id].ts", "[id].ts", True),
            ("[id].ts", "i.ts", True),
        ),
        *(("app/[[...slug]]/x.tsx", "app/[[...slug]]/x.tsx", True), ("[[...sign-in]]", "[[...sign-in]]", True)),
        *(
            ("*.{ts,tsx}", "a.tsx", True),
            ("*.{ts,tsx}", "a.t", False),
            ("{a,b{c,d}}/*", "bd/e", True),
            ("*.{ts", "x.{ts", True),
        ),
        *(
            ("*.{ts", "a.ts", False),
            ("{one}", "{one}", True),
            ("a{,b}", "a", True),
            ("./a", "a", True),
            ("a//b", "a/b", True),
        ),
        *(("*", ".env", False), (".env*", ".env.example", True), ("**/*", ".git/x", False), ("**/*", "a/.x", False)),
        *((".github/**/*.yml", ".github/workflows/ci.yml", True), ("\\*.c", "*.c", True), ("*.文", "件.文", True)),
        *(("[z-a]", "[z-a]", True), ("a\nb*", "a\nbc", True), ("*+(x).c", "a+(x).c", True)),
    ],
)
def test_globs(pattern: str, path: str, fits: bool) -> None:
    assert (compile_glob(pattern).fullmatch(path) is not None) is fits


def test_hidden_on_request() -> None:
    assert compile_glob("**/*", hidden=True).fullmatch(".git/.x") and compile_glob("*", hidden=True).fullmatch(".env")
    assert names_hidden(".env*") and names_hidden("a/.b/*") and names_hidden("{a,.b}/*")
    assert not names_hidden("./a/*") and not names_hidden("../a") and not names_hidden("a.b/*.c")


def test_prefixes() -> None:
    assert fixed_prefix("a/b/*.c") == "a/b" and fixed_prefix("*.c") == "" and fixed_prefix("a/[id]/x") == "a"
    assert fixed_prefix("./a/b") == "a" and fixed_prefix("{a,b}/c") == ""


def test_too_many_braces_are_an_error() -> None:
    with pytest.raises(BadGlob):
        expand("{a,b}" * 12)
