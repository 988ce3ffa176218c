"""The README is true: every command, flag, tool and exit code it names is there, and its Chinese twin keeps step."""

from __future__ import annotations

import re
import shlex
from functools import cache
from typing import Any

import pytest
from typer.main import get_command

from aicli import errors
from aicli.cli import app
from tests.support.readme import CHINESE, README, ROOT, shown


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command object that a command line ends at, and its remaining words."""
    command: Any = get_command(app)
    context = command.make_context("aicli", [], resilient_parsing=True)
    while words and hasattr(command, "get_command"):
        found = command.get_command(context, words[0])
        if found is None:
            break
        command, words = found, words[1:]
    return command, words


@cache
def flags_of(name: str) -> frozenset[str]:
    command, _ = command_of(name.split())
    return frozenset(o for p in command.params for o in (*p.opts, *p.secondary_opts)) | {"--help", "-h"}


@pytest.mark.parametrize("line", shown(README))
def test_each_command_line_shown_is_one(line: str) -> None:
    words = shlex.split(line.split(">")[0])
    words = words[next(i for i, w in enumerate(words) if w.endswith("aicli")) + 1 :]
    command, rest = command_of(list(words))
    known = frozenset(o for p in command.params for o in (*p.opts, *p.secondary_opts)) | {"--help", "-h"}
    assert command.name != "aicli" or not words or words[0].startswith("-"), f"{line}: no such command"
    for word in rest:
        if word.startswith("-") and word != "-":
            assert word.split("=")[0] in known, f"{line}: no flag {word}"


def test_the_commands_table_names_every_command() -> None:
    group = get_command(app)
    names = group.list_commands(group.make_context("aicli", [], resilient_parsing=True))  # type: ignore[attr-defined]
    for name in names:
        assert re.search(rf"`aicli {name}\b", README), f"the README does not name aicli {name}"


def test_the_exit_codes_are_those_of_the_errors() -> None:
    table = {int(n) for row in re.findall(r"^\| ([\d, ]+) \|", README, re.M) for n in row.split(",")}
    ours = {c.exit_code for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.AicliError)}
    assert ours | {0, 129, 130, 143} == table


def test_the_chinese_readme_keeps_step() -> None:
    assert len(shown(CHINESE)) == len(shown(README))
    headings = [len(re.findall(r"^#+ ", text, re.M)) for text in (README, CHINESE)]
    rows = [len(re.findall(r"^\|", text, re.M)) for text in (README, CHINESE)]
    assert headings[0] == headings[1] and rows[0] == rows[1]
    codes = [re.findall(r"^\| ([\d, 、]+) \|", text, re.M) for text in (README, CHINESE)]
    assert [c.replace("、", ", ") for c in codes[1]] == codes[0]


@pytest.mark.parametrize("text", [README, CHINESE], ids=["en", "zh"])
def test_every_link_leads_somewhere(text: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in target or (ROOT / target).exists(), f"{target} is not there"
