from __future__ import annotations

import os
from pathlib import Path

import pytest

from aicli.content.kinds import PermissionMode, ToolKind
from aicli.errors import ConfigError
from aicli.safety.policy import Policy
from aicli.safety.rules import fits_example, matches, parse_rule, parse_rules
from aicli.workspace.root import Workspace
from tests.attacks.corpus import BESIDE_ALLOWED


@pytest.mark.parametrize(
    ("text", "tool", "spec"),
    [
        ("shell", "shell", ""),
        ("shell(git log *)", "shell", "git log *"),
        ("Bash(git log:*)", "shell", "git log *"),
        ("Read(src/**)", "read", "src/**"),
        ("Edit", "edit", ""),
        ("Write(docs/*)", "edit", "docs/*"),
        ("WebFetch(domain:example.org)", "web_fetch", "domain:example.org"),
        ("web_fetch(domain:*.example.org)", "web_fetch", "domain:*.example.org"),
        ("mcp(github/create_issue)", "mcp", "github/create_issue"),
        ("mcp__github__create_issue", "mcp", "github/create_issue"),
        ("run_shell_command", "shell", ""),
        ("memory", "memory", ""),
        (" shell ( ls ) ", "shell", "ls"),
    ],
)
def test_the_grammar(text: str, tool: str, spec: str) -> None:
    rule = parse_rule(text)
    assert (rule.tool, rule.spec) == (tool, spec)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "can't be read"),
        ("shell(", "a bracket is not closed"),
        ("shel(ls)", "names no tool"),
        ("nothing_like_it", "names no tool"),
        ("shell(git * log)", "last word"),
        ("shell(git log*)", "last word"),
        ("shell('x)", "quote"),
        ("web_fetch(example.org)", "domain:"),
        ("web_fetch(domain:*)", "domain:"),
        ("mcp()", "mcp(server"),
        ("tasks(x)", "nothing in brackets"),
    ],
)
def test_a_rule_that_makes_no_sense_is_an_error(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says.replace("(", r"\(")) as caught:
        parse_rule(text)
    assert repr(text) in str(caught.value)


def test_the_nearest_tool_is_named_and_own_tools_count() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_rule("weather")
    assert "Tools:" in caught.value.hint
    with pytest.raises(ConfigError) as caught:
        parse_rule("wrte_file")
    assert caught.value.hint == "Did you mean write_file?"
    assert parse_rule("weather", known=["weather"]).tool == "weather"


def test_examples_are_checked_when_a_rule_is_loaded() -> None:
    good = {"rule": "shell(git log *)", "match": ["git log", "git log -p"], "not_match": ["git logs", "git push"]}
    assert parse_rules(allow=[good]).allow[0].words == ("git", "log")
    with pytest.raises(ConfigError, match="does not match its example 'git push'"):
        parse_rule({"rule": "shell(git log *)", "match": "git push"})
    with pytest.raises(ConfigError, match="matches its example"):
        parse_rule({"rule": "read(src/**)", "not_match": ["src/a.py"]})
    with pytest.raises(ConfigError, match="needs rule"):
        parse_rule({"rule": "shell", "matches": []})
    assert fits_example(parse_rule("web_fetch(domain:*.x.org)"), "https://a.x.org/y")
    assert fits_example(parse_rule("mcp(srv/*)"), "srv/tool")


@pytest.mark.parametrize(
    ("rule", "command", "fits"),
    [
        ("shell(npm test *)", "npm test", True),
        ("shell(npm test *)", "npm test -- --watch", True),
        ("shell(npm test *)", "npm tester", False),
        ("shell(npm test *)", "npm test; rm x", False),
        ("shell(npm test *)", "npm test $X", False),
        ("shell(npm test *)", "npm test > f", False),
        ("shell(npm test *)", "npm test > /dev/null 2>&1", True),
        ("shell(npm test *)", "X=1 npm test", False),
        ("shell(npm test *)", "timeout 60 npm test", True),
        ("shell(npm test *)", "env npm test", False),
        ("shell(npm test *)", "./npm test", False),
        ("shell(npm test *)", "npm 'test'", True),
        ("shell(npm test)", "npm test x", False),
        ("shell('my prog' x)", "'my prog' x", True),
        ("shell", "anything at all", True),
    ],
)
def test_which_commands_an_allow_rule_takes(rule: str, command: str, fits: bool) -> None:
    assert matches(rule, "shell", {"command": command}) is fits


def test_nothing_comes_along_with_an_allowed_command(workspace: Workspace) -> None:
    rules = parse_rules(allow=["shell(npm test *)", "shell(echo *)"])
    policy = Policy(PermissionMode.DEFAULT, rules, workspace, sandbox_status="full")
    passed = [c for c in BESIDE_ALLOWED if verdict(policy, c) == "allow"]
    assert passed == ["npm test; select x in a; do echo; done"], "which only runs what is allowed"


