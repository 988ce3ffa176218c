from __future__ import annotations

from pathlib import Path

import pytest

from aicli import paths
from aicli.content.kinds import PermissionMode, ToolKind
from aicli.safety.policy import Policy
from aicli.safety.rules import parse_rules
from aicli.workspace.root import Workspace

READ, EDIT, FETCH, EXECUTE = ToolKind.READ, ToolKind.EDIT, ToolKind.FETCH, ToolKind.EXECUTE
CALLS = {
    "read": ("read_file", READ, {"path": "f.txt"}),
    "edit": ("write_file", EDIT, {"path": "f.txt", "content": "x"}),
    "look": ("shell", EXECUTE, {"command": "ls"}),
    "run": ("shell", EXECUTE, {"command": "make"}),
    "fetch": ("web_fetch", FETCH, {"url": "https://example.org"}),
    "protected": ("write_file", EDIT, {"path": ".git/hooks/x", "content": "x"}),
    "outside": ("read_file", READ, {"path": "/etc/passwd"}),
    "secret": ("read_file", READ, {"path": ".env"}),
    "other": ("weather", ToolKind.OTHER, {}),
    "think": ("tasks", ToolKind.PLAN, {}),
}
TABLE = {
    "plan": "allow deny allow deny ask deny deny ask deny allow",
    "default": "allow ask allow ask ask ask deny ask ask allow",
    "accept-edits": "allow allow allow ask ask ask deny ask ask allow",
    "dont-ask": "allow deny allow deny deny deny deny deny deny allow",
    "bypass": "allow allow allow allow allow ask deny allow allow allow",
}


@pytest.mark.parametrize("mode", TABLE)
def test_the_table_of_modes(mode: str, workspace: Workspace) -> None:
    policy = Policy(PermissionMode(mode), workspace=workspace, sandbox_status="full")
    assert {k: policy.verdict(*c).decision for k, c in CALLS.items()} == dict(
        zip(CALLS, TABLE[mode].split(), strict=True)
    )
    alone = Policy(PermissionMode(mode), workspace=workspace, headless=True, sandbox_status="full")
    expected = TABLE[mode].replace("ask", "deny")
    assert [alone.verdict(*c).decision for c in CALLS.values()] == expected.split()
    for call in CALLS.values():
        assert alone.verdict(*call).why and policy.verdict(*call).rule


