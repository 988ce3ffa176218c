from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aicli.settings_load import fields, load, user_file
from aicli.settings_text import default_text

REPOSITORY = Path(__file__).parents[2]


def test_no_option_prints_usage(aicli: Callable) -> None:
    ran = aicli("config")
    assert ran.code == 0 and "Usage:" in ran.out and "explain" in ran.out


def test_several_old_flags_in_one_call_are_all_applied(aicli: Callable, isolated: Path) -> None:
    ran = aicli("config", "-k", "sk-1", "-m", "ollama:q", "-b", "http://127.0.0.1:1", "-s")
    assert ran.code == 0, ran.err
    settings = load(cwd=isolated, environ={}).settings
    assert settings.api_key is not None and settings.api_key.get_secret_value() == "sk-1"
    assert (settings.models.fast, settings.base_url) == ("ollama:q", "http://127.0.0.1:1")
    assert "sk-1" not in ran.out + ran.err and "***" in ran.out
    for text in ("ollama:q", "http://127.0.0.1:1", str(user_file().parent)):
        assert text in ran.out


@pytest.mark.skipif(os.name == "nt", reason="file modes are a POSIX matter")
def test_the_file_is_private(aicli: Callable) -> None:
    before = os.umask(0)
    try:
        aicli("config", "set", "models.fast", "ollama:q")
    finally:
        os.umask(before)
    assert stat.S_IMODE(user_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(user_file().parent.stat().st_mode) == 0o700


def test_set_get_and_reset_of_one_key_keep_comments(aicli: Callable) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text("# 我的\n[limits]\nmax_turns = 3 # three\n", encoding="utf-8")
    assert aicli("config", "set", "limits.max_turns", "7").code == 0
    assert aicli("config", "get", "limits.max_turns").out == "7\n"
    assert aicli("config", "set", "permissions.deny", "shell(curl *),", "web_fetch").code == 0
    assert json.loads(aicli("config", "get", "permissions.deny").out) == ["shell(curl *)", "web_fetch"]
    assert aicli("config", "reset", "limits.max_turns").code == 0
    assert aicli("config", "get", "limits.max_turns").out == "50\n"
    assert "# 我的" in user_file().read_text(encoding="utf-8")


def test_what_is_wrong_changes_nothing(aicli: Callable) -> None:
    ran = aicli("config", "set", "limits.max_turns", "0")
    assert ran.code == 2 and "at least 1" in ran.err
    ran = aicli("config", "set", "maxTurns", "3")
    assert ran.code == 2 and "Did you mean limits.max_turns?" in ran.err
    assert not user_file().exists()


def test_show_names_the_winner(aicli: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AICLI_MODELS__FAST", "ollama:env")
    aicli("config", "set", "models.fast", "ollama:file")
    shown = json.loads(aicli("config", "show", "--effective", "--json").out)["settings"]
    assert set(shown) == set(fields())
    assert shown["models.fast"] == {"value": "ollama:env", "from": "environment"}
    assert shown["limits.max_turns"]["from"] == "default"
    explained = aicli("config", "explain", "models.fast").out
    for text in ("AICLI_MODELS__FAST", "ollama:env", "ollama:file", f"{user_file()}:2", "(environment)"):
        assert text in explained
    assert "***" in aicli("config", "explain", "api_key").out or "unset" in aicli("config", "explain", "api_key").out


def test_init_writes_what_the_repository_ships(aicli: Callable, isolated: Path) -> None:
    ran = aicli("config", "init")
    assert ran.code == 0 and ran.out.strip() == str(user_file())
    assert user_file().read_text() == (REPOSITORY / "config" / "aicli.toml").read_text() == default_text()
    assert load(cwd=isolated, environ={}).origin == dict.fromkeys(fields(), "default")
    again = aicli("config", "init")
    assert again.code == 42 and "--force" in again.err
    assert aicli("config", "init", "--force").code == 0


def test_every_line_of_the_default_file_may_be_uncommented(isolated: Path) -> None:
    text = re.sub(r"^# (\w+ = )", r"\1", default_text(), flags=re.MULTILINE)
    user_file().parent.mkdir(parents=True)
    user_file().write_text(text)
    user_file().chmod(0o600)
    loaded = load(cwd=isolated, environ={})
    assert set(loaded.origin.values()) == {"user"}


@pytest.mark.parametrize("file", sorted((REPOSITORY / "config").glob("*.toml")), ids=lambda f: f.name)
def test_every_preset_loads(file: Path, isolated: Path) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_bytes(file.read_bytes())
    loaded = load(cwd=isolated, environ={})
    assert loaded.warnings == ()
    assert file.name == "aicli.toml" or "user" in loaded.origin.values()


@pytest.mark.parametrize("variable", ["EDITOR", "VISUAL"])
def test_edit_uses_the_editor_and_checks_afterwards(
    aicli: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    script = tmp_path / "my editor.py"
    script.write_text("import sys, pathlib\npathlib.Path(sys.argv[1]).write_text('[limits]\\nmax_turn = 1\\n')\n")
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv(variable, f"'{sys.executable}' '{script}'")
    if variable == "EDITOR":
        monkeypatch.setenv("VISUAL", "/nonexistent")
    ran = aicli("config", "edit")
    assert ran.code == 52 and "config.toml:2" in ran.err and "limits.max_turns" in ran.err


def test_edit_without_an_editor_says_so(aicli: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "/nonexistent/editor")
    ran = aicli("config", "-e")
    assert ran.code == 42 and "no editor" in ran.err


def test_reset_works_on_a_broken_file_and_keeps_it_beside(aicli: Callable, isolated: Path) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text("not [toml")
    assert aicli("config", "show").code == 52
    ran = aicli("config", "--reset")
    assert ran.code == 0
    assert load(cwd=isolated, environ={}).origin == dict.fromkeys(fields(), "default")
    assert user_file().with_name("config.toml.bak").read_text() == "not [toml"
    assert aicli("config", "reset").code == 0


def test_import_takes_over_an_older_file(aicli: Callable, isolated: Path) -> None:
    old = Path.home() / ".aicli" / "settings.json"
    old.parent.mkdir()
    old.write_text(
        '{ // 旧\n "apiKey": "sk-old//x", "baseUrl": "http://127.0.0.1:4000/v1", /* a, b */ "fastModel": "q",\n'
        ' "model": "ignored", "thinkingModel": "t", "embeddingModel": "e", "temperature": 0.2, "topP": 0.9,\n'
        ' "topK": 40, "theme": "dark", // the end\n}\n',
        encoding="utf-8",
    )
    ran = aicli("config", "import")
    assert ran.code == 0 and "theme has no place here" in ran.err and "sk-old" not in ran.err + ran.out
    settings = load(cwd=isolated, environ={}).settings
    assert settings.api_key is not None and settings.api_key.get_secret_value() == "sk-old//x"
    assert (settings.models.fast, settings.models.thinking, settings.models.top_k) == ("q", "t", 40)
    (isolated / "bad.json").write_text("{")
    assert aicli("config", "import", "bad.json").code == 42
    assert aicli("config", "import", "none.json").code == 42


def test_path(aicli: Callable) -> None:
    assert aicli("config", "path").out.strip() == str(user_file())


BREAKS = [
    ("permissions.deny", '["foo(x)"]', "'foo(x)' names no tool"),
    ("permissions.deny", '["shell(curl *"]', "a bracket is not closed"),
    ("permissions.allow", "shel(x)", "Did you mean shell?"),
    ("models.fast", "nosuch:x", "there is no provider 'nosuch'"),
    ("models.thinking", "gpt4", "write provider:model"),
    ("provider", "olama", "Did you mean ollama"),
    ("limits.max_turns", "-3", "should be at least 1, not -3"),
    ("shell.timeout", "10x", 'such as 90, 90s, 10m or 1h30m, not "10x"'),
    ("limits.max_turns", "many", 'should be a whole number, not "many"'),
]


@pytest.mark.parametrize(("key", "value", "said"), BREAKS, ids=[" ".join(row[:2]) for row in BREAKS])
def test_what_would_break_every_later_run_is_refused(aicli: Callable, key: str, value: str, said: str) -> None:
    ran = aicli("config", "set", key, value)
    assert ran.code == 2 and key in ran.err and said in ran.err and not user_file().exists(), ran


def test_names_of_models_are_judged_with_the_provider_that_is_set(aicli: Callable) -> None:
    for key, value in (("models.fast", "ollama:qwen3:8b"), ("models.fast", "deepseek"), ("provider", "ollama")):
        assert aicli("config", "set", key, value).code == 0
    assert aicli("config", "set", "models.fast", "qwen3:8b").code == 0
    assert aicli("config", "-m", "any", "-b", "http://127.0.0.1:1/v1").code == 0


def test_times_may_be_written_as_people_do(aicli: Callable, isolated: Path) -> None:
    ran = aicli("config", "set", "shell.timeout", "10m")
    assert (
        ran.code == 0
        and ran.err == "shell.timeout = 600\n"
        and aicli("config", "get", "shell.timeout").out == "600.0\n"
    )
    user_file().write_text('[models]\nidle_timeout = "1h30m"\n')
    environ = {"AICLI_LIMITS__MAX_WALL_TIME": "90s"}
    settings = load({"shell.timeout": "2m"}, cwd=isolated, environ=environ).settings
    assert (settings.models.idle_timeout, settings.limits.max_wall_time, settings.shell.timeout) == (5_400, 90, 120)
    user_file().write_text('[models]\nidle_timeout = "soon"\n')
    assert "idle_timeout should be a time such as 90" in aicli("config", "show").err


def test_what_is_unset_and_what_was_set_is_printed_in_one_form(aicli: Callable) -> None:
    for key in ("models.fast", "limits.max_tokens", "permissions.mode", "api_key"):
        ran = aicli("config", "get", key)
        assert (ran.code, ran.out, ran.err) == (0, "\n", f"{key} unset\n")
        assert aicli("config", "get", key, "--json").out == "null\n"
    assert aicli("config", "set", "permissions.deny", "shell(curl *)", ",", "edit").err == (
        'permissions.deny = ["shell(curl *)", "edit"]\n'
    )
    assert aicli("config", "set", "ui.plain", "yes").err == "ui.plain = true\n"
