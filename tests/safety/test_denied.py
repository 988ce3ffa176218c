"""Deny rules for changes and commands: read from the line as far as it shows, and held by the sandbox where it can."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aicli.content.kinds import PermissionMode, ToolKind
from aicli.safety.denied import held_paths
from aicli.safety.policy import Policy
from aicli.safety.rules import parse_rules
from aicli.safety.sandbox import detect
from aicli.workspace.root import Workspace
from tests.safety.test_sandbox import needs_bwrap, run

DENIED = [
    "mv f.txt src/",
    "mv f.txt src",
    "cp f.txt src/",
    "cp -t src f.txt",
    "cp --target-directory=src f.txt",
    "cp f.txt src/b.py",
    "echo x > src/b.py",
    "echo x >> ./src/b.py",
    "echo x | tee -a src/b.py",
    "rm -r src",
    "rm src/a.py",
    "mv src elsewhere",
    "sed -i s/a/b/ src/a.py",
    "touch src/new",
    "mkdir -p src/deep/er",
    "ln -s ../f.txt src/link",
    "ln f.txt src",
    "dd if=f.txt of=src/a.py",
    "truncate -s 0 src/a.py",
    "cd src && touch new",
    "cd src && cat ../f.txt > new",
    "sh -c 'mv f.txt src/'",
    "find src -delete",
    "git checkout src",
    "git rm -r src",
    "env X=1 cp f.txt src/",
    "timeout 5 cp f.txt src/",
    "install f.txt src/b",
]
FREE = [
    "cat src/a.py",
    "grep -r foo src",
    "cp src/a.py copy.py",
    "cp -r src copy",
    "mv f.txt g.txt",
    "echo x > srcs",
    "pytest tests",
    "mkdir other",
    "git add src",
    "touch source",
]


@pytest.mark.parametrize("rule", ["edit(src/**)", "write_file(src/)", "edit(/src/)", "edit(./src/**)"])
@pytest.mark.parametrize("command", DENIED)
def test_what_a_line_shows_is_refused(rule: str, command: str, workspace: Workspace) -> None:
    policy = Policy(PermissionMode.BYPASS, parse_rules(deny=[rule]), workspace, sandbox_status="full")
    assert policy.verdict("shell", ToolKind.EXECUTE, {"command": command}).decision == "deny"


@pytest.mark.parametrize("command", FREE)
def test_other_lines_are_not(command: str, workspace: Workspace) -> None:
    policy = Policy(PermissionMode.BYPASS, parse_rules(deny=["edit(src/**)"]), workspace, sandbox_status="full")
    assert policy.verdict("shell", ToolKind.EXECUTE, {"command": command}).decision == "allow"


def test_rules_that_name_a_path_outright_are_held(isolated: Path) -> None:
    rules = [
        "edit(src/**)",
        "edit(/a/b/)",
        "write_file(x.txt)",
        "edit(*.lock)",
        "read(secret)",
        "edit",
        "edit(**)",
        "nonsense(",
    ]
    wanted = {os.path.join(isolated, name) for name in ("src", "a/b", "x.txt")}
    assert set(held_paths(rules, isolated)) == wanted
    assert held_paths(["edit(//etc/x)", "edit(~/n.md)"], isolated) == ("/etc/x", os.path.expanduser("~/n.md"))


@needs_bwrap
def test_the_sandbox_holds_them_against_any_program(isolated: Path) -> None:
    for name in ("src/a.py", "deep/er/b.py", "one.txt", "free.txt"):
        (isolated / name).parent.mkdir(parents=True, exist_ok=True)
        (isolated / name).write_text("old\n")
    held = held_paths(["edit(src/**)", "edit(deep/er/**)", "edit(/one.txt)", "edit(absent/**)"], isolated)
    box = detect("required", isolated, held=held)
    hostile = [
        "python3 -c \"open('src/a.py','w')\"",
        "python3 -c \"open('src/new.py','w')\"",
        "rm -rf src",
        "mv src gone",
        "mv deep gone",
        "rm -rf deep/er",
        "mv deep/er gone",
        "echo x > one.txt",
        "mv one.txt two.txt",
        "chmod 000 src/a.py",
        "ln -sf /dev/null src/a.py",
    ]
    for line in hostile:
        assert run(box, isolated, line).returncode != 0, line
    done = run(box, isolated, "cat src/a.py deep/er/b.py one.txt && echo new > free.txt && echo new > deep/c.py")
    assert (done.returncode, done.stdout) == (0, "old\n" * 3), done.stderr
    for name in ("src/a.py", "deep/er/b.py", "one.txt"):
        assert (isolated / name).read_text() == "old\n"
    assert (isolated / "free.txt").read_text() == "new\n" and not (isolated / "absent").exists()
