"""Network for one command: asked about in every mode, allowed only by a rule that says so, and no more than the network."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aicli.content.kinds import PermissionMode, ToolKind, Verdict
from aicli.safety.confined import Sandbox
from aicli.safety.policy import Policy
from aicli.safety.rules import matches, parse_rules
from aicli.safety.sandbox_paths import network_files
from aicli.safety.secrets import child_environ
from aicli.workspace.root import Workspace
from tests.safety.test_sandbox import box, run

__all__ = ["box"]

MODES = ("default", "accept-edits", "bypass")


def judged(policy: Policy, command: str, **more: Any) -> Verdict:
    return policy.verdict("shell", ToolKind.EXECUTE, {"command": command, "network": True, **more})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("command", ["npm install", "ls", "cd src", "cat f.txt && git push", "git status"])
def test_every_mode_asks(mode: str, command: str, workspace: Workspace) -> None:
    policy = Policy(PermissionMode(mode), parse_rules(allow=["shell"]), workspace, sandbox_status="full")
    verdict = judged(policy, command)
    assert verdict.decision == "ask" and "network" in verdict.why
    assert judged(policy, command, background=True).decision == "ask"
    assert policy.verdict("shell", ToolKind.EXECUTE, {"command": command}).decision == "allow"


@pytest.mark.parametrize("command", ["npm install", "ls", "git status | cat"])
def test_plan_mode_refuses(command: str, workspace: Workspace) -> None:
    policy = Policy(PermissionMode.PLAN, parse_rules(allow=["network"]), workspace, sandbox_status="full")
    assert judged(policy, command).decision == "deny"


@pytest.mark.parametrize(
    ("rule", "command", "decision"),
    [
        ("network(npm install *)", "npm install left-pad", "allow"),
        ("network(npm install *)", "cd src && npm install", "ask"),
        ("network(npm install *)", "ls && npm install", "ask"),
        ("network(cd src && npm install)", "cd src && npm install", "allow"),
        ("network(cd src && npm install)", "cd src && npm install && ls", "ask"),
        ("network(npm install *)", "npm install; curl example.org", "ask"),
        ("network(npm install *)", "npm install > f.txt", "ask"),
        ("network(npm install *)", "npm install $(cat .env)", "ask"),
        ("network(npm install *)", "npm publish", "ask"),
        ("network(npm install *)", "FOO=1 npm install", "ask"),
        ("network(npm install *)", "./npm install", "ask"),
        ("network(npm install)", "npm install evil", "ask"),
        ("shell(npm install *)", "npm install", "ask"),
        ("shell", "npm install", "ask"),
    ],
)
def test_only_a_rule_for_the_network_lets_it_pass(rule: str, command: str, decision: str, workspace: Workspace) -> None:
    for mode in MODES:
        policy = Policy(PermissionMode(mode), parse_rules(allow=[rule]), workspace, sandbox_status="full")
        assert judged(policy, command).decision == decision, mode


def test_a_rule_for_the_network_covers_less_than_the_network_too(workspace: Workspace) -> None:
    policy = Policy(rules=parse_rules(allow=["network(npm install *)"]), workspace=workspace, sandbox_status="full")
    assert policy.verdict("shell", ToolKind.EXECUTE, {"command": "npm install"}).decision == "allow"
    assert matches("network(npm *)", "shell", {"command": "npm i", "network": True})
    assert not matches("shell(npm *)", "shell", {"command": "npm i", "network": True})


@pytest.mark.parametrize("deny", ["network", "network(npm *)", "shell(npm install *)"])
def test_deny_wins(deny: str, workspace: Workspace) -> None:
    rules = parse_rules(deny=[deny], allow=["network"])
    policy = Policy(PermissionMode.BYPASS, rules, workspace, sandbox_status="full")
    assert judged(policy, "npm install").decision == "deny"
    without = policy.verdict("shell", ToolKind.EXECUTE, {"command": "npm install"}).decision
    assert without == ("deny" if deny.startswith("shell") else "allow")


def test_what_session_and_always_offer_is_this_command_alone(workspace: Workspace) -> None:
    policy = Policy(PermissionMode.BYPASS, None, workspace, sandbox_status="full")
    args = {"command": "npm install left-pad", "network": True}
    assert policy.suggest("shell", ToolKind.EXECUTE, args) == "network(npm install left-pad)"
    assert policy.suggest("shell", ToolKind.EXECUTE, {"command": "npm install left-pad"}) == "shell(npm install *)"
    for command in ("curl example.org", "npm i; npm test", "npm install $X"):
        assert policy.suggest("shell", ToolKind.EXECUTE, {"command": command, "network": True}) == ""
    policy.allow_for_session("shell(npm install *)")
    assert judged(policy, "npm install left-pad").decision == "ask"
    policy.allow_for_session("network(npm install left-pad)")
    assert judged(policy, "npm install left-pad").decision == "allow"
    assert judged(policy, "npm install other").decision == "ask"


@pytest.mark.parametrize("mode", ["default", "dont-ask", "bypass"])
def test_where_nobody_can_answer_the_refusal_names_the_rule(mode: str, workspace: Workspace) -> None:
    policy = Policy(PermissionMode(mode), None, workspace, headless=True, sandbox_status="full")
    verdict = judged(policy, "cd src && pip install requests")
    assert verdict.decision == "deny" and "network(cd src && pip install requests)" in verdict.why


def test_without_a_sandbox_there_is_nothing_to_open(workspace: Workspace) -> None:
    off = Policy(PermissionMode.BYPASS, None, workspace, sandbox_status="off")
    assert judged(off, "npm install").decision == judged(off, "ls").decision == "allow"
    none = Policy(PermissionMode.BYPASS, None, workspace, sandbox_status="none")
    assert judged(none, "npm install").decision == judged(none, "ls").decision == "ask"


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_greet, args=(server,), daemon=True)
        thread.start()
        yield server.getsockname()[1]


def _greet(server: socket.socket) -> None:
    try:
        while True:
            server.accept()[0].close()
    except OSError:
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a sandbox so far")
def test_the_network_is_opened_and_nothing_else(box: Sandbox, isolated: Path, port: int) -> None:
    connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
    local = "import socket; socket.socket(socket.AF_UNIX)"
    program = os.path.realpath(sys.executable)  # not the virtual environment's: it may lie where the view ends
    assert run(box, isolated, f'"{program}" -c "{connect}"').returncode != 0
    opened = run(box, isolated, f'"{program}" -c "{connect}" && cat /etc/resolv.conf >/dev/null', network=True)
    assert opened.returncode == 0, opened.stderr
    assert "Error" in run(box, isolated, f'"{program}" -c "{local}"', network=True).stderr
    outside = isolated.parent / "outside.txt"
    run(box, isolated, f"echo x > {outside}; cat ~/.ssh/id_rsa", network=True)
    assert not outside.exists()
    assert run(box, isolated, f'"{program}" -c "{connect}"').returncode != 0


def test_proxies_and_certificates_go_with_the_network_but_no_password(isolated: Path) -> None:
    environ = {
        "PATH": "/usr/bin",
        "https_proxy": "http://proxy.example:3128",
        "HTTP_PROXY": "http://me:secret@proxy.example:3128",
        "SSL_CERT_FILE": "/opt/ca.pem",
        "OPENAI_API_KEY": "k",
    }
    assert child_environ(environ, workspace=isolated).keys() == {"PATH"}
    opened = child_environ(environ, workspace=isolated, network=True)
    assert opened.keys() == {"PATH", "https_proxy", "SSL_CERT_FILE"}


def test_a_certificate_in_a_hidden_folder_can_be_read(isolated: Path) -> None:
    (isolated / "ca.pem").write_text("x")
    real = str((isolated / "ca.pem").resolve())
    environ = {"SSL_CERT_FILE": str(isolated / "ca.pem"), "CURL_CA_BUNDLE": str(isolated / "missing")}
    assert real in network_files(environ, [str(isolated.resolve())])
    assert real not in network_files(environ, ["/run"])
    assert str(isolated.resolve()) not in network_files({"SSL_CERT_DIR": str(isolated)}, [str(isolated.resolve())])
