"""What the pages on scripted use say is what the program does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from aicli import errors
from aicli.cli import run

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [DOCS / "scripts.md", DOCS / "ci" / "github.yml", DOCS / "ci" / "gitlab.yml"]


def known_flags(command: list[str], capfd: pytest.CaptureFixture[str]) -> set[str]:
    capfd.readouterr()
    assert run([*command, "--help"]) == 0
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", capfd.readouterr().out))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_command_line_uses_flags_that_exist(page: Path, capfd: pytest.CaptureFixture[str]) -> None:
    prompt, agent = known_flags(["prompt"], capfd), known_flags(["agent", "run"], capfd)
    text = page.read_text(encoding="utf-8").replace("\\\n", " ").replace("\n      ", " ")
    found = 0
    for line in re.findall(r"aicli (?:prompt|agent run) [^\n`]*", text):
        words = shlex.split(re.split(r"\s[|<>]\s|\s&&|\s\|\|", line)[0], comments=False)
        known = prompt if words[1] == "prompt" else agent
        for word in words:
            if word.startswith("--"):
                found += 1
                assert word in known, (word, line)
    assert found


def test_the_table_of_exit_codes_is_that_of_the_errors() -> None:
    rows = re.findall(r"^\| ([\d, ]+) \| (`[^|]+) \|", (DOCS / "scripts.md").read_text(encoding="utf-8"), re.MULTILINE)
    said = {subtype: codes for codes, cell in rows for subtype in re.findall(r"`(\w+)`", cell)}
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, errors.AicliError) and error is not errors.LimitReached:
            assert said[error.subtype] == str(error.exit_code), error
    assert {subtype for subtype, code in said.items() if code == "53"} >= {"error_max_turns", "error_loop"}


def test_the_schemas_name_the_same_subtypes() -> None:
    import json

    schema = json.loads((DOCS / "result.schema.json").read_text())
    text = (DOCS / "scripts.md").read_text(encoding="utf-8")
    assert all(f"`{subtype}`" in text for subtype in schema["properties"]["subtype"]["enum"])
