from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from aicli.errors import ConfigError
from aicli.safety.secrets import Keys, Secret, all_secrets, child_environ, origin, set_key


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "conf" / "credentials.toml"


def key(keys: Keys, provider: str, url: str = "") -> str | None:
    found = keys.for_provider(provider, url)
    return found.reveal() if found else None


def test_environment_comes_before_the_file_and_one_name_wins(file: Path) -> None:
    set_key("openai", "from-file-1", credentials_file=file)
    assert key(Keys({}, file), "openai") == "from-file-1"
    environ = {"OPENAI_API_KEY": "from-env-12"}
    assert key(Keys(environ, file), "openai") == "from-env-12"
    assert key(Keys({**environ, "AICLI_API_KEY": "wins-12345"}, file), "openai") == "wins-12345"
    assert key(Keys({"GOOGLE_API_KEY": "g-12345678"}, file), "gemini") == "g-12345678"
    assert key(Keys(environ, file), "ollama") is None


@pytest.mark.parametrize(
    "url",
    [
        "http://api.openai.com/v1",
        "https://api.openai.com:444/v1",
        "https://api.openai.com.evil.org",
        "https://evil.org",
        "http://127.0.0.1:8000",
        "https://api.openai.com@evil.org/",
        "ftp://api.openai.com",
        "https://[bad",
    ],
)
def test_a_key_goes_to_no_other_host_unless_the_user_set_it(url: str, file: Path) -> None:
    environ = {"OPENAI_API_KEY": "from-env-12", "AICLI_API_KEY": "wins-12345"}
    assert key(Keys(environ, file), "openai", url) is None
    assert key(Keys(environ, file), "openai", "https://API.openai.com./v1") == "wins-12345"
    if origin(url):
        assert key(Keys(environ, file, [url]), "openai", url + "/deeper") == "wins-12345"


def test_every_declared_provider_has_its_names_and_its_own_host(file: Path) -> None:
    environ = {"MISTRAL_API_KEY": "mistral-1234", "MOONSHOT_API_KEY": "moon-12345", "OPENAI_API_KEY": "openai-1234"}
    keys = Keys(environ | {"OPENAI_BASE_URL": "https://proxy.mine.example/v1"}, file)
    assert key(keys, "mistral", "https://api.mistral.ai/v1") == "mistral-1234"
    assert key(keys, "mistral", "https://api.openai.com/v1") is None
    assert key(keys, "kimi", "https://api.moonshot.ai/v1") == "moon-12345"
    assert key(keys, "openai", "https://proxy.mine.example/v1") == "openai-1234", "the user's own variable set it"
    assert key(keys, "mistral", "https://proxy.mine.example/v1") is None
    assert key(keys, "nobody", "https://x.example") is None


def test_a_key_in_the_file_may_name_its_own_address(file: Path) -> None:
    set_key("openai", "office-12345", base_url="https://llm.office.example/v1", credentials_file=file)
    assert key(Keys({}, file), "openai", "https://llm.office.example/v1") == "office-12345"
    assert key(Keys({}, file), "openai", "https://api.openai.com/v1") is None


def test_an_open_file_is_refused_with_the_command_that_helps(file: Path) -> None:
    set_key("openai", "from-file-1", credentials_file=file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="can be read by others") as caught:
        Keys({}, file).for_provider("openai")
    assert f"chmod 600 {file}" in caught.value.hint


def test_a_broken_file_is_named_but_not_quoted(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("[openai\napi_key = 'sk-secret'")
    file.chmod(0o600)
    with pytest.raises(ConfigError) as caught:
        Keys({}, file).for_provider("openai")
    assert "sk-secret" not in caught.value.line and str(file) in caught.value.line


def test_writing_keeps_the_rest_of_the_file_and_can_remove(file: Path) -> None:
    file.parent.mkdir()
    file.write_text('# mine\n[gemini]\napi_key = "g-12345678"  # old\n')
    file.chmod(0o600)
    set_key("openai", 'odd "key"\\中', credentials_file=file)
    assert "# mine" in file.read_text() and "# old" in file.read_text()
    assert key(Keys({}, file), "openai") == 'odd "key"\\中'
    set_key("openai", "", credentials_file=file)
    assert key(Keys({}, file), "openai") is None
    assert os.listdir(file.parent) == ["credentials.toml"]


def test_a_secret_does_not_show_itself() -> None:
    assert "hidden" not in repr(Secret("hidden-value", "environment X")) + str(Secret("hidden-value"))


def test_all_secrets_takes_values_by_name_and_every_key(file: Path) -> None:
    set_key("openai", "from-file-1", credentials_file=file)
    environ = {
        "MY_TOKEN": "token-123",
        "DB_PASSWORD": "pw-123456",
        "SHORT_KEY": "short",
        "SSH_AUTH_SOCK": "/tmp/agent.sock",
        "KEYBOARD_LAYOUT": "de-nodeadkeys",
        "HOME": "/home/me-somebody",
        "GEMINI_API_KEY": "g-12345678",
    }
    assert set(all_secrets(environ, Keys(environ, file))) == {"token-123", "pw-123456", "g-12345678", "from-file-1"}


def test_children_get_a_short_list_and_no_loader_variables(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    environ = {
        "PATH": f"bin::.:/usr/bin:{tmp_path}/bin:/bin",
        "HOME": "/h",
        "LC_ALL": "C.UTF-8",
        "OPENAI_API_KEY": "k",
        "LD_PRELOAD": "/x.so",
        "BASH_ENV": "x",
        "GIT_DIR": "x",
        "PYTHONPATH": "x",
        "BASH_FUNC_ls%%": "() { x; }",
        "MINE": "1",
    }
    allowed = ["MINE", "LD_PRELOAD", "GIT_DIR", "ENV", "PYTHONPATH"]
    out = child_environ(environ, allowed, workspace=tmp_path)
    assert out == {"PATH": "/usr/bin:/bin", "HOME": "/h", "LC_ALL": "C.UTF-8", "MINE": "1"}
    assert child_environ(environ, trusted_path=True)["PATH"] == f"/usr/bin:{tmp_path}/bin:/bin"
    assert child_environ({}, workspace=tmp_path)["PATH"] == "/usr/bin:/bin"
