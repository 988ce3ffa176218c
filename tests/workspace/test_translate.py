"""A pattern translated for ripgrep finds at least what Python finds."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

from aicli.workspace.searchfile import unified
from aicli.workspace.translate import translated
from tests.support.counts import count

ATOMS = [
    *(
        r"\d",
        r"\w",
        r"\s",
        r"\S",
        r"\D",
        r"\W",
        r"\b",
        r"\B",
        "^",
        "$",
        ".",
        "a",
        "b",
        "_",
        "-",
        " ",
        "1",
        "#",
        "<",
        "\t",
    ),
    *("[ab]", "[^a]", r"[\w-]", r"[\d.]", r"[^\s]", r"[a\]]", "[.-]", "[--a]", "[a&&b]", r"[\]-a]", "[+-]", "[a|b]"),
    *(r"\.", r"\/", r"\-", "(a|b)", "(?:ab)", "(b$|1)", "|", "A", "&", "~"),
]
SUFFIXES = ["", "", "", "*", "+", "?", "{2}", "{,2}", "{1,}", "*?", "+?", "{1,2}?"]
ALPHABET = ["a", "b", "A", "_", " ", "1", "-", ".", "\r", "\x1c", "\x0b", "\t", "#", "&", "~", "]", "^", "|", "/", "<"]


def test_it_misses_nothing(tmp_path: Path) -> None:
    program = shutil.which("rg")
    if program is None:
        pytest.skip("ripgrep is not installed")
    seed = 20_261_130
    rng = random.Random(seed)
    texts = ["".join(rng.choices(ALPHABET, k=rng.randrange(7))) + rng.choice(["", "\n", "\r\n"]) for _ in range(250)]
    for n, text in enumerate(texts):
        (tmp_path / str(n)).write_bytes(text.encode())
    tried = 0
    for _ in range(count(60, 3_000)):
        pattern = "".join(rng.choice(ATOMS) + rng.choice(SUFFIXES) for _ in range(rng.randrange(1, 5)))
        try:
            with warnings.catch_warnings(action="ignore"):
                regex = re.compile(pattern, re.MULTILINE)
        except re.error:
            continue
        if not (line := translated(pattern)):
            continue
        argv = [program, "--no-config", "-l", "--text", "--encoding=none", "-e", line, "."]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode in (0, 1), (pattern, line, done.stderr)
        found = {int(name[2:]) for name in done.stdout.split()}
        for n, text in enumerate(texts):
            lines = unified(text).split("\n")
            if any(map(regex.search, lines[:-1] if not lines[-1] else lines)):
                assert n in found, (seed, pattern, line, text)
        tried += 1
    assert tried > 20


@pytest.mark.parametrize(
    "pattern",
    ["(?i)a", "(?=a)b", r"(a)\1", "a*+b", "[[:alpha:]]", "你", r"\x41", r"\Aa", "(?P<n>a)", "[a--b]", r"[^\W]", "{"],
)
def test_what_is_not_plain_is_left_to_python(pattern: str) -> None:
    assert translated(pattern) == ""


@pytest.mark.parametrize("pattern", [r"$\b", r"(a$|b)\b", r"\b^a", "a$*", "$a"])
def test_an_anchor_in_an_odd_place_is_left_to_python(pattern: str) -> None:
    assert translated(pattern) == ""


def test_lines_that_are_not_ascii_are_always_looked_at() -> None:
    regex = re.compile(translated(r"\d+$").removeprefix("(?-u:")[:-1].encode())
    assert all(map(regex.search, ("x٣".encode(), "你".encode("gbk"), "1".encode("utf-16-le"), b"12")))
    assert not regex.search(b"word")
