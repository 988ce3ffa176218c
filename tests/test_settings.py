from __future__ import annotations

import os
from pathlib import Path

import pytest

from aicli.errors import ConfigError, UsageError
from aicli.settings import Settings
from aicli.settings_file import closest, line_of, read, with_value
from aicli.settings_load import fields, load, parse, plain, user_file, variable, wrong


def write_user(text: str, mode: int = 0o600) -> Path:
    path = user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def write_project(folder: Path, text: str) -> Path:
    path = folder / ".aicli" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_anywhere_gives_the_defaults(isolated: Path) -> None:
    loaded = load(cwd=isolated, environ={})
    assert loaded.settings == Settings()
    assert set(loaded.origin.values()) == {"default"}
    assert loaded.warnings == ()


def test_each_layer_beats_the_one_below_and_says_so(isolated: Path) -> None:
    write_user('[models]\nfast = "ollama:u"\nthinking = "ollama:u"\nembedding = "ollama:u"\nfallback = "ollama:u"\n')
    write_project(isolated, '[models]\nthinking = "ollama:p"\nembedding = "ollama:p"\nfallback = "ollama:p"\n')
    environ = {"AICLI_MODELS__EMBEDDING": "ollama:e", "AICLI_MODELS__FALLBACK": "ollama:e"}
    loaded = load({"models.fallback": "ollama:f", "models.num_ctx": None}, cwd=isolated, trusted=True, environ=environ)
    models = loaded.settings.models
    assert (models.fast, models.thinking, models.embedding, models.fallback) == (
        "ollama:u",
        "ollama:p",
        "ollama:e",
        "ollama:f",
    )
    won = [loaded.origin[f"models.{k}"] for k in ("fast", "thinking", "embedding", "fallback", "num_ctx")]
    assert won == ["user", "project", "environment", "flags", "default"]


def test_an_untrusted_project_is_not_even_read(isolated: Path) -> None:
    path = write_project(isolated, "this is = not [toml")
    loaded = load(cwd=isolated, environ={})
    assert loaded.settings == Settings()
    assert loaded.ignored == path


def test_a_project_is_found_from_below_but_not_beyond_its_repository(isolated: Path) -> None:
    write_project(isolated, "[limits]\nmax_turns = 7\n")
    repository = isolated / "repo"
    below = repository / "中文" / "src"
    below.mkdir(parents=True)
    assert load(cwd=below, trusted=True, environ={}).settings.limits.max_turns == 7
    (repository / ".git").mkdir()
    assert load(cwd=below, trusted=True, environ={}).settings.limits.max_turns == 50


@pytest.mark.parametrize(
    "line",
    [
        'api_key = "sk-project"',
        'base_url = "http://evil.example"',
        'provider = "openai"',
        'permissions.mode = "bypass"',
        'permissions.mode = "acceptEdits"',
        'permissions.allow = ["shell(*)"]',
        'sandbox.mode = "off"',
        'sandbox.read = ["/"]',
        'shell.env_allow = ["AWS_SECRET_ACCESS_KEY"]',
        'web.allow_hosts = ["127.0.0.1:80"]',
        'web.proxy = "http://evil.example"',
        "models.allow_carriers = true",
    ],
)
def test_a_trusted_project_can_only_tighten(isolated: Path, line: str) -> None:
    write_project(isolated, line)
    loaded = load(cwd=isolated, trusted=True, environ={})
    assert loaded.settings == Settings()
    assert line.split(" =")[0] in loaded.warnings[0]
    assert "config.toml:1" in loaded.warnings[0]
    assert "sk-project" not in str(loaded.warnings)


