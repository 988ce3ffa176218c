from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aicli import paths
from aicli.commands.permissions import app
from aicli.errors import ConfigError, TrustError, UsageError


def run(*words: str, typed: str = "") -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words), input=typed, standalone_mode=False, catch_exceptions=False)
    code = done.return_value if isinstance(done.return_value, int) else done.exit_code
    return code, done.stdout


@pytest.fixture
def settings(isolated: Path) -> Path:
    file = paths.config_folder() / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        '[permissions]\nmode = "accept-edits"\ndeny = ["shell(curl *)"]\nallow = ["shell(npm test *)", "read(docs/**)"]\n'
    )
    return file


def test_list_names_mode_sandbox_and_rules_in_order(settings: Path) -> None:
    code, out = run("list")
    assert code == 0 and "accept-edits" in out and "sandbox" in out
    assert out.index("shell(curl *)") < out.index("shell(npm test *)") < out.index("read(docs/**)")
    rows = json.loads(run("list", "--json")[1])
    assert rows["mode"] == "accept-edits" and [r["decision"] for r in rows["rules"]] == ["deny", "allow", "allow"]


def test_explain_shows_what_decides_each_part(settings: Path) -> None:
    code, out = run("explain", "npm test && curl x", "--json")
    found = json.loads(out)
    assert code == 3 and found["decision"] == "deny"
    assert [(p["text"], p["decision"], p["rule"]) for p in found["parts"]] == [
        ("npm test", found["parts"][0]["decision"], found["parts"][0]["rule"]),
        ("curl x", "deny", "shell(curl *)"),
    ]
    code, out = run("explain", "npm run build", "--mode", "default")
    assert code == 1 and "“always” would save: shell(npm run build *)" in out
    assert run("explain", "--tool", "read", "/etc/passwd")[0] == 3
    assert run("explain", "--tool", "edit", "src/a.py")[0] == 0
    assert run("explain", "--tool", "edit", ".git/config")[0] == 1
    assert run("explain", "--tool", "web_fetch", "https://x.org")[0] == 1
    code, out = run("explain", "npm run build", "--mode", "bypass", "--network")
    assert code == 1 and "it wants the network" in out and "would save: network(npm run build)" in out
    with pytest.raises(UsageError):
        run("explain", "ls", "--mode", "nonsense")


def test_test_compares_with_what_is_wanted(settings: Path, isolated: Path) -> None:
    code, out = run("test")
    assert code == 0 and "3 rules can be read" in out
    wanted = isolated / "wanted.txt"
    wanted.write_text("# mine\ndeny: curl x\ndeny: rm -rf ~\nmake\n")
    assert run("test", str(wanted))[0] == 0
    code, out = run("test", "-", typed="allow: curl x\n")
    assert code == 1 and "✗ deny" in out
    settings.write_text('[permissions]\nallow = ["shel(x)"]\n')
    with pytest.raises(ConfigError, match="names no tool"):
        run("test")


def test_where_no_file_would_act_there_is_nothing_to_trust(isolated: Path) -> None:
    code, out = run("trust", typed="y\n")
    assert code == 0 and "nothing to trust" in out
    assert not json.loads(run("trust", "--json")[1])["trusted"]


def test_trust_shows_then_asks(isolated: Path) -> None:
    (isolated / "AGENTS.md").write_text("be kind\n")
    with pytest.raises(TrustError, match="nobody can be asked here") as e:
        run("trust", typed="y\n")
    assert e.value.exit_code == 55 and "--yes" in e.value.hint
    assert not json.loads(run("trust", "--json")[1])["trusted"]
    assert run("trust", "--yes")[0] == 0
    assert "unchanged" in run("trust")[1] and json.loads(run("trust", "--json")[1])["trusted"]
    assert "no longer" in run("trust", "--revoke")[1]


def test_trust_asks_on_the_terminal_and_keeps_stdout_for_what_it_shows(isolated: Path) -> None:
    (isolated / "AGENTS.md").write_text("be kind\n")
    for typed, code in ((b"n\n", 1), (b"y\n", 0)):
        ours, theirs = pty.openpty()
        try:
            command = [sys.executable, "-m", "aicli", "permissions", "trust"]
            env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
            streams = {"stdin": theirs, "stderr": theirs, "stdout": subprocess.PIPE}
            os.write(ours, typed)
            done = subprocess.run(command, env=env, timeout=60, **streams)
            said = os.read(ours, 65_536).decode()
        finally:
            os.close(ours)
            os.close(theirs)
        assert done.returncode == code and "Trust these 1 files" in said, said
        assert b"+be kind" in done.stdout and b"Trust these" not in done.stdout


def test_bare_it_lists_and_says_what_a_run_without_a_terminal_does(isolated: Path) -> None:
    code, out = run()
    assert (code, out) == run("list") and "mode     default" in out and "the mode is dont-ask" in out
    assert json.loads(run("list", "--json")[1])["headless_mode"] == "dont-ask"
    assert "the mode is dont-ask" in run("explain", "npm test")[1]
    assert "the mode is dont-ask" not in run("list", "--mode", "accept-edits")[1]
    assert "the mode is dont-ask" not in run("explain", "ls")[1]
