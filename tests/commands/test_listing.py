from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from aicli import paths


def test_agent_list_shows_the_four(aicli: Callable) -> None:
    ran = aicli("agent", "list")
    names = [line.split()[0] for line in ran.out.splitlines()]
    assert ran.code == 0 and {"general", "explore", "plan", "code"} <= set(names)
    assert {a["name"] for a in json.loads(aicli("agent", "list", "--json").out)} == set(names)


@pytest.mark.parametrize("word", ["show", "info"])
def test_agent_show_tells_kind_description_and_capabilities(aicli: Callable, word: str) -> None:
    out = aicli("agent", word, "general-purpose").out
    assert out.startswith("general\n")
    for text in ("kind", "description", "capabilities", "write_file"):
        assert text in out
    explore = json.loads(aicli("agent", word, "Explore", "--json").out)
    assert not {"write_file", "edit", "shell"} & set(explore["tools"])
    ran = aicli("agent", word, "generel")
    assert ran.code == 2 and "Did you mean general?" in ran.err


def test_own_agents_and_tools_are_listed_and_broken_ones_named(aicli: Callable) -> None:
    agents, tools = paths.config_folder() / "agents", paths.config_folder() / "tools"
    for folder in (agents, tools):
        folder.mkdir(parents=True)
    (agents / "helfer.md").write_text('+++\ndescription = "Hilft 中."\n+++\nHilf.', encoding="utf-8")
    (agents / "broken.md").write_text("+++\nnope = 1\n+++\n")
    (tools / "count_lines.py").write_text(
        'from aicli import tool\n\n\n@tool\ndef count_lines(path: str) -> str:\n    """Counts lines."""\n    return path\n'
    )
    (tools / "broken.py").write_text("import nothing_like_this\n")
    ran = aicli("agent", "list")
    assert "helfer       Hilft 中." in ran.out and "broken.md" in ran.err
    ran = aicli("tools")
    assert "count_lines" in ran.out and "broken.py" in ran.err


def test_an_agent_file_of_another_program_has_the_tools_that_it_names(aicli: Callable) -> None:
    agents = paths.config_folder() / "agents"
    agents.mkdir(parents=True)
    (agents / "reader.md").write_text("---\nname: reader\ntools: Read, Grep, Bash\n---\nYou read.")
    (agents / "wrong.md").write_text("---\ntools: Read, Wriet\n---\nYou read.")
    (agents / "unknown.md").write_text("---\ntolls: Read\n---\nYou read.")
    found = json.loads(aicli("agent", "show", "reader", "--json").out)
    assert found["tools"] == ["grep", "read_file", "shell"] and found["instructions"] == "You read."
    ran = aicli("agent", "show", "wrong")
    assert ran.code == 2 and "no tool matches 'Wriet'. Did you mean write_file?" in ran.err
    ran = aicli("agent", "show", "unknown")
    assert ran.code == 52 and "unknown.md: an agent has no 'tolls'. Did you mean tools?" in ran.err


def test_tools_show_kind_description_and_aliases(aicli: Callable) -> None:
    shown = aicli("tools").out.splitlines()
    lines = {line.split()[0]: line for line in shown}
    assert " read " in lines["read_file"] and lines["edit"].endswith("by new_string in a file.")
    assert any(line.split()[:2] == ["also", "edit_file,"] for line in shown)
    every = json.loads(aicli("tools", "--json").out)
    assert all(t["description"] and t["parameters"]["type"] == "object" for t in every)
    one = json.loads(aicli("tools", "read_file").out)
    assert "path" in one["parameters"]["properties"]
    ran = aicli("tools", "reed_file")
    assert ran.code == 2 and "Did you mean read_file?" in ran.err


def test_a_project_is_not_read_before_it_is_trusted(aicli: Callable, isolated: Path) -> None:
    folder = isolated / ".aicli" / "tools"
    folder.mkdir(parents=True)
    (folder / "evil.py").write_text("import pathlib; pathlib.Path('PWN').touch()\n")
    aicli("tools")
    aicli("agent", "list")
    assert not (isolated / "PWN").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_scripts(aicli: Callable, shell: str) -> None:
    ran = aicli("completion", shell)
    assert ran.code == 0 and f"completion {shell} --line" in ran.out
    assert aicli("completion", "tcsh").code == 2


@pytest.mark.parametrize(
    ("line", "word"),
    [("aicli ses", "sessions"), ("aicli config ", "explain"), ("aicli agent run --max-tu", "--max-turns")],
)
def test_a_shell_is_told_what_could_come_next(aicli: Callable, line: str, word: str) -> None:
    ran = aicli("completion", "bash", "--line", line)
    assert ran.code == 0 and word in ran.out.split()


@pytest.mark.parametrize("group", ["agent", "config"])
def test_a_group_alone_shows_its_help_as_it_is(aicli: Callable, group: str) -> None:
    ran = aicli(group)
    shown = ran.out + ran.err
    assert "aicli: Usage" not in shown and len(shown.splitlines()) > 3


def test_a_wrong_command_line_names_the_help_of_its_command(aicli: Callable) -> None:
    ran = aicli("permissions", "explain", "ls", "-x")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "aicli: No such option: -x. Try aicli permissions explain --help\n"
    assert aicli("replay").err == "aicli: Missing argument 'ID'. Try aicli replay --help\n"


MISREAD = [
    (("prompt", "hi", "--max-turns"), "Option '--max-turns' requires an argument. Try aicli prompt --help"),
    (("agent", "run", "code", "--model"), "Option '--model' requires an argument. Try aicli agent run --help"),
    (
        ("prompt", "--max-turns", "x"),
        "Invalid value for '--max-turns': should be a whole number. Try aicli prompt --help",
    ),
    (("sessions", "list", "-n", "0"), "should be at least 1. Try aicli sessions list --help"),
    (("prompt", "hi", "--max-turns", "0"), "--max-turns should be at least 1, not 0"),
]


@pytest.mark.parametrize(("words", "said"), MISREAD, ids=[" ".join(row[0]) for row in MISREAD])
def test_what_cant_be_read_is_said_in_our_words_with_the_command_s_own_help(
    aicli: Callable, words: tuple[str, ...], said: str
) -> None:
    ran = aicli(*words)
    assert ran.code == 2 and said in ran.err and "Input should" not in ran.err, ran