@pytest.mark.parametrize(
    ("status", "look", "run", "git"), [("none", "ask", "ask", "ask"), ("off", "allow", "allow", "allow")]
)
def test_without_a_sandbox(status: str, look: str, run: str, git: str, workspace: Workspace) -> None:
    policy = Policy(PermissionMode.BYPASS, parse_rules(allow=["shell"]), workspace, sandbox_status=status)
    assert policy.verdict(*CALLS["look"]).decision == look
    assert policy.verdict(*CALLS["run"]).decision == run
    assert policy.verdict("shell", EXECUTE, {"command": "git status"}).decision == git
    careful = Policy(PermissionMode.DEFAULT, None, workspace, sandbox_status=status)
    assert careful.verdict("shell", EXECUTE, {"command": "git status"}).decision == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -rf /*",
        "rm -rf ~",
        "rm -rf ~/",
        'rm -rf "$HOME"',
        "rm -rf ${HOME}/*",
        "rm -rf .",
        "rm -rf ./*",
        "rm -rf *",
        "rm -rf ..",
        "rm -fr $PWD",
        "rm --recursive -f ../work",
        "sudo rm -rf /",
        "bash -c 'rm -rf ~'",
        "cd / && rm -rf *",
        "find / -delete",
        "find . -delete",
        "find ~ -exec rm -rf {} +",
        "true; rm -r -f -- /",
    ],
)
def test_deleting_a_root_or_home_is_refused_in_every_mode(command: str, workspace: Workspace) -> None:
    for mode in PermissionMode:
        policy = Policy(mode, parse_rules(allow=["shell"]), workspace, sandbox_status="off")
        assert policy.verdict("shell", EXECUTE, {"command": command}).decision == "deny", mode


@pytest.mark.parametrize("command", ["rm -rf build", "rm -rf ./src/*", "rm f.txt", "find src -name '*.pyc' -delete"])
def test_ordinary_deletion_is_only_asked_about(command: str, workspace: Workspace) -> None:
    policy = Policy(PermissionMode.DEFAULT, None, workspace, sandbox_status="full")
    assert policy.verdict("shell", EXECUTE, {"command": command}).decision == "ask"


def test_redirects_into_files_that_matter(workspace: Workspace) -> None:
    policy = Policy(PermissionMode.BYPASS, parse_rules(deny=["edit(src/**)"]), workspace, sandbox_status="off")

    def run(command: str) -> str:
        return policy.verdict("shell", EXECUTE, {"command": command}).decision

    assert run("echo x > new") == run("make > log 2>&1") == "allow"
    assert run("echo x > src/a.py") == run("cd src && cat ../f.txt >> a.py") == "deny"
    assert run("echo x > .git/hooks/y") == run("(echo x) >| .mcp.json") == "ask"
    policy.headless = True
    assert run("echo x > .git/hooks/y") == "deny"


def test_own_settings_rules_and_sessions_are_not_the_models_to_change(tree: Path) -> None:
    home = Workspace(tree.parent)
    policy = Policy(PermissionMode.BYPASS, parse_rules(allow=["edit", "read"]), home, sandbox_status="full")
    for folder in (paths.config_folder(), paths.state_folder()):
        path = str(folder / "config.toml")
        assert policy.verdict("write_file", EDIT, {"path": path}).decision == "deny"
    keys = str(paths.config_folder() / "credentials.toml")
    assert policy.verdict("read_file", READ, {"path": keys}).decision == "deny"


def test_no_rule_lifts_the_gates(workspace: Workspace) -> None:
    rules = parse_rules(allow=["read", "edit", "shell", "read(/etc/**)", "read(//etc/**)"])
    policy = Policy(PermissionMode.ACCEPT_EDITS, rules, workspace, sandbox_status="full")
    assert policy.verdict(*CALLS["outside"]).decision == "deny"
    assert "--add-dir" in policy.verdict(*CALLS["outside"]).why
    assert policy.verdict(*CALLS["protected"]).decision == "ask"
    assert policy.verdict("read_file", READ, {"path": "link-out"}).decision == "deny"
    assert policy.verdict("read_file", READ, {"path": "../work-evil/x"}).decision == "deny"
    assert policy.verdict("shell", EXECUTE, {"command": "make", "cwd": ".."}).decision == "deny"


def test_an_allow_rule_opens_a_secret_file(workspace: Workspace) -> None:
    policy = Policy(PermissionMode.DONT_ASK, parse_rules(allow=["read(.env)"]), workspace, sandbox_status="full")
    assert policy.verdict(*CALLS["secret"]).decision == "allow"


def test_remembering_is_asked_about_once_text_from_outside_was_read(workspace: Workspace) -> None:
    policy = Policy(PermissionMode.DEFAULT, None, workspace, sandbox_status="full")
    save = ("memory", ToolKind.OTHER, {"action": "save", "text": "x"})
    look = ("memory", ToolKind.READ, {"action": "list"})
    assert policy.verdict(*save).decision == "allow"
    policy.untrusted = True
    assert policy.verdict(*save).decision == "ask" and policy.verdict(*look).decision == "allow"
    policy.headless = True
    assert policy.verdict(*save).decision == "deny"


def test_a_long_query_is_asked_about_even_under_a_rule(workspace: Workspace) -> None:
    policy = Policy(PermissionMode.DEFAULT, parse_rules(allow=["web_fetch(domain:x.org)"]), workspace)
    assert policy.verdict("web_fetch", FETCH, {"url": "https://x.org/?q=short"}).decision == "allow"
    assert policy.verdict("web_fetch", FETCH, {"url": "https://x.org/?q=" + "a" * 300}).decision == "ask"


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (("shell", EXECUTE, {"command": "npm test -- --x"}), "shell(npm test *)"),
        (("shell", EXECUTE, {"command": "npm run build -- x"}), "shell(npm run build *)"),
        (("shell", EXECUTE, {"command": "cd src && pytest -q | tail -3"}), "shell(pytest *)"),
        (("shell", EXECUTE, {"command": "python x.py"}), "shell(python x.py)"),
        (("shell", EXECUTE, {"command": "git push origin main"}), "shell(git push origin main)"),
        (("shell", EXECUTE, {"command": "git add -A"}), "shell(git add *)"),
        (("shell", EXECUTE, {"command": "rm -r x"}), ""),
        (("shell", EXECUTE, {"command": "make && make install"}), ""),
        (("shell", EXECUTE, {"command": "echo $(x)"}), ""),
        (("shell", EXECUTE, {"command": "cat .env"}), ""),
        (("write_file", EDIT, {"path": "src/new.py"}), "edit(src/**)"),
        (("write_file", EDIT, {"path": "README.md"}), "edit(/README.md)"),
        (("write_file", EDIT, {"path": ".git/config"}), ""),
        (("write_file", EDIT, {"path": ".env"}), ""),
        (("write_file", EDIT, {"path": "../x"}), ""),
        (("web_fetch", FETCH, {"url": "https://Docs.Example.org/x?y"}), "web_fetch(domain:docs.example.org)"),
        (("web_fetch", FETCH, {"url": "http://[::1]/"}), ""),
        (("weather", ToolKind.OTHER, {}), "weather"),
        (("memory", ToolKind.OTHER, {"action": "save"}), ""),
    ],
)
def test_what_always_would_save(call: tuple[str, ToolKind, dict[str, object]], rule: str, workspace: Workspace) -> None:
    policy = Policy(PermissionMode.DEFAULT, None, workspace, sandbox_status="full")
    assert policy.suggest(*call) == rule
    if not rule:
        return
    assert policy.verdict(*call).decision == "ask"
    assert policy.covers(rule, *call)
    policy.allow_for_session(rule)
    assert policy.verdict(*call).decision == "allow" and not policy.covers(rule, *call)


def test_each_part_of_a_line_has_its_own_verdict(workspace: Workspace) -> None:
    policy = Policy(PermissionMode.DEFAULT, parse_rules(allow=["shell(npm test *)"]), workspace, sandbox_status="full")
    found = policy.explain("shell", EXECUTE, {"command": "ls && npm test && rm x"})
    assert [(d.text, d.verdict.decision, d.verdict.rule) for d in found] == [
        ("ls", "allow", "read-only command"),
        ("npm test", "allow", "shell(npm test *)"),
        ("rm x", "ask", "mode default"),
    ]
    assert policy.verdict("shell", EXECUTE, {"command": "ls && npm test"}).rule == "shell(npm test *)"


@pytest.mark.parametrize("headless", [True, False])
def test_changing_into_a_folder_of_the_workspace_needs_no_question(headless: bool, workspace: Workspace) -> None:
    mode = PermissionMode.DONT_ASK if headless else PermissionMode.DEFAULT
    policy = Policy(mode, None, workspace, headless=headless, sandbox_status="full")
    refused = "deny" if headless else "ask"
    root = workspace.root
    for command in ("cd src", "cd src && ls", "cd src && cat a.py | head -1", f"cd {root}/src", "cd src/.."):
        assert policy.verdict("shell", EXECUTE, {"command": command}).decision == "allow", command
    (root / "out").symlink_to(root.parent)
    outside = ("cd ..", "cd /", "cd out", "cd src/../..", "cd ~", "cd", "cd -", "cd $HOME", "cd nowhere", "cd f.txt")
    mixed = ("cd .. && ls", "cd out && ls", "cd src && touch x", "cd src; ls > x", "cd src && cat ../../outside.txt")
    for command in (*outside, *mixed):
        assert policy.verdict("shell", EXECUTE, {"command": command}).decision in (refused, "deny"), command


def test_settings_and_hooks_of_nested_repositories_are_protected(workspace: Workspace) -> None:
    policy = Policy(PermissionMode.ACCEPT_EDITS, parse_rules(allow=["edit"]), workspace, sandbox_status="full")
    for path in ("sub/.git/hooks/pre-commit", "a/b/.git/config", "sub/.git", "deep/er/.GIT/config"):
        assert policy.verdict("write_file", EDIT, {"path": path, "content": "x"}).decision == "ask", path
    assert policy.verdict("write_file", EDIT, {"path": "sub/git/config", "content": "x"}).decision == "allow"


def test_commands_that_read_whole_folders_are_not_silent_where_reading_is_denied(workspace: Workspace) -> None:
    free = Policy(workspace=workspace, sandbox_status="full")
    bound = Policy(rules=parse_rules(deny=["read(src/**)"]), workspace=workspace, sandbox_status="full")
    for command in (
        "grep -rn foo .",
        "grep -nr foo",
        "diff -r src .",
        "git show",
        "git log -p",
        "grep --recursive x .",
    ):
        assert free.verdict("shell", EXECUTE, {"command": command}).decision == "allow", command
        assert bound.verdict("shell", EXECUTE, {"command": command}).decision in ("ask", "deny"), command
    assert bound.verdict("shell", EXECUTE, {"command": "grep foo f.txt"}).decision == "allow"
    assert bound.verdict("shell", EXECUTE, {"command": "cat src/a.py"}).decision == "deny"


@pytest.mark.skipif(not Path("/proc/1/root").is_symlink(), reason="no /proc here")
def test_a_link_that_may_not_be_read_is_asked_about_like_any_other(workspace: Workspace) -> None:
    policy = Policy(workspace=workspace, sandbox_status="full")
    bypass = Policy(PermissionMode.BYPASS, workspace=workspace, sandbox_status="full")
    for command in ("ls /proc/1/root/x", "cd /proc/1/cwd && ls", "rm -rf /proc/1/root/x"):
        assert policy.verdict("shell", EXECUTE, {"command": command}).decision in ("ask", "deny"), command
        assert bypass.verdict("shell", EXECUTE, {"command": command}).decision == "allow", command
