from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from aicli import paths
from aicli.errors import ConfigError, TrustError
from aicli.safety import trust
from aicli.safety.saved import project_rules, save_rule, saved_rules


def test_what_a_folder_would_do_is_listed_in_words(isolated: Path) -> None:
    folder = isolated / ".aicli"
    (folder / "agents").mkdir(parents=True)
    (folder / "tools").mkdir()
    (folder / "config.toml").write_text('provider = "x"\n[permissions]\nmode = "bypass"\n')
    (folder / "agents" / "审查.md").write_text("x")
    (folder / "tools" / "t.py").write_text("x")
    (folder / "memory.md").write_text("- a fact\n")
    (isolated / "AGENTS.md").write_text("words")
    (isolated / ".mcp.json").write_text('{"mcpServers": {"s": {"command": "evil\\u001b[2J"}}}')
    found = {i.path: (i.kind, i.summary) for i in trust.found(isolated)}
    assert found == {
        ".aicli/config.toml": ("settings", "sets permissions.mode, provider"),
        ".aicli/agents/审查.md": ("agent", "agent 审查"),
        ".aicli/tools/t.py": ("tool", "tool t, code that would run"),
        "AGENTS.md": ("instructions", "5 bytes of instructions for the model"),
        ".mcp.json": ("server", "starts s: evil␛"),
    }
    assert trust.notice(isolated).startswith("this folder is not trusted, so it is ignored: AGENTS.md")


def test_trust_is_about_files_as_they_were(isolated: Path) -> None:
    (isolated / "AGENTS.md").write_text("one\n")
    assert not trust.trusted(isolated) and not trust.known(isolated)
    assert trust.grant(isolated) == isolated.resolve()
    assert trust.trusted(isolated) and trust.changes(isolated) == []
    (isolated / "AGENTS.md").write_text("two\n")
    assert not trust.trusted(isolated) and trust.known(isolated)
    change = trust.changes(isolated)[0]
    assert "-one" in change.diff and "+two" in change.diff and not change.new
    (isolated / "AGENTS.md").write_text("one\n")
    assert trust.trusted(isolated)
    (isolated / "AGENTS.md").unlink()
    assert trust.trusted(isolated)
    assert trust.revoke(isolated) and not trust.trusted(isolated) and not trust.revoke(isolated)


def test_the_repository_is_what_is_trusted(isolated: Path) -> None:
    (isolated / ".git").mkdir()
    (isolated / "sub" / ".aicli").mkdir(parents=True)
    (isolated / "sub" / ".aicli" / "config.toml").write_text("")
    (isolated / "AGENTS.md").write_text("x")
    trust.grant(isolated)
    assert trust.trusted(isolated)
    assert not trust.trusted(isolated / "sub"), "its own settings were never shown"
    trust.grant(isolated / "sub")
    assert trust.trusted(isolated / "sub") and trust.trusted(isolated)
    link = isolated.parent / "link"
    link.symlink_to(isolated)
    assert trust.trusted(link)
    other = isolated.parent / "copy"
    other.mkdir()
    assert not trust.trusted(other)


def test_home_and_root_can_not_be_trusted(isolated: Path) -> None:
    home = Path(os.environ["HOME"])
    (home / ".git").mkdir()
    for folder in (Path("/"), home, home.parent):
        with pytest.raises(TrustError):
            trust.grant(folder)
        assert not trust.trusted(folder)
    below = home / "project"
    below.mkdir()
    assert trust.grant(below) == below, "a repository in the home folder itself does not widen it"


def test_odd_files_neither_hang_nor_pass(isolated: Path) -> None:
    (isolated / ".aicli").mkdir()
    os.mkfifo(isolated / ".aicli" / "config.toml")
    os.mkfifo(isolated / "AGENTS.md")
    assert trust.found(isolated) == []
    trust.grant(isolated)
    (isolated / ".aicli" / "x.md").symlink_to(isolated.parent / "later")
    (isolated.parent / "later").write_text("1")
    assert not trust.trusted(isolated)
    trust.grant(isolated)
    (isolated.parent / "later").write_text("2")
    assert not trust.trusted(isolated), "a link is judged by what it leads to"


def test_the_store_is_private_and_a_broken_one_counts_as_none(isolated: Path) -> None:
    (isolated / "AGENTS.md").write_text("x")
    trust.grant(isolated)
    store = next((paths.state_folder() / "trust").iterdir())
    assert stat.S_IMODE(store.stat().st_mode) == 0o600 and stat.S_IMODE(store.parent.stat().st_mode) == 0o700
    store.write_text("{broken")
    assert not trust.trusted(isolated)


def test_rules_for_good_are_kept_by_the_user(isolated: Path) -> None:
    config = paths.config_folder() / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('# mine\n[permissions]\nallow = ["shell(ls *)"]  # why\n')
    save_rule("shell(make *)", "user", isolated)
    save_rule("shell(make *)", "user", isolated)
    assert config.read_text().count("make") == 1 and "# mine" in config.read_text() and "# why" in config.read_text()
    save_rule("edit(src/**)", "project", isolated)
    save_rule("weather", "project", isolated)
    assert saved_rules(isolated) == ("edit(src/**)", "weather") and saved_rules(isolated.parent) == ()
    assert not list(isolated.iterdir()), "the project itself is not written to"
    with pytest.raises(ConfigError):
        save_rule("shell(", "user", isolated)
    project_rules(isolated).write_text("[")
    with pytest.raises(ConfigError):
        saved_rules(isolated)
