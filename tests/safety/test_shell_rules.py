from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from aicli.content.kinds import PermissionMode, ToolKind
from aicli.safety.lexer import lex
from aicli.safety.policy import Policy
from aicli.safety.rules import parse_rules
from aicli.safety.shell_rules import parts, read_only
from aicli.workspace.root import Workspace
from tests.attacks.corpus import BENIGN, CURL, HOSTILE
from tests.support.figures import figure


def test_nothing_hostile_counts_as_reading(workspace: Workspace) -> None:
    assert [c for c in HOSTILE if read_only(c, workspace) is not None] == []


def test_benign_lines_are_silent_and_run_without_a_shell(workspace: Workspace) -> None:
    plans = {c: read_only(c, workspace) for c in BENIGN}
    loud = [c for c, plan in plans.items() if plan is None]
    assert len(loud) <= len(BENIGN) // 10, loud
    silent = f"{len(BENIGN) - len(loud)} of {len(BENIGN)} benign silent"
    figure(
        "G2", f"{len(HOSTILE)} hostile lines: 0 unasked; {silent}; a denied program in {len(CURL)} disguises: 0 passed"
    )
    for command, plan in plans.items():
        for step in plan.steps if plan else ():
            first = subprocess.run(step.pipeline[0], cwd=step.cwd, capture_output=True, timeout=20)
            assert first.returncode in (0, 1), (command, first.stderr)
            for later in step.pipeline[1:]:
                first = subprocess.run(later, cwd=step.cwd, input=first.stdout, capture_output=True, timeout=20)
                assert first.returncode == 0, (command, first.stderr)


def test_a_plan_says_what_runs_where(workspace: Workspace, tree: Path) -> None:
    plan = read_only("cd src && cat a.py | head -1 || echo 'no file'", workspace)
    assert plan is not None and not plan.git
    assert [(s.joiner, s.cwd, [argv[1:] for argv in s.pipeline]) for s in plan.steps] == [
        ("", str(tree / "src"), [("a.py",), ("-1",)]),
        ("||", str(tree / "src"), [("no file",)]),
    ]
    git = read_only("git log --oneline", workspace)
    assert git is not None and git.git and "--no-ext-diff" in git.steps[0].pipeline[0]
    assert read_only("git log --oneline", workspace, git=False) is None
    assert read_only("cat a.py", workspace, "src") is not None
    assert read_only("cat ../f.txt", workspace, "src") is not None
    assert read_only("cat ../../outside.txt", workspace, "src") is None


def test_a_recursive_search_passes_secrets_by(workspace: Workspace, tree: Path) -> None:
    for command in ("grep -r canary .", "grep -rn '' .", "diff -r . src"):
        plan = read_only(command, workspace)
        assert plan is not None
        done = subprocess.run(plan.steps[0].pipeline[0], cwd=tree, capture_output=True, text=True)
        assert "canary" not in done.stdout and "outside" not in done.stdout, command


def test_the_lexer_reads_words_as_shells_do() -> None:
    found = lex("""grep -n 'a b' "c d"e --x='*.py' HEAD~2 HEAD^ ''|wc -l""")
    assert found is not None
    assert [(s.joiner, s.words) for s in found] == [
        ("", ("grep", "-n", "a b", "c de", "--x=*.py", "HEAD~2", "HEAD^", "")),
        ("|", ("wc", "-l")),
    ]


@pytest.mark.parametrize("mode", [PermissionMode.DEFAULT, PermissionMode.BYPASS])
def test_a_denied_program_is_found_in_every_disguise(mode: PermissionMode, workspace: Workspace) -> None:
    policy = Policy(mode, parse_rules(deny=["shell(curl *)"], allow=["shell"]), workspace, sandbox_status="full")
    verdicts = {c: policy.verdict("shell", ToolKind.EXECUTE, {"command": c}).decision for c in CURL}
    assert {c: parts(c) for c, decision in verdicts.items() if decision != "deny"} == {}


@pytest.mark.parametrize(
    "command", ["ls", "echo hello > f", "npm test", "grep curl f.txt", "echo 'curl x'", "git commit -m 'use curl'"]
)
def test_a_deny_rule_leaves_other_commands_alone(command: str, workspace: Workspace) -> None:
    policy = Policy(PermissionMode.BYPASS, parse_rules(deny=["shell(curl *)"]), workspace, sandbox_status="full")
    assert policy.verdict("shell", ToolKind.EXECUTE, {"command": command}).decision == "allow"


def test_parts_show_what_a_line_would_run() -> None:
    found = [p.argv for p in parts("cd src && npm test 2>&1 | tail -5")]
    assert found == [("cd", "src"), ("npm", "test"), ("tail", "-5")]
    assert [p.argv for p in parts("bash -c 'env A=1 rm x'")] == [
        ("bash", "-c", "env A=1 rm x"),
        ("env", "A=1", "rm", "x"),
        ("rm", "x"),
    ]


@pytest.mark.parametrize(
    "text", ["\ud800", "\x00", "(" * 5_000, "a" * 200_000, "$(" * 300, "'", '"', "<<", "中文 你好"]
)
def test_no_text_breaks_the_parsers(text: str, workspace: Workspace) -> None:
    assert isinstance(parts(text), tuple)
    assert read_only(text, workspace) is None
