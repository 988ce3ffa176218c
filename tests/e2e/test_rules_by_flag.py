"""Rules given by flag: every one is read as in the settings, or the run does not start."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

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


DENIED = [
    (call("write_file", path="a.txt", content="x"), "--permission-mode accept-edits"),
    (call("shell", command="npm test --silent"), "--allowed-tools 'shell(npm test *)'"),
    (call("web_fetch", url="https://example.org/a"), "--allowed-tools 'web_fetch(domain:example.org)'"),
]


@pytest.mark.parametrize(("asked", "flag"), DENIED, ids=[row[1] for row in DENIED])
def test_a_denial_names_the_flag_that_allows_it(here: Callable[..., Ran], asked: dict[str, Any], flag: str) -> None:
    unconfined = {"AICLI_SANDBOX__MODE": "off"}
    for mode in ((), ("--permission-mode", "default")):
        with ModelServer([[asked], "done"]) as server:
            ran = here("agent", "run", "general", "x", "--json", *mode, server=server, env=unconfined)
        (denial,) = ran.result("json")["permission_denials"]
        assert denial["why"].endswith(f"; nobody is asked here: allow it with {flag}"), denial
    with ModelServer([[asked], "done"]) as server:
        args = ("agent", "run", "general", "x", "--json", "--offline", *shlex.split(flag))
        ran = here(*args, server=server, env=unconfined)
    assert ran.result("json")["permission_denials"] == [], ran


def test_what_no_flag_allows_names_none(here: Callable[..., Ran]) -> None:
    for asked in (call("write_file", path=".git/config", content="x"), call("shell", command="rm -r /etc/x; $(x)")):
        with ModelServer([[asked], "done"]) as server:
            ran = here("agent", "run", "general", "x", "--json", server=server)
        assert "allow it with" not in str(ran.result("json")["permission_denials"]), ran
