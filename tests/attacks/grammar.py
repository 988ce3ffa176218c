"""Command lines at random from a grammar of shell, weighted towards what the gate knows and what has fooled gates."""

from __future__ import annotations

import random
from collections.abc import Callable

from aicli.safety.allowlist import GIT, PROGRAMS

FILES = (
    "f.txt",
    "src/a.py",
    "src",
    ".",
    "link-in",
    "nothere",
    "-",
    "link-out",
    ".env",
    "../outside.txt",
    "/etc/passwd",
)
HOSTILE = (
    "-o PWN",
    "-oPWN",
    "--output=PWN",
    "--outp=PWN",
    "-exec touch PWN ;",
    "-exec touch PWN \\;",
    "-delete",
    "-fprint PWN",
    "-fls PWN",
    "-i",
    "-i.bak",
    "w PWN",
    "'1w PWN'",
    "'1e touch PWN'",
    "-ewPWN",
    "-e 'w PWN'",
    "--compress-program=./ev",
    "-T.",
    "--files0-from=f.txt",
    "-f ev",
    "--ext-diff",
    "--textconv",
    "-c core.pager=./ev",
    "-c alias.x=!./ev",
    "--exec-path=.",
    "--format=%G?",
    "-O./ev",
    "--pre ./ev",
    "--to-command=./ev",
    "-C ..",
    "--git-dir=.",
    "--no-index",
    "-R",
    "-L",
    "--dereference",
    "-c",
    "--check",
    "-X f.txt",
    "--from-file=f.txt",
)
WRITERS = (
    "touch PWN",
    "tee PWN",
    "cp f.txt PWN",
    "rm f.txt",
    "sh ev",
    "./ev",
    'python3 -c \'open("PWN","w")\'',
    "eval ls",
)
VALUES = ("1", "2", "a", ",", "f.txt")
JOINS = (" | ", " && ", " || ", "; ", ";", "|", " & ", "\n", " |& ", "&&")
WRAPS: tuple[Callable[[str], str], ...] = (
    lambda c: c,
    lambda c: c,
    lambda c: c,
    lambda c: c,
    lambda c: f"echo $({c})",
    lambda c: f"echo `{c}`",
    lambda c: f"({c})",
    lambda c: f"{{ {c}; }}",
    lambda c: f"env {c}",
    lambda c: f"timeout 1 {c}",
    lambda c: f"{c} > PWN",
    lambda c: f"{c} >> f.txt",
    lambda c: f"{c} 2>PWN",
    lambda c: f"A=1 {c}",
    lambda c: f"cd src && {c}",
    lambda c: f"cd .. && {c}",
    lambda c: f"{c} # x",
    lambda c: f"! {c}",
    lambda c: c.replace(" ", "  "),
    lambda c: c.replace(" ", "\t"),
    lambda c: c.replace(" ", " \\\n"),
    lambda c: c.replace("-", "\\-"),
    lambda c: f"bash -c '{c}'",
)


def flags(chance: random.Random, program: str) -> list[str]:
    known = GIT.get(program) or PROGRAMS.get(program)
    if known is None:
        return []
    out = []
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
        kind = chance.random()
        if kind < 0.5 and known.flags:
            out.append("-" + "".join(chance.choices(known.flags, k=chance.choice((1, 1, 2)))))
        elif kind < 0.75 and known.valued:
            letter, gap = chance.choice(list(known.valued)), chance.choice(("", " "))
            out.append(f"-{letter}{gap}{chance.choice(VALUES)}")
        elif known.long:
            out.append(f"--{chance.choice(list(known.long))}{chance.choice(('', '=1', '=never', '=x'))}")
    return out


def quoted(chance: random.Random, word: str) -> str:
    return chance.choice((word, word, word, f"'{word}'", f'"{word}"', f"''{word}", f"{word[:1]}'{word[1:]}'"))


def simple(chance: random.Random) -> str:
    if chance.random() < 0.06:
        return chance.choice(WRITERS)
    if chance.random() < 0.08:
        words = [
            "find",
            chance.choice((".", "src", "..")),
            *chance.choice((["-name", "'*.py'"], ["-type", "f"], ["-empty"], [])),
        ]
    elif chance.random() < 0.08:
        words = ["sed", "-n", chance.choice(("1p", "1,5p", "'1,$p'", "1,2d", "'1p;w PWN'")), "f.txt"]
    elif chance.random() < 0.2:
        name = chance.choice(list(GIT))
        words = [
            "git",
            name,
            *flags(chance, name),
            *chance.choices(("HEAD", "HEAD~1", "--", "src", "f.txt"), k=chance.choice((0, 1, 2))),
        ]
    else:
        name = chance.choice(list(PROGRAMS))
        words = [name, *flags(chance, name)]
        words += [quoted(chance, w) for w in chance.choices(FILES, k=chance.choice((0, 1, 1, 2, 3)))]
    if chance.random() < 0.15:
        words.insert(chance.randrange(1, len(words) + 1), chance.choice(HOSTILE))
    return " ".join(words)


def command(chance: random.Random) -> str:
    """One line; about half of what it makes is harmless."""
    line = simple(chance)
    while chance.random() < 0.3:
        line += chance.choice(JOINS) + simple(chance)
    return chance.choice(WRAPS)(line)
