"""Rules given by flag: every one is read as in the settings, or the run does not start."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from aicli.commands._options import rules
from tests.e2e.process import Ran
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call

WRONG = [
    ("--disallowed-tools", "shell(curl *", "'shell(curl *': a bracket is not closed"),
    ("--disallowed-tools", "shell(git log, shell(curl *)", "a bracket is not closed"),
    ("--allowed-tools", "foo(", "'foo(': a bracket is not closed"),
    ("--allowed-tools", "shel(curl *)", "names no tool. Did you mean shell?"),
    ("--disallowed-tools", "edit, write_fil", "'write_fil' names no tool. Did you mean write_file?"),
    ("--disallowed-tools", "edit) shell", "a bracket is not closed"),
]


@pytest.mark.parametrize(("flag", "rule", "said"), WRONG, ids=[row[1] for row in WRONG])
def test_a_rule_that_is_none_ends_the_run_before_it_starts(
    here: Callable[..., Ran], flag: str, rule: str, said: str
) -> None:
    with ModelServer(["never"]) as server:
        ran = here("agent", "run", "general", "x", flag, rule, "--yolo", server=server)
        assert not server.bodies
    assert ran.code == 2 and said in ran.err and "MultiEdit" not in ran.err, ran


@pytest.mark.parametrize("rule", ["Bash", "bash(touch *)", "run_command", "sh", "edit, shell(touch *)"])
def test_a_tool_may_be_called_by_any_of_its_names(here: Callable[..., Ran], rule: str) -> None:
    with ModelServer([[call("shell", command="touch made")], "done"]) as server:
        ran = here("agent", "run", "general", "x", "--disallowed-tools", rule, "--yolo", "--json", server=server)
    assert [d["tool_name"] for d in ran.result("json")["permission_denials"]] == ["shell"], ran


def test_commas_and_blanks_in_brackets_and_quotes_separate_nothing() -> None:
    assert rules(["shell(git log *), read(a, b) edit", "network(x)"]) == [
        "shell(git log *)",
        "read(a, b)",
        "edit",
        "network(x)",
    ]
    assert rules(["shell(echo ')' a), edit"]) == ["shell(echo ')' a)", "edit"]
    assert rules(["read(it's), shell(x)"]) == ["read(it's)", "shell(x)"]
    assert rules(["shell(a, shell(b)"]) == ["shell(a, shell(b)"] and rules(["", " , "]) == []