def test_a_project_cannot_take_back_what_the_user_set(isolated: Path) -> None:
    write_user('offline = true\n[permissions]\nmode = "plan"\ndeny = ["shell(curl *)"]\n[limits]\nmax_turns = 10\n')
    write_project(
        isolated, 'offline = false\n[permissions]\nmode = "default"\ndeny = ["shell(rm *)"]\n[limits]\nmax_turns = 90\n'
    )
    loaded = load(cwd=isolated, trusted=True, environ={})
    assert loaded.settings.offline
    assert loaded.settings.permissions.mode == "plan"
    assert loaded.settings.limits.max_turns == 10
    assert loaded.settings.permissions.deny == ("shell(curl *)", "shell(rm *)")
    assert set(loaded.dropped) == {"offline", "permissions.mode", "limits.max_turns"}


def test_rules_of_flags_add_to_those_of_the_files(isolated: Path) -> None:
    write_user('[permissions]\nallow = ["shell(git log *)"]\ndeny = ["web_fetch"]\n')
    loaded = load({"permissions.deny": ["shell"], "permissions.allow": ["edit"]}, cwd=isolated, environ={})
    assert loaded.settings.permissions.deny == ("web_fetch", "shell")
    assert loaded.settings.permissions.allow == ("shell(git log *)", "edit")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models]\nfast = 1\n", "config.toml:2: models.fast should be text, not 1"),
        (
            "# 注释\n\n[limits]\nmax_turn = 3\n",
            "config.toml:4: unknown setting 'limits.max_turn'. Did you mean limits.max_turns?",
        ),
        ('fastModel = "x"\n', "config.toml:1: unknown setting 'fastModel'"),
        ('[models]\nfast = "a"\nthinking "b"\n', "config.toml:3: "),
        ('[models]\nfast = ["a" "b"]\n', "config.toml:2: "),
        ("[limits]\nmax_turns = 0\n", "config.toml:2: limits.max_turns should be at least 1, not 0"),
        ('[permissions]\nmode = "yes"\n', "config.toml:2: permissions.mode should be one of plan, default"),
        ("models = 3\n", "config.toml:1: unknown setting 'models'"),
        ("zzz = 3\n", "See: aicli config show."),
    ],
)
def test_a_broken_file_is_one_line_with_file_line_and_key(isolated: Path, text: str, said: str) -> None:
    path = write_user(text)
    with pytest.raises(ConfigError) as caught:
        load(cwd=isolated, environ={})
    assert said in caught.value.line
    assert "\n" not in caught.value.line
    assert caught.value.exit_code == 52
    assert path.read_text(encoding="utf-8") == text


def test_a_syntax_error_never_shows_the_value(isolated: Path) -> None:
    write_user('api_key = "sk-verysecretvalue12345" oops\n')
    with pytest.raises(ConfigError) as caught:
        load(cwd=isolated, environ={})
    assert "verysecret" not in caught.value.line
    assert "config.toml:1" in caught.value.line


def test_empty_and_bom_files_are_fine_a_folder_is_not(isolated: Path) -> None:
    write_user("")
    assert load(cwd=isolated, environ={}).settings == Settings()
    user_file().write_bytes(b"\xef\xbb\xbf[limits]\r\nmax_turns = 4\r\n")
    assert load(cwd=isolated, environ={}).settings.limits.max_turns == 4
    user_file().write_bytes(b'fast = "\xff"\n')
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(cwd=isolated, environ={})
    user_file().unlink()
    user_file().mkdir()
    with pytest.raises(ConfigError, match="is a folder"):
        load(cwd=isolated, environ={})


@pytest.mark.skipif(os.name == "nt", reason="file modes are a POSIX matter")
def test_a_key_in_a_file_that_others_can_read_is_refused(isolated: Path) -> None:
    path = write_user('api_key = "sk-abcdefgh12345678"\n', 0o644)
    with pytest.raises(ConfigError, match="others can read it") as caught:
        load(cwd=isolated, environ={})
    assert "chmod 600" in caught.value.hint
    assert "sk-abc" not in caught.value.line
    path.chmod(0o600)
    loaded = load(cwd=isolated, environ={})
    assert loaded.settings.api_key is not None
    assert "sk-abc" not in repr(loaded.settings)
    environ = {"AICLI_API_KEY": "sk-from-environment"}
    winner = load(cwd=isolated, environ=environ).settings.api_key
    assert winner is not None and winner.get_secret_value() == "sk-from-environment"


