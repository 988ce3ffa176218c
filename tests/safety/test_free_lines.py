"""The law of what runs unasked: a line is free only if it is run as reading, and a rule covers only what it was shown."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from aicli.content.kinds import PermissionMode, ToolKind
from aicli.safety.policy import Policy
from aicli.safety.rules import parse_rules
from aicli.safety.shell_rules import bash_line
from aicli.tools.builtin.shell import _adapt
from aicli.workspace.root import Workspace

READING = ("ls", "git status", "cat f.txt | head -1", "cd src && cat a.py")


def decided(policy: Policy, command: str, **more: Any) -> str:
    return policy.verdict("shell", ToolKind.EXECUTE, {"command": command, **more}).decision


def policy(workspace: Workspace, mode: str = "dont-ask", *allow: str) -> Policy:
    return Policy(PermissionMode(mode), parse_rules(allow=allow), workspace, sandbox_status="full")


@pytest.mark.parametrize("mode", ["plan", "default", "accept-edits", "dont-ask"])
def test_nothing_is_free_in_the_background_or_with_the_network(mode: str, workspace: Workspace) -> None:
    here = policy(workspace, mode)
    for command in (*READING, "cd src"):
        assert decided(here, command) == "allow", command
        for more in ({"background": True}, {"network": True}, {"background": True, "network": True}):
            assert decided(here, command, **more) == ("deny" if mode in ("plan", "dont-ask") else "ask"), (
                command,
                more,
            )
    explained = here.explain("shell", ToolKind.EXECUTE, {"command": "git status", "background": True})
    assert all(d.verdict.decision != "allow" for d in explained)


def test_a_rule_lets_it_run_in_the_background(workspace: Workspace) -> None:
    here = policy(workspace, "dont-ask", "shell(ls *)")
    assert decided(here, "ls", background=True) == "allow"
    assert decided(here, "git status", background=True) == decided(here, "ls; git status", background=True) == "deny"
    assert decided(policy(workspace, "plan", "shell(ls *)"), "ls", background=True) == "deny"


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("make | tail -5", "allow"),
        ("make 2>&1 | tail -5", "allow"),
        ("make >/dev/null 2>&1; ls", "allow"),
        ("cd src && make && cat a.py", "allow"),
        ("timeout 9 nice make | head -1", "allow"),
        ("make; timeout 9 cat f.txt", "allow"),
        ("time make", "allow"),
        ("command make", "allow"),
        ("make && git status", "deny"),
        ("git status && make", "deny"),
        ("git log | make", "deny"),
        ("make; timeout 9 git status", "deny"),
        ("make; cd src; cat a.py", "deny"),
        ("make; (ls)", "deny"),
        ("make; { ls; }", "deny"),
        ("make; ls &", "deny"),
        ("make; ls > /dev/nullx", "deny"),
        ("make; for x in a; do ls; done", "deny"),
        ("make\nls", "deny"),
        ("make; ls # x", "deny"),
        ("make; cat f.txt; time cat f.txt", "deny"),
        ("make; cat .env", "deny"),
        ("make; cat ../outside.txt", "deny"),
        ("ls() { x; }; make; ls", "deny"),
        ("make; (timeout 9 make)", "deny"),
        ("make; ls 中", "deny"),
    ],
)
def test_beside_other_commands_only_what_is_named_by_its_place_is_free(
    command: str, decision: str, workspace: Workspace
) -> None:
    for mode, expected in (("dont-ask", decision), ("plan", "deny")):
        assert decided(policy(workspace, mode, "shell(make)"), command) == expected, mode
        assert decided(policy(workspace, mode, "shell(make)"), command, background=True) == expected, mode


@pytest.mark.parametrize(
    "command",
    [
        "PATH=. make",
        "export PATH=. && make",
        "export 'PATH=.' && make",
        "export LD_PRELOAD=./x.so; ls; make",
        "declare -x 'PATH=.'; make",
        "printf -v PATH .; make",
        "read PATH; make",
        "env PATH=. make",
        "env 'GIT_EDITOR=./x' make",
        "for PATH in .; do make; done",
        "select GIT_EDITOR in ./x; do make; done",
        "for https_proxy in x; do make; done",
        "make() { ls; }; make",
        "alias make=ls; make",
        "hash -p ./x make; make",
    ],
)
def test_no_rule_with_a_star_covers_what_changes_how_a_line_runs(command: str, workspace: Workspace) -> None:
    open_rules = [f"shell({w} *)" for w in ("make", "export", "declare", "printf", "read", "env", "alias", "hash")]
    assert decided(policy(workspace, "dont-ask", *open_rules), command) == "deny"


def test_a_setting_that_was_shown_is_covered(workspace: Workspace) -> None:
    exact = policy(workspace, "dont-ask", "shell(env CI=1 make)", "shell(make)", "shell(printf *)")
    assert decided(exact, "env CI=1 make") == decided(exact, "printf x; make") == "allow"
    assert decided(exact, "env CI=2 make") == "deny"
    assert decided(policy(workspace, "dont-ask", "shell(make)"), "for x in a b; do make; done") == "allow"


@pytest.mark.parametrize(
    "args",
    [
        {"command": "ls", "env": {"PATH": "."}},
        {"command": "git status", "env": {"GIT_EXTERNAL_DIFF": "./x"}},
        {"command": "make", "env": {"LD_PRELOAD": "./x.so"}},
        {"command": "git", "args": ["-c", "core.fsmonitor=./x", "status"]},
        {"command": "ls #", "args": ["\n./x"]},
        {"command": ["bash", "-c", "make; git status"]},
        {"command": ["make", "&&", "x"]},
    ],
)
def test_arguments_beside_the_line_are_part_of_what_is_judged(args: dict[str, Any], workspace: Workspace) -> None:
    judged = _adapt(args)
    assert set(judged) == {"command"}
    rules = ("shell(make)", "shell(export *)")
    assert decided(policy(workspace, "dont-ask", *rules), judged["command"]) == "deny"


def test_the_folder_is_the_one_that_links_lead_to(workspace: Workspace, tree: Path) -> None:
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "way").symlink_to("a/b")
    (tree / "a" / "out").symlink_to(tree.parent / "outside.txt")
    here = policy(workspace)
    assert decided(here, "cat ../out", cwd="way") == decided(here, "cat out", cwd="a") == "deny"
    assert decided(here, "cat ../../f.txt", cwd="way") == "allow"
    assert decided(here, "ls", cwd="..") == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "cat f.txt | python3 send.py",
        "python3 send.py < f.txt",
        "python3 send.py x",
        "cd . && python3 send.py",
        "git status && python3 send.py",
        "python3 send.py; python3 send.py",
        "python3 send.py &",
        "timeout 5 python3 send.py",
        "time python3 send.py",
        "PATH=. python3 send.py",
        "{ python3 send.py; }",
        "! python3 send.py",
        "for x in a; do python3 send.py; done",
        "python3 send.py # x",
        "python3 send.py 2>&1",
    ],
)
def test_a_network_rule_means_just_the_command(command: str, workspace: Workspace) -> None:
    one = policy(workspace, "dont-ask", "network(python3 send.py)")
    assert decided(one, "python3 send.py", network=True) == "allow"
    assert decided(one, "python3 send.py", network=True, cwd="src") == "deny"
    assert decided(one, command, network=True) == "deny"
    if "*" not in command:
        assert decided(policy(workspace, "dont-ask", f"network({command})"), command, network=True) == "allow"


def test_always_offers_the_line_with_its_folder(workspace: Workspace) -> None:
    here = policy(workspace, "default")
    for command, cwd in (("cd src && npm install", ""), ("npm install", "src")):
        args = {"command": command, "network": True, **({"cwd": cwd} if cwd else {})}
        rule = here.suggest("shell", ToolKind.EXECUTE, args)
        assert rule == "network(cd src && npm install)" and here.covers(rule, "shell", ToolKind.EXECUTE, args)
        assert not here.covers("network(npm install *)", "shell", ToolKind.EXECUTE, args)


def test_what_is_free_is_the_systems_program_whatever_path_says(workspace: Workspace, tree: Path) -> None:
    """Run by bash with programs of the same names first on PATH: none of them starts."""
    bad = tree / "bad"
    bad.mkdir()
    for name in ("cat", "tail", "timeout", "nice", "grep"):
        (bad / name).write_text("#!/bin/sh\necho ran >> pwned\n")
        (bad / name).chmod(0o755)
    placed = bash_line(
        "true && cat f.txt 2>&1 | tail -1; timeout 9 nice cat f.txt | grep -c one; echo 'a;b'", workspace
    )
    bash = shutil.which("bash") or "/bin/bash"
    env = {"PATH": f"{bad}:{os.environ['PATH']}"}
    done = subprocess.run([bash, "-c", placed.text], cwd=tree, env=env, capture_output=True, text=True, timeout=20)
    assert done.stdout == "foo,3\n1\na;b\n" and not (tree / "pwned").exists(), done
    assert bash_line("git status", workspace).text == "git status" and not bash_line("git status", workspace).free
