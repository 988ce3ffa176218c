from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from aicli.settings_load import user_file
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, error, usage


def test_doctor_without_a_model(aicli: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secretword@127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnop1234")
    ran = aicli("doctor", "--no-probe", "--json")
    checks = {check["name"]: check for check in json.loads(ran.out)}
    assert set(checks) >= {"config", "keys", "proxy", "certificates", "terminal", "sessions", "sandbox"}
    assert ran.code == 0, ran.out
    assert "OPENAI_API_KEY" in checks["keys"]["detail"] and checks["proxy"]["detail"] == "HTTPS_PROXY 127.0.0.1:9"
    assert "secretword" not in ran.out and "sk-abc" not in ran.out


def test_doctor_probes_the_model(aicli: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [[call("note_color", color="blue")], ["walnut", usage(900)], "red"]
    with ModelServer(replies) as server:
        monkeypatch.setenv("AICLI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("AICLI_MODELS__FAST", "openai:test-model")
        ran = aicli("doctor")
    assert ran.code == 0, ran
    lines = {line[6:18].strip(): line for line in ran.out.splitlines()}
    assert "openai:test-model answers" in lines["model"] and "native" in lines["tool calls"]
    assert "models.fast is set" in lines["fast"] and lines["context"].startswith("ok")


def test_doctor_names_what_is_broken(aicli: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text("[limits]\nmax_turn = 1\n")
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent.pem")
    ran = aicli("doctor", "--no-probe")
    assert ran.code == 1
    assert "config.toml:2" in ran.out and "Did you mean limits.max_turns?" in ran.out and "/nonexistent.pem" in ran.out
    user_file().unlink()
    monkeypatch.delenv("SSL_CERT_FILE")
    with ModelServer([[error(401, "bad key")]] * 9) as server:
        monkeypatch.setenv("AICLI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("AICLI_MODELS__RETRIES", "0")
        ran = aicli("doctor", "-m", "openai:test-model")
    assert ran.code == 1 and "FAIL  model" in ran.out and "bad key" in ran.out


@pytest.mark.skipif(os.name == "nt", reason="file modes are a POSIX matter")
def test_doctor_finds_a_credentials_file_that_others_can_read(aicli: Callable) -> None:
    file = user_file().with_name("credentials.toml")
    file.parent.mkdir(parents=True)
    file.write_text("")
    file.chmod(0o644)
    ran = aicli("doctor", "--no-probe")
    assert ran.code == 1 and "chmod 600" in ran.out
