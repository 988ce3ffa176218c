"""A denied network where no sandbox can keep it closed: commands are refused, for each of them has it."""

from __future__ import annotations

import pytest

from aicli.content.kinds import PermissionMode, ToolKind, Verdict
from aicli.safety.policy import Policy
from aicli.safety.rules import RuleSet, parse_rules
from aicli.workspace.root import Workspace


def judged(rules: RuleSet, status: str, command: str, workspace: Workspace, mode: str = "bypass") -> Verdict:
    policy = Policy(PermissionMode(mode), rules, workspace, sandbox_status=status)
    return policy.verdict("shell", ToolKind.EXECUTE, {"command": command})


@pytest.mark.parametrize("status", ["off", "none"])
@pytest.mark.parametrize("mode", ["default", "accept-edits", "bypass", "dont-ask"])
@pytest.mark.parametrize("command", ["python3 send.py", "make && ls", "sh -c 'make'", "echo $(make)"])
def test_commands_are_refused_with_the_reason(status: str, mode: str, command: str, workspace: Workspace) -> None:
    rules = parse_rules(deny=["network"], allow=["shell"])
    verdict = judged(rules, status, command, workspace, mode)
    assert verdict.decision == "deny" and verdict.rule == "network", verdict
    assert verdict.why == "the rule network refuses it; without a sandbox every command has the network"


def test_what_only_reads_runs_and_what_a_sandbox_keeps_off_it_too(workspace: Workspace) -> None:
    rules = parse_rules(deny=["network"])
    assert judged(rules, "off", "cat src/a.py && ls", workspace).decision == "allow"
    for status in ("full", "reduced"):
        assert judged(rules, status, "make", workspace).decision == "allow"


def test_a_rule_for_one_command_speaks_of_that_one(workspace: Workspace) -> None:
    rules = parse_rules(deny=["network(curl *)"], ask=["network(git push *)"])
    decisions = [judged(rules, "off", c, workspace).decision for c in ("curl x", "env curl x", "git push x", "make")]
    assert decisions == ["deny", "deny", "ask", "allow"]
    decisions = [judged(rules, "full", c, workspace).decision for c in ("curl x", "git push x", "make")]
    assert decisions == ["allow", "allow", "allow"]
