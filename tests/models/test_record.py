"""A run's exchanges recorded, and played back without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from aicli.errors import ConfigError, InputError, ModelError
from tests.models.support import PROVIDERS, ask, orchestrator, whole, with_model
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, text, think, usage

REPLY = [think("hm", pieces=2), text("你好 there", pieces=4), call("ls", path="."), usage(7, 3)]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_played_back_as_it_came(provider: str, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "run.jsonl"
    with ModelServer([REPLY]) as server:
        first, _ = with_model(server.url, provider, lambda m: whole(m, ask()), record=file)
        url = server.url
    assert "sk-test-secret" not in file.read_text("utf-8")
    second, _ = with_model(url, provider, lambda m: whole(m, ask()), replay=file)
    assert second.message() == first.message() and second.finish == first.finish


def test_a_changed_request_misses_loudly(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    with ModelServer([REPLY]) as server:
        with_model(server.url, "openai", lambda m: whole(m, ask("first words")), record=file)
        url = server.url
    with pytest.raises(ModelError) as caught:
        with_model(url, "openai", lambda m: whole(m, ask("other words")), replay=file)
    assert '-    "content": "first words"' in str(caught.value) and '+    "content": "other words"' in str(caught.value)


def test_a_used_up_recording_says_so(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"

    async def twice(model: object) -> None:
        await whole(model, ask())  # type: ignore[arg-type]
        await whole(model, ask())  # type: ignore[arg-type]

    with ModelServer([REPLY]) as server:
        with_model(server.url, "anthropic", lambda m: whole(m, ask()), record=file)
        url = server.url
    with pytest.raises(ModelError, match="no more answers"):
        with_model(url, "anthropic", twice, replay=file)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        orchestrator(replay=tmp_path / "none")
    (tmp_path / "bad").write_text("nonsense")
    with pytest.raises(ConfigError, match="no recording"):
        orchestrator(replay=tmp_path / "bad")
    (tmp_path / "file").write_text("")
    for kind in ("record", "log_http"):
        with pytest.raises(InputError, match="cannot write"):
            orchestrator(**{kind: tmp_path / "file" / "below"})