def test_the_environment_is_read_by_type(isolated: Path) -> None:
    environ = {
        "AICLI_USE_LOCAL_GENERATOR": "true",
        "AICLI_LIMITS__MAX_TURNS": "9",
        "AICLI_MODELS__TEMPERATURE": "0.5",
        "AICLI_PERMISSIONS__DENY": "shell(curl *), web_fetch",
        "AICLI_SHELL__ENV_ALLOW": '["A", "B"]',
        "AICLI_PROVIDER": "",
    }
    settings = load(cwd=isolated, environ=environ).settings
    assert settings.use_local_generator and settings.limits.max_turns == 9 and settings.models.temperature == 0.5
    assert settings.permissions.deny == ("shell(curl *)", "web_fetch")
    assert settings.shell.env_allow == ("A", "B")


def test_a_wrong_variable_is_an_error_an_unknown_one_a_warning(isolated: Path) -> None:
    with pytest.raises(ConfigError, match="AICLI_LIMITS__MAX_TURNS"):
        load(cwd=isolated, environ={"AICLI_LIMITS__MAX_TURNS": "many"})
    loaded = load(cwd=isolated, environ={"AICLI_LIMITS__MAX_TURN": "3", "AICLI_SOMETHING_ELSE": "x", "AICLI_SOAK": "1"})
    assert loaded.warnings == ("AICLI_LIMITS__MAX_TURN is not a setting; did you mean AICLI_LIMITS__MAX_TURNS?",)


def test_flags_are_usage_errors(isolated: Path) -> None:
    with pytest.raises(UsageError, match="--max-turns should be at least 1, not 0"):
        load({"limits.max_turns": 0}, cwd=isolated, environ={})


def test_permission_modes_are_read_in_other_spellings(isolated: Path) -> None:
    write_user('[permissions]\nmode = "acceptEdits"\n')
    assert load(cwd=isolated, environ={}).settings.permissions.mode == "accept-edits"
    assert (
        load({"permissions.mode": "bypassPermissions"}, cwd=isolated, environ={}).settings.permissions.mode == "bypass"
    )


@pytest.mark.parametrize("key", list(fields()))
def test_every_setting_has_a_description_a_variable_and_a_default_that_passes(key: str) -> None:
    info = fields()[key]
    assert info.description, key
    assert variable(key).startswith("AICLI_")
    if info.default is not None:
        assert wrong(key, plain(info.default)) == ""


def test_lines_are_found_in_tables_dotted_keys_and_inline_tables() -> None:
    text = (
        'offline = true\nweb.proxy = "x"\nmodels = { fast = "a" }\n\n[limits] # 限制\n# max_turns = 1\nmax_turns = 2\n'
    )
    assert [line_of(text, k) for k in ("offline", "web.proxy", "models.fast", "limits.max_turns")] == [1, 2, 3, 7]
    assert line_of(text, "limits.max_tokens") == 5
    assert line_of(text, "shell.timeout") == 0


def test_setting_a_value_keeps_comments_and_order() -> None:
    text = "# mine\noffline = true  # 离线\n\n[limits]\n# turns\nmax_turns = 2 # two\n"
    changed = with_value(with_value(text, "limits.max_turns", 5), "models.fast", "ollama:q")
    assert changed.startswith(text.replace("= 2", "= 5"))
    assert 'fast = "ollama:q"' in changed
    assert with_value(changed, "models.fast", None).count("ollama") == 0
    assert with_value(text, "models.fast", None) == text


def test_a_missing_file_reads_as_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "none.toml").values == {}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("maxTurns", "limits.max_turns"), ("models.fasst", "models.fast"), ("api-key", "api_key"), ("qqqqqq", "")],
)
def test_the_nearest_key(typed: str, meant: str) -> None:
    assert closest(typed, fields()) == meant


def test_parse_leaves_what_it_cannot_read() -> None:
    assert parse("offline", "perhaps") == "perhaps"
    assert wrong("offline", "perhaps")