def verdict(policy: Policy, command: str) -> str:
    return policy.verdict("shell", ToolKind.EXECUTE, {"command": command}).decision


def test_deny_before_ask_before_allow(workspace: Workspace) -> None:
    rules = parse_rules(deny=["shell(git push *)"], ask=["shell(git *)"], allow=["shell(git *)", "shell(make *)"])
    policy = Policy(PermissionMode.DEFAULT, rules, workspace, sandbox_status="full")
    assert verdict(policy, "make x") == "allow"
    assert verdict(policy, "git commit -m x") == "ask"
    assert verdict(policy, "git push origin") == "deny"
    assert verdict(policy, "git -C . -c a=b push origin") == "deny"
    assert verdict(policy, "make x && git push") == "deny"
    policy.mode = PermissionMode.BYPASS
    assert verdict(policy, "git commit -m x") == "ask"
    assert verdict(policy, "git push") == "deny"


def test_flags_of_a_deny_rule_in_any_order(workspace: Workspace) -> None:
    policy = Policy(PermissionMode.BYPASS, parse_rules(deny=["shell(rm -rf *)"]), workspace, sandbox_status="full")
    for command in ("rm -rf x", "rm -fr x", "rm -r -f x", "rm x -rf", "rm -v -rf x", "/bin/rm -rfv x"):
        assert verdict(policy, command) == "deny", command
    assert verdict(policy, "rm -r x") == "allow"


def read(policy: Policy, path: str) -> str:
    return policy.verdict("read_file", ToolKind.READ, {"path": path}).decision


def test_path_rules_see_through_links_case_and_hard_links(workspace: Workspace, tree: Path) -> None:
    (tree / "private").mkdir()
    (tree / "private" / "plan.txt").write_text("x")
    (tree / "soft").symlink_to("private/plan.txt")
    os.link(tree / "private" / "plan.txt", tree / "hard")
    policy = Policy(PermissionMode.BYPASS, parse_rules(deny=["read(private/**)"]), workspace, sandbox_status="full")
    for path in ("private/plan.txt", "./private/../private/plan.txt", "soft", "hard", "PRIVATE/plan.txt"):
        assert read(policy, path) == "deny", path
    assert read(policy, str(tree / "private" / "plan.txt")) == "deny"
    assert read(policy, "f.txt") == "allow"
    assert verdict(policy, "cat private/plan.txt") == "deny"
    assert verdict(policy, "cat src/../private/plan.txt") == "deny"
    assert verdict(policy, "cat < private/plan.txt") == "deny"
    for path in ("f.txt", "soft"):
        many = policy.verdict("read_many_files", ToolKind.READ, {"paths": ["src/a.py", path]}).decision
        assert many == ("deny" if path == "soft" else "allow")


def test_tools_that_read_many_files_can_ask_file_by_file(workspace: Workspace, tree: Path) -> None:
    policy = Policy(PermissionMode.BYPASS, parse_rules(deny=["read(*.log)", "edit(src/**)"]), workspace)
    assert policy.may_read("f.txt") and policy.may_read("src/a.py")
    assert not policy.may_read("x.log") and not policy.may_read("deep/X.LOG")


def test_an_allow_rule_for_a_path_does_not_reach_where_its_links_lead(workspace: Workspace, tree: Path) -> None:
    (tree / "src" / "up").symlink_to("../f.txt")
    policy = Policy(PermissionMode.DEFAULT, parse_rules(allow=["edit(src/**)"]), workspace, sandbox_status="full")

    def edit(path: str) -> str:
        return policy.verdict("write_file", ToolKind.EDIT, {"path": path}).decision

    assert edit("src/a.py") == "allow" and edit("src/new/deep.py") == "allow"
    assert edit("src/up") == "ask" and edit("f.txt") == "ask" and edit("src/../f.txt") == "ask"


@pytest.mark.parametrize(
    ("rule", "url", "fits"),
    [
        ("domain:example.org", "https://example.org/x", True),
        ("domain:example.org", "https://EXAMPLE.org./x", True),
        ("domain:example.org", "https://www.example.org", False),
        ("domain:example.org", "https://example.org.evil.net", False),
        ("domain:example.org", "https://example.org@evil.net", False),
        ("domain:*.example.org", "https://a.example.org", True),
        ("domain:*.example.org", "https://example.org", False),
        ("domain:*.example.org", "https://badexample.org", False),
    ],
)
def test_web_rules(rule: str, url: str, fits: bool) -> None:
    policy = Policy(PermissionMode.DEFAULT, parse_rules(allow=[f"web_fetch({rule})"]), sandbox_status="full")
    decision = policy.verdict("web_fetch", ToolKind.FETCH, {"url": url}).decision
    assert decision == ("allow" if fits else "ask")
