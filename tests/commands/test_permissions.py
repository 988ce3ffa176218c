from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aicli import paths
from aicli.commands.permissions import app
from aicli.errors import ConfigError, UsageError


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
    code, out = run("trust", typed="n\n")
    assert code == 1 and "AGENTS.md" in out and "+be kind" in out
    assert not json.loads(run("trust", "--json")[1])["trusted"]
    assert run("trust", "--yes")[0] == 0
    assert "unchanged" in run("trust")[1] and json.loads(run("trust", "--json")[1])["trusted"]
    assert "no longer" in run("trust", "--revoke")[1]
