"""Probing tells what a model can really do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aicli.models.probe import Probed, ProbedEmbedder, probe, probe_embedder, similarity
from tests.models.support import PROVIDERS, orchestrator, with_model
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, error, think, usage


@pytest.mark.parametrize("provider", PROVIDERS)
def test_native_calls_and_thinking(provider: str) -> None:
    script = [[think("hm"), call("note_color", color="blue")], ["walnut", usage(4_000, 2)], "red"]
    with ModelServer(script) as server:
        found = with_model(server.url, provider, probe)[0]
        assert server.violations == []
    assert (found.calls, found.thinking, found.kept, found.read_tokens) == ("native", True, True, 4_000)
    assert found.problems == ()
    assert found.images is (True if provider == "ollama" else None)
    assert "native" in str(found) and found.model in str(found)


def test_a_dialect_and_a_short_window() -> None:
    script = [
        '<tool_call>\n{"name": "note_color", "arguments": {"color": "blue"}}\n</tool_call>',
        "I don't know",
        "blue",
    ]
    with ModelServer(script, window=4_096) as server:
        found = with_model(server.url, "ollama", probe)[0]
    assert found.calls not in ("", "native") and f"as text ({found.calls})" in str(found)
    assert (found.kept, found.images, found.window) == (False, False, 4_096)


def test_errors_are_told_not_raised() -> None:
    with ModelServer([[error(400, "no tools here")], [error(500, "no", x_should_retry="false")]]) as server:
        found = with_model(server.url, "vllm", probe)[0]
    assert found.calls == "" and found.kept is None and len(found.problems) == 2
    assert "no tools here" in str(found)


def test_without_the_long_prompt_only_the_call_is_asked_for() -> None:
    with ModelServer([[call("note_color", color="blue")]]) as server:
        found = with_model(server.url, "vllm", lambda model: probe(model, long=False))[0]
        assert len([seen for seen in server.requests if seen.method == "POST"]) == 1
    assert (found.calls, found.kept, found.problems) == ("native", None, ())


def test_embedder() -> None:
    async def run(url: str) -> ProbedEmbedder:
        found = orchestrator(url, "ollama")
        try:
            return await probe_embedder(await found.embedder("ollama:bge-m3"))
        finally:
            await found.close()

    with ModelServer() as server:
        result = asyncio.run(run(server.url))
    assert result.dimensions == 64 and result.near > result.far
    assert "64 dimensions" in str(result)
    assert similarity([0.0], [1.0]) == 0


def test_the_report_reads_well() -> None:
    shown: Any = str(Probed("x:y", seconds=1.26))
    assert shown.splitlines()[0] == "x:y (1.3 s)" and "unknown" in shown
