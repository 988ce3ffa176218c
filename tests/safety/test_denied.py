"""Deny rules for changes and commands: read from the line as far as it shows, and held by the sandbox where it can."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from aicli.content.kinds import PermissionMode, ToolKind
from aicli.safety.confined import Sandbox
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
        "write_file",
        "nonsense(",
    ]
    wanted = {os.path.join(isolated, name) for name in ("src", "a/b", "x.txt")}
    assert set(held_paths(rules, isolated)) == wanted
    assert held_paths(["edit(src/**/)", "edit(src/*/)", "edit(src///)"], isolated) == (os.path.join(isolated, "src"),)
    for every in ("edit", "edit(**)", "edit(*)", "edit(/**)", "edit(**/*)", "Edit(//**)", {"rule": "edit"}):
        assert held_paths([every], isolated) == ("/",), every
    assert held_paths(["edit(//etc/x)", "edit(~/n.md)"], isolated) == ("/etc/x", os.path.expanduser("~/n.md"))


@pytest.mark.parametrize("rule", ["edit", "edit(**)", "edit(*)", "Edit"])
def test_a_bare_rule_takes_every_path(rule: str, workspace: Workspace) -> None:
    policy = Policy(PermissionMode.BYPASS, parse_rules(deny=[rule]), workspace, sandbox_status="full")
    for command in ("rm src/a.py", "echo x > f.txt", "cp f.txt g.txt", "cd src && touch new"):
        assert policy.verdict("shell", ToolKind.EXECUTE, {"command": command}).decision == "deny", command
    for command in ("cat src/a.py", "ls", "make"):
        assert policy.verdict("shell", ToolKind.EXECUTE, {"command": command}).decision == "allow", command
    alone = Policy(PermissionMode.BYPASS, parse_rules(deny=["write_file"]), workspace, sandbox_status="full")
    assert alone.verdict("shell", ToolKind.EXECUTE, {"command": "rm src/a.py"}).decision == "allow"


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


def tree(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("old\n")


def held_box(folder: Path, *rules: str) -> Sandbox:
    return detect("required", folder, held=held_paths(rules, folder))


@needs_bwrap
def test_holding_one_path_opens_no_other(isolated: Path) -> None:
    tree(
        isolated,
        ".vscode/tasks.json",
        ".vscode/sub/x",
        ".aicli/agents/x.md",
        "src/gen/a",
        "src/gen/out/o",
        "vendor/lib/f",
    )
    subprocess.run(["git", "init", "-q", "vendor"], check=True)
    rules = (
        "edit(src/**)",
        "edit(src/gen/out/**)",
        "edit(.vscode/sub/**)",
        "edit(vendor/lib/**)",
        "edit(/.aicli/agents/x.md)",
    )
    wanted = ".vscode/tasks.json .aicli/agents/x.md .aicli/new src/gen/a src/gen/new src/gen/out/o vendor/.git/config"
    names = [*wanted.split(), "vendor/.git/hooks/pre-commit", "vendor/.git/hooks/new", "vendor/lib/f"]
    script = "for f in " + " ".join(names) + "; do (echo x >> $f) 2>/dev/null && echo $f; done; echo x > vendor/free"
    for order in (rules, rules[::-1]):
        done = run(held_box(isolated, *order), isolated, script)
        assert (done.stdout, done.returncode) == ("", 0), done


@needs_bwrap
@pytest.mark.parametrize("rule", ["edit", "edit(**)"])
def test_all_paths_are_held(rule: str, isolated: Path) -> None:
    tree(isolated, "src/a.py")
    box = held_box(isolated, rule)
    assert run(box, isolated, "echo x > new; echo x > src/a.py; rm -r src; mkdir .aicli; git init -q .").returncode != 0
    assert os.listdir(isolated) == ["src"] and (isolated / "src/a.py").read_text() == "old\n"
    assert run(box, isolated, "cat src/a.py && echo t > /tmp/t").stdout == "old\n"


@needs_bwrap
def test_another_case_is_held_too(isolated: Path) -> None:
    tree(isolated, "src/a", "Src/a", "文件夹/É")
    done = run(
        held_box(isolated, "edit(SRC/**)", "edit(文件夹/é)"), isolated, "echo x | tee src/a Src/a 文件夹/É; echo x > ok"
    )
    assert [(isolated / name).read_text() for name in ("src/a", "Src/a", "文件夹/É")] == ["old\n"] * 3, done
    assert (isolated / "ok").exists()


@needs_bwrap
def test_a_link_that_could_be_replaced_stops_commands(isolated: Path) -> None:
    tree(isolated, "real/f", "a/b/f")
    (isolated / "src").symlink_to("real")
    (isolated / "a" / "loop").symlink_to("loop")
    (isolated / "a" / "b" / "in").symlink_to("../../real")
    for rule in ("edit(src/**)", "edit(/src)", "edit(SRC/f)", "edit(a/loop)"):
        box = held_box(isolated, rule)
        with pytest.raises(PermissionError, match="a link that any command could replace"):
            box.confine(["true"], cwd=isolated, env={})
        assert run(box, isolated, "cat src/f", writable=False).stdout == "old\n"
    box = held_box(isolated, "edit(real/**)", "edit(a/b/**)", "edit(a/b/in/f)", "edit(absent/**)")
    done = run(box, isolated, "rm a/b/in; rm src; mkdir src; echo x > real/f; echo y > src/f")
    assert (isolated / "real/f").read_text() == "old\n" and (isolated / "a/b/in").is_symlink(), done
    assert (isolated / "src/f").read_text() == "y\n"


@needs_bwrap
def test_what_a_protected_link_leads_to_is_kept(isolated: Path) -> None:
    tree(isolated, "config/code/tasks.json", "config/mcp.json", "config/free")
    (isolated / ".vscode").symlink_to("config/code")
    (isolated / ".mcp.json").symlink_to("config/mcp.json")
    (isolated / ".idea").symlink_to(".")
    subprocess.run(["git", "init", "-q", "."], check=True)
    tree(isolated, "config/git")
    (isolated / ".git/config").unlink()
    (isolated / ".git/config").symlink_to("../config/git")
    run(detect("required", isolated), isolated, "echo x | tee config/*/*.json config/*.json config/git config/free")
    found = [(isolated / "config" / name).read_text() for name in ("code/tasks.json", "mcp.json", "git", "free")]
    assert found == ["old\n", "old\n", "old\n", "x\n"]
