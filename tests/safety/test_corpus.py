"""The corpus of bypasses: each row, every one once found open somewhere and closed, is tried on every mode it threatens."""

from __future__ import annotations

import pytest

from aicli.content.kinds import PermissionMode, ToolKind
from aicli.safety.policy import Policy
from aicli.safety.rules import parse_rules
from aicli.workspace.root import Workspace
from tests.attacks.corpus import BENIGN, BESIDE_ALLOWED, CURL, HOSTILE
from tests.support.figures import figure

HARMLESS = "npm test; select x in a; do echo; done"
"""Runs nothing but what the rules allow, so it may pass."""


def decisions(policy: Policy, commands: tuple[str, ...]) -> dict[str, str]:
    return {c: policy.verdict("shell", ToolKind.EXECUTE, {"command": c}).decision for c in commands}


@pytest.mark.parametrize("mode", ["plan", "default", "accept-edits", "dont-ask"])
@pytest.mark.parametrize("headless", [False, True])
def test_no_row_runs_unasked(workspace: Workspace, mode: str, headless: bool) -> None:
    policy = Policy(PermissionMode(mode), workspace=workspace, headless=headless, sandbox_status="full")
    found = decisions(policy, HOSTILE)
    assert [c for c, decision in found.items() if decision == "allow"] == []
    if headless or mode == "dont-ask":
        assert [c for c, decision in found.items() if decision != "deny"] == []


def test_no_row_rides_on_an_allowed_command(workspace: Workspace) -> None:
    rules = parse_rules(allow=["shell(npm test *)", "shell(echo *)"])
    policy = Policy(PermissionMode.DEFAULT, rules, workspace, sandbox_status="full")
    assert [c for c, d in decisions(policy, BESIDE_ALLOWED).items() if d == "allow"] == [HARMLESS]


@pytest.mark.parametrize("mode", list(PermissionMode))
def test_no_row_disguises_a_denied_program(workspace: Workspace, mode: PermissionMode) -> None:
    rules = parse_rules(deny=["shell(curl *)"], allow=["shell"])
    policy = Policy(mode, rules, workspace, sandbox_status="full")
    assert [c for c, d in decisions(policy, CURL).items() if d == "allow"] == []


def test_the_corpus_only_grows() -> None:
    """No row twice, and none taken out: the least numbers go up with each bypass that is closed."""
    for rows, least in ((HOSTILE, 177), (CURL, 83), (BESIDE_ALLOWED, 57), (BENIGN, 35)):
        assert len(set(rows)) == len(rows) >= least
    total = len(HOSTILE) + len(CURL) + len(BESIDE_ALLOWED)
    figure(
        "G12",
        f"{total} rows of known bypasses ({len(HOSTILE)} hostile lines, {len(CURL)} disguises of a denied program, "
        f"{len(BESIDE_ALLOWED)} beside an allowed one), each tried on every mode it threatens: 0 run what was not allowed",
    )
