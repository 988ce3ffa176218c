"""Which model fills a role, and why; names, addresses, keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from aicli.errors import AuthFailed, ConfigError, InputError, NoModelForRole
from aicli.models import registry
from aicli.models.choice import installed_instead
from aicli.models.orchestrator import MultiModelOrchestrator
from aicli.models.places import base_url, guessed, listens, ollama_host
from aicli.models.provider import versioned
from aicli.settings import Secret, Settings
from tests.models.support import ask, orchestrator, reply, whole, with_model
from tests.support.model_server import ModelServer

T = TypeVar("T")
NOBODY = "http://127.0.0.1:9"


def run(found: MultiModelOrchestrator, use: Callable[[MultiModelOrchestrator], Awaitable[T]]) -> T:
    async def inner() -> T:
        try:
            return await use(found)
        finally:
            await found.close()

    return asyncio.run(inner())


def no_key(name: str, url: str) -> str | None:
    return None


async def _report(o: MultiModelOrchestrator) -> dict[str, str | None]:
    return {f.role: f.model for f in await o.report()}


async def _fast(o: MultiModelOrchestrator) -> str:
    return (await o.resolve("fast")).info.id


def test_a_reachable_ollama_fills_the_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(models=["qwen2.5-coder:7b", "gpt-oss:20b", "bge-m3:latest", "llama3.2:1b"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        roles = run(orchestrator(key=no_key), _report)
    assert roles == {
        "fast": "ollama:qwen2.5-coder:7b",
        "thinking": "ollama:gpt-oss:20b",
        "embedding": "ollama:bge-m3:latest",
    }


def test_what_is_not_installed_gives_way_to_what_is_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = orchestrator(key=no_key)
    with ModelServer(models=["nomic-embed-text:latest", "qwen3:4b"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        roles = run(found, _report)
    assert roles == {
        "fast": "ollama:qwen3:4b",
        "thinking": "ollama:qwen3:4b",
        "embedding": "ollama:nomic-embed-text:latest",
    }
    assert any("qwen2.5-coder:7b is not installed" in n and "qwen3:4b" in n for n in found.notes)


@pytest.mark.parametrize(
    ("wanted", "there", "role", "found"),
    [
        ("qwen2.5-coder:7b", ["qwen2.5-coder:7b"], "fast", "qwen2.5-coder:7b"),
        ("bge-m3", ["bge-m3:latest"], "embedding", "bge-m3:latest"),
        ("qwen2.5-coder:7b", ["llama3:8b", "qwen2.5-coder:1.5b"], "fast", "qwen2.5-coder:1.5b"),
        ("qwen2.5-coder:7b", ["bge-m3"], "fast", ""),
        ("bge-m3", ["qwen3:4b"], "embedding", ""),
        ("", ["a", "b"], "fast", "a"),
        ("x", [], "fast", ""),
    ],
)
def test_stand_ins(wanted: str, there: list[str], role: str, found: str) -> None:
    assert installed_instead(wanted, there, role) == found


def test_keys_come_after_ollama_in_a_fixed_order() -> None:
    def key(name: str, url: str) -> str | None:
        return "k" if name in ("deepseek", "openai", "anthropic") else None

    assert run(orchestrator(key=key), _fast).startswith("anthropic:")
    only = lambda name, url: "k" if name == "deepseek" else None  # noqa: E731
    assert run(orchestrator(key=only), _fast) == "deepseek:deepseek-chat"


def test_the_embedded_model_or_the_reasons() -> None:
    report = {f.role: f for f in run(orchestrator(key=no_key), MultiModelOrchestrator.report)}
    embedding = report["embedding"]
    assert embedding.model is None and "no Ollama" in embedding.why
    for role in ("fast", "thinking"):
        assert (report[role].model or "embedded:").startswith("embedded:")
    with pytest.raises(NoModelForRole):
        run(orchestrator(key=no_key), MultiModelOrchestrator.embedder)


def test_offline_asks_no_provider_with_a_key() -> None:
    report = run(orchestrator(offline=True), MultiModelOrchestrator.report)
    assert all((f.model or "embedded:").startswith("embedded:") for f in report)
    with pytest.raises(ConfigError, match="offline"):
        run(orchestrator(offline=True), lambda o: o.resolve("deepseek:deepseek-chat"))


def test_a_named_provider_is_never_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(["fine"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        run(orchestrator(NOBODY, "openai"), lambda o: o.resolve("openai:x"))
        assert server.all_requests == []


def test_roles_as_they_are_set() -> None:
    found = orchestrator(key=lambda n, u: "k", fast="openai:fast", thinking="deepseek:deepseek-reasoner")
    roles = run(found, _report)
    assert (roles["fast"], roles["thinking"]) == ("openai:fast", "deepseek:deepseek-reasoner")


def test_an_alias_of_a_gateway_is_sent_as_it_is() -> None:
    with ModelServer(["fine"]) as server:
        said, _ = with_model(server.url, "openai", lambda m: whole(m, ask()), name="fast")
        assert server.bodies[0]["model"] == "fast"
        assert said.message().text == "fine"


def test_a_bare_name_belongs_to_the_provider_that_is_set() -> None:
    found = orchestrator(NOBODY, "ollama", fast="qwen3:4b")
    assert run(found, _fast) == "ollama:qwen3:4b"


def test_the_first_model_that_a_gateway_lists() -> None:
    with ModelServer(models=["text-embedding-x", "house-model"]) as server:
        assert run(orchestrator(server.url, "vllm"), _fast) == "vllm:house-model"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nonsense", "provider:model"),
        ("olama:x", "Did you mean ollama:x"),
        ("ollama:", "provider:model"),
        ("", "provider:model"),
        ("nobody:x", "Providers: anthropic"),
    ],
)
def test_bad_names(name: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        run(orchestrator(), lambda o: o.resolve(name))
    assert words in caught.value.line and caught.value.exit_code == 42


def test_a_missing_key_names_its_variable() -> None:
    with pytest.raises(AuthFailed, match="no key for deepseek") as caught:
        run(orchestrator(key=no_key), lambda o: o.resolve("deepseek:deepseek-chat"))
    assert "DEEPSEEK_API_KEY" in caught.value.hint and caught.value.exit_code == 41


@pytest.mark.parametrize(
    ("url", "key", "name"),
    [
        ("http://localhost:1234", "", "lmstudio"),
        ("http://localhost:4000", "", "openai"),
        ("http://gateway.example.com", "sk-abc", "openai"),
        ("http://localhost:11434", "", "ollama"),
        ("http://localhost:11434/v1", "", "openai"),
        ("http://box:9999", "ollama", "ollama"),
        ("http://my-ollama.example.com", "", "ollama"),
        ("https://generativelanguage.googleapis.com", "AIza", "gemini"),
        ("https://api.anthropic.com", "", "anthropic"),
        ("https://api.deepseek.com/v1", "sk-x", "deepseek"),
        ("https://res.openai.azure.com/openai/deployments/x?api-version=1", "", "azure"),
        ("http://box:9999", "", ""),
        ("", "", ""),
    ],
)
def test_what_an_address_and_a_key_name(url: str, key: str, name: str) -> None:
    assert guessed(url, key) == name


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("", ""),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("box", "http://box:11434"),
        ("box:99", "http://box:99"),
        (":99", "http://127.0.0.1:99"),
        ("https://box", "https://box:443"),
        ("http://box:99/deep/", "http://box:99/deep"),
        ("[::]:99", "http://[::1]:99"),
    ],
)
def test_ollama_host(value: str, url: str) -> None:
    if value:
        assert ollama_host(value) == url


def test_addresses_from_the_environment() -> None:
    provider = registry.provider("openai")
    assert provider is not None
    assert base_url(provider, {}) == "https://api.openai.com/v1"
    assert base_url(provider, {"OPENAI_BASE_URL": "http://x/v1/"}) == "http://x/v1"


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/api/paas/v4", "/api/paas/v4/chat/completions"),
        (
            "/openai/deployments/d?api-version=2025-01-01",
            "/openai/deployments/d/chat/completions?api-version=2025-01-01",
        ),
    ],
)
def test_base_urls_with_and_without_a_version(base: str, path: str) -> None:
    with ModelServer(["fine"]) as server:
        with_model(server.url + base, "openai", lambda m: whole(m, ask()))
        assert server.requests[0].path == path
        secret = server.requests[0].headers
        assert secret["api-key" if "api-version" in base else "authorization"].endswith("sk-test-secret")


def test_an_azure_resource_by_its_bare_address() -> None:
    assert versioned("https://r.openai.azure.com", "/x") == "https://r.openai.azure.com/openai/v1/x"
    deployed = "https://r.openai.azure.com/openai/deployments/d?api-version=1"
    assert versioned(deployed, "/x") == "https://r.openai.azure.com/openai/deployments/d/x?api-version=1"


@pytest.mark.parametrize(
    ("provider", "header"),
    [("openai", "authorization"), ("anthropic", "x-api-key"), ("gemini", "x-goog-api-key"), ("azure", "api-key")],
)
def test_where_the_key_goes(provider: str, header: str) -> None:
    with ModelServer(["fine"]) as server:
        reply(server, provider, ask())
        seen = server.requests[0]
        assert "sk-test-secret" in seen.headers[header] and "sk-test-secret" not in seen.path


def test_the_settings_key_is_for_the_chosen_provider_only() -> None:
    chosen = orchestrator(NOBODY, "openai", key=no_key, api_key=Secret("from-settings"))
    assert chosen.link(registry.split("openai:x")[0]).key == "from-settings"
    with pytest.raises(AuthFailed):
        chosen.link(registry.split("deepseek:x")[0])


def test_a_base_url_does_not_draw_another_providers_requests() -> None:
    found = orchestrator("http://localhost:11434")
    assert found.link(registry.split("ollama:x")[0]).base_url == "http://localhost:11434"
    assert found.link(registry.split("deepseek:x")[0]).base_url == "https://api.deepseek.com"
    for gateway in ("http://localhost:4000", "http://box:9999", "http://localhost:1234/v1"):
        assert orchestrator(gateway).link(registry.split("anthropic:x")[0]).base_url == gateway
    hosted = orchestrator("https://api.openai.com/v1")
    assert hosted.link(registry.split("openai:x")[0]).base_url == "https://api.openai.com/v1"
    assert hosted.link(registry.split("anthropic:x")[0]).base_url == "https://api.anthropic.com"


def test_a_server_of_ones_own_needs_no_key() -> None:
    assert orchestrator("http://10.0.0.5:8000/v1", "openai", key=no_key).link(registry.split("openai:x")[0]).key is None


def test_a_server_that_says_nothing_does_not_hold_up_the_roles() -> None:
    came = []

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(writer)
        await reader.read()
        writer.close()
        await writer.wait_closed()

    async def roles() -> str:
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        found = orchestrator(url, "ollama", first_byte_timeout=0.2)
        try:
            return (await found.report())[0].model or ""
        finally:
            server.close()
            await found.close()
            await asyncio.gather(*(w.wait_closed() for w in came))

    assert asyncio.run(roles()) == "ollama:qwen2.5-coder:7b"
    assert len(came) == 1


def test_real_settings_fit() -> None:
    found = MultiModelOrchestrator(Settings(provider="openai", base_url=NOBODY), no_key)
    assert run(found, lambda o: o.resolve("openai:x")).info.id == "openai:x"


def test_looking_for_a_listener_is_quick() -> None:
    assert asyncio.run(listens(NOBODY)) is False
    with ModelServer() as server:
        assert asyncio.run(listens(server.url)) is True


def test_old_gemini_names() -> None:
    async def use(o: MultiModelOrchestrator) -> Any:
        return (await o.resolve("google:gemini-1.5-flash")).info

    info = run(orchestrator(), use)
    assert info.name == "gemini-2.5-flash" and "gemini-1.5-flash is gone" in info.note


def test_embedders(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer() as server:
        for provider in ("ollama", "openai", "gemini"):
            vectors = run(
                orchestrator(server.url, provider),
                lambda o, p=provider: _vectors(o, f"{p}:bge-m3"),  # type: ignore[misc]
            )
            assert len(vectors) == 2 and len(vectors[0]) == 64 and vectors[0] != vectors[1]


async def _vectors(o: MultiModelOrchestrator, name: str) -> list[list[float]]:
    return await (await o.embedder(name)).embed(["eee", "ttt"])


def test_a_window_is_asked_for_after_the_first_reply() -> None:
    async def twice(model: Any) -> list[int | None]:
        before = model.info.window
        await whole(model, ask())
        await whole(model, ask())
        return [before, model.info.window]

    with ModelServer(["a b", "c d"], window=12_345) as server:
        assert with_model(server.url, "vllm", twice)[0] == [None, 12_345]  # type: ignore[arg-type]


def test_ollama_tells_what_a_model_can_do(tmp_path: Path) -> None:
    async def info(model: Any) -> Any:
        return model.info

    with ModelServer(window=4_096, capabilities=["completion", "tools"]) as server:
        shown = with_model(server.url, "ollama", info)[0]
    assert (shown.window, shown.tools, shown.thinking, shown.images) == (4_096, "native", False, False)
    with ModelServer(window=131_072, capabilities=["completion"]) as server:
        shown = with_model(server.url, "ollama", info)[0]
        assert (shown.window, shown.tools) == (32_768, "text")
        assert with_model(server.url, "ollama", info, num_ctx=65_536)[0].window == 65_536
