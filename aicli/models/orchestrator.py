"""MultiModelOrchestrator: which model fills a role, and why."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from aicli.content.events import RetryScheduled
from aicli.errors import AuthFailed, ConfigError, ModelError, NetworkFailed, NoModelForRole
from aicli.late import dataclass
from aicli.models import registry
from aicli.models.base import Embedder, Model, ModelInfo
from aicli.models.choice import installed_instead
from aicli.models.embedded import INSTALL, LIBRARY
from aicli.models.http import Http, Timeouts
from aicli.models.places import base_url, guessed, is_loopback, listens, owner_of
from aicli.models.provider import Link, Provider
from aicli.models.taps import transport

ROLES = ("fast", "thinking", "embedding")
_BY_KEY = ("gemini", "anthropic", "openai", "deepseek")
"""Whose keys are looked for when nothing is set, in this order."""


class Choices(Protocol):
    """The settings that matter here: provider, base_url, api_key, use_local_generator, offline, models."""

    @property
    def provider(self) -> str: ...
    @property
    def base_url(self) -> str: ...
    @property
    def api_key(self) -> Any: ...
    @property
    def use_local_generator(self) -> bool: ...
    @property
    def offline(self) -> bool: ...
    @property
    def models(self) -> Any: ...


@dataclass(frozen=True)
class ModelDefaults:
    fast: str = ""
    thinking: str = ""
    embedding: str = ""
    fallback: str = ""
    num_ctx: int | None = None
    top_p: float | None = None
    top_k: int | None = None
    connect_timeout: float = 10
    first_byte_timeout: float = 300
    idle_timeout: float = 300
    retries: int = 4


@dataclass(frozen=True)
class Defaults:
    """Choices with nothing chosen."""

    provider: str = ""
    base_url: str = ""
    api_key: Any = None
    use_local_generator: bool = False
    offline: bool = False
    models: ModelDefaults = ModelDefaults()


@dataclass(frozen=True, slots=True)
class Filled:
    """What a role resolves to. `model` is "provider:model", or None with the reason in `why`."""

    role: str
    model: str | None
    why: str


class MultiModelOrchestrator:
    """Roles to models. `key(provider, base_url)` gives a key or None; `notes` collects what the person should be told.

    `log_http`, `record` and `replay` are files at the HTTP boundary. `close` when the run is over.
    """

    def __init__(
        self,
        settings: Choices,
        key: Callable[[str, str], str | None],
        *,
        on_retry: Callable[[RetryScheduled], None] | None = None,
        log_http: Path | None = None,
        record: Path | None = None,
        replay: Path | None = None,
        cache_dir: Path | None = None,
    ) -> None:
        self.notes: list[str] = []
        self._settings = settings
        self._key = key
        self._on_retry = on_retry
        wanted = settings.models
        timeouts = Timeouts(wanted.connect_timeout, wanted.first_byte_timeout, wanted.idle_timeout)
        self._http = Http(timeouts, transport(log_http=log_http, record=record, replay=replay))
        self._cache_dir = cache_dir
        self._models: dict[str, Model] = {}
        self._filled: dict[str, tuple[Provider, str, str]] = {}
        self._lists: dict[str, list[ModelInfo] | ModelError] = {}

    @classmethod
    def from_environment(cls) -> MultiModelOrchestrator:
        """For library use without settings: every default, keys from the environment by their usual names."""

        def key(name: str, url: str) -> str | None:
            found = registry.provider(name)
            return next((os.environ[k] for k in found.key_names if os.environ.get(k)), None) if found else None

        return cls(Defaults(), key)

    async def resolve(self, role_or_id: str) -> Model:
        """The model of a role or of `provider:model`. Raises NoModelForRole, InputError, ConfigError, AuthFailed."""
        if role_or_id in ("fast", "thinking"):
            provider, name, _ = await self._fill(role_or_id)
        else:
            provider, name = self._named(role_or_id)
        model = self._models.get(f"{provider.name}:{name}")
        if model is None:
            model = await provider.model(name, self.link(provider))
            self._models[f"{provider.name}:{name}"] = model
        return model

    async def embedder(self, name: str = "") -> Embedder:
        """The embedder of the embedding role, or of `provider:model`. Raises NoModelForRole, InputError, ConfigError."""
        provider, model = self._named(name) if name else (await self._fill("embedding"))[:2]
        if provider.embedder is None:
            raise NoModelForRole(
                f"{provider.name} has no embeddings", hint="Set models.embedding to another provider:model."
            )
        return await provider.embedder(model, self.link(provider))

    async def fallback(self) -> Model | None:
        """The model that is asked when the role's own fails for good, if one is set."""
        name = self._settings.models.fallback
        return await self.resolve(name) if name else None

    async def report(self) -> tuple[Filled, ...]:
        """What each role resolves to and why; never raises for a role that nothing fills."""
        rows = []
        for role in ROLES:
            try:
                provider, name, why = await self._fill(role)
                rows.append(Filled(role, f"{provider.name}:{name}", why))
            except (ConfigError, ModelError) as error:
                rows.append(Filled(role, None, error.line))
        return tuple(rows)

    async def available(self, provider: Provider) -> list[ModelInfo]:
        """The models that the provider's server lists. Raises ModelError."""
        if provider.name not in self._lists:
            try:
                self._lists[provider.name] = await provider.models(self.link(provider))
            except NetworkFailed as error:
                self._lists[provider.name] = error  # it is not asked again for each role
        found = self._lists[provider.name]
        if isinstance(found, ModelError):
            raise found
        return found

    def link(self, provider: Provider) -> Link:
        """The way to the provider's server. Raises AuthFailed without a needed key, ConfigError for one out of bounds."""
        url = self._url(provider)
        if self._settings.offline and url and not is_loopback(url):
            raise ConfigError(f"{provider.name} is at {url}, and the network is off (offline)")
        if not url and provider.url_names:
            raise ConfigError(f"{provider.name} has no address", hint=f"Set base_url or {provider.url_names[0]}.")
        key = self._key_for(provider, url)
        if provider.needs_key and not key and url == provider.base_url:
            raise AuthFailed(
                f"no key for {provider.name}", hint=f"Set {' or '.join(provider.key_names)} in the environment."
            )
        wanted = self._settings.models
        sampling = {k: v for k, v in (("top_p", wanted.top_p), ("top_k", wanted.top_k)) if v is not None}
        return Link(
            provider, url, self._http, key, wanted.retries, self._on_retry, wanted.num_ctx, sampling, self._cache_dir
        )

    def given_url(self, provider: str) -> str:
        """The base URL that is set, where it is this provider's; "" where it uses another."""
        found = registry.provider(provider)
        wanted = self._settings.base_url
        return wanted if found and wanted and self._url(found).endswith(wanted) else ""

    async def close(self) -> None:
        await self._http.close()

    def _key_for(self, provider: Provider, url: str) -> str | None:
        """The key that is set goes to the provider that is set, at its own address or the one that is set; no other."""
        secret = self._settings.api_key
        if secret is not None and self._chosen() in ("", provider.name, *provider.other_names):
            return str(secret.get_secret_value())
        return self._key(provider.name, url)

    def _url(self, provider: Provider) -> str:
        """The base URL that is set belongs to the provider that is set, or that its host names, or to any."""
        wanted = self._settings.base_url
        owner = self._settings.provider or owner_of(wanted)
        if wanted and owner in ("", provider.name, *provider.other_names):
            return wanted if "://" in wanted else f"http://{wanted}"
        return base_url(provider, os.environ)

    def _chosen(self) -> str:
        return chosen_provider(self._settings)

    def _named(self, name: str) -> tuple[Provider, str]:
        return named(self._settings, name)

    async def _fill(self, role: str) -> tuple[Provider, str, str]:
        """(provider, model name, why). Raises NoModelForRole, and what `link` raises for a provider that is set."""
        if role not in self._filled:
            self._filled[role] = await self._find(role)
        return self._filled[role]

    async def _find(self, role: str) -> tuple[Provider, str, str]:
        if self._settings.use_local_generator and role != "embedding":
            return await self._only("embedded", role, "use_local_generator is set")
        if wanted := getattr(self._settings.models, role):
            return (*self._named(wanted), f"models.{role} is set")
        chosen = self._chosen()
        if chosen:
            if registry.provider(chosen) is None:
                raise registry.unknown(f"{chosen}:model")
            why = "provider is set" if self._settings.provider else "base_url or key names it"
            return await self._only(chosen, role, why)
        return await self._first(role)

    async def _only(self, name: str, role: str, why: str) -> tuple[Provider, str, str]:
        provider = registry.provider(name)
        if provider is None:
            raise NoModelForRole(f"the provider {name} is not there for the role {role}")
        if role == "embedding" and provider.embedder is None:
            raise NoModelForRole(f"{name} has no embeddings", hint="Set models.embedding.")
        found = await self._pick(provider, role)
        if not found:
            raise NoModelForRole(
                f"nothing tells which model of {name} fills the role {role}", hint=f"Set models.{role}."
            )
        return provider, found, why

    async def _first(self, role: str) -> tuple[Provider, str, str]:
        """Nothing is set: a reachable Ollama, then a key in the environment, then the embedded model."""
        reasons: list[str] = []
        for name, why in await self._candidates(reasons):
            provider = registry.provider(name)
            if provider is None or (role == "embedding" and provider.embedder is None):
                continue
            found = await self._pick(provider, role, certain=True)
            if found:
                return provider, found, why
            reasons.append(f"{name} has no model for it")
        tried = "; ".join(reasons) or "no provider is set up"
        raise NoModelForRole(
            f"no model fills the role {role} ({tried})", hint=_setup_hint() if role != "embedding" else _EMBED_HINT
        )

    async def _candidates(self, reasons: list[str]) -> list[tuple[str, str]]:
        found = []
        ollama = registry.provider("ollama")
        if ollama is not None:
            url = base_url(ollama, os.environ)
            if (not self._settings.offline or is_loopback(url)) and await listens(url):
                found.append(("ollama", f"Ollama answers at {url}"))
            else:
                reasons.append(f"no Ollama at {url}")
        for name in _BY_KEY if not self._settings.offline else ():
            provider = registry.provider(name)
            if provider is not None and self._key(name, base_url(provider, os.environ)):
                found.append((name, f"a key for {name} is in the environment"))
        return [*found, ("embedded", "nothing else is set up")]

    async def _pick(self, provider: Provider, role: str, certain: bool = False) -> str:
        """The model's name: the provider's own for the role, or one that the server has. "" when there is none."""
        wanted = provider.roles.get(role, "")
        local = provider.name in ("ollama", "embedded") or not wanted
        if not local:
            return wanted
        try:
            there: Sequence[ModelInfo] = await self.available(provider)
        except ModelError:
            return "" if certain else wanted
        found = installed_instead(wanted, [m.name for m in there], role)
        if found and wanted and found.removesuffix(":latest") != wanted:
            self._note(f"{provider.name}:{wanted} is not installed; {role} uses {provider.name}:{found}")
        return found or ("" if certain else wanted)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _setup_hint() -> str:
    if find_spec(LIBRARY) is not None:
        return "Start Ollama, set a key such as DEEPSEEK_API_KEY, or type: aicli models pull embedded"
    return f"Start Ollama, set a key such as DEEPSEEK_API_KEY, or install the embedded model's engine: {INSTALL}"


_EMBED_HINT = "Set models.embedding, for example ollama:bge-m3."


def chosen_provider(settings: Choices) -> str:
    """The provider that settings name, by name or by address and key; "" when they name none."""
    if settings.provider:
        return settings.provider
    secret = settings.api_key.get_secret_value() if settings.api_key is not None else ""
    return guessed(settings.base_url, secret) or ("openai" if settings.base_url else "")


def named(settings: Choices, name: str) -> tuple[Provider, str]:
    """(provider, its model) that a name means under these settings. Raises InputError. Asks no server."""
    before, colon, after = name.partition(":")
    found = registry.provider(before) if colon and after else None
    if found is not None:
        return found, after
    alone = registry.provider(name) if name and not colon else None
    if alone is not None and alone.roles.get("fast"):
        return alone, alone.roles["fast"]  # a provider's bare name means its own usual model
    wanted = chosen_provider(settings)
    chosen = registry.provider(wanted) if wanted else None
    if chosen is None or not name:
        raise registry.unknown(name)
    return chosen, name
