"""Provider and Link: what one file of `providers/` declares, and what it is given to work with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from aicli.content.events import RetryScheduled
from aicli.late import dataclass
from aicli.models.base import Embedder, Model, ModelInfo
from aicli.models.faults import Asked
from aicli.models.http import Http


@dataclass(frozen=True, slots=True)
class Link:
    """A provider's server as one run reaches it. `sampling` holds top_p and top_k; `num_ctx` the wanted window.

    What is learned of a server's models may be kept in `cache_dir`."""

    provider: Provider
    base_url: str
    http: Http
    key: str | None = None
    retries: int = 4
    on_retry: Callable[[RetryScheduled], None] | None = None
    num_ctx: int | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    cache_dir: Path | None = None

    def asked(self, model: str = "") -> Asked:
        return Asked(self.provider.name, model, self.base_url, self.provider.key_names)


@dataclass(frozen=True, slots=True)
class Provider:
    """One name that may stand before the colon of a model's name.

    `model` and `embedder` may ask the server about the model (async); `models` lists what the server has.
    `url_names` are environment variables that may hold the base URL; `other_names` work as the name does.
    `roles` are the model names that fill a role when nothing is set. `needs_key`: no request makes sense without one.
    """

    name: str
    base_url: str
    model: Callable[[str, Link], Awaitable[Model]]
    models: Callable[[Link], Awaitable[list[ModelInfo]]]
    embedder: Callable[[str, Link], Awaitable[Embedder]] | None = None
    key_names: tuple[str, ...] = ()
    needs_key: bool = False
    url_names: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    other_names: tuple[str, ...] = ()


def join(base_url: str, path: str) -> str:
    """`path` under the base URL, whose query (`?api-version=…`) stays at the end."""
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + path, parts.query, ""))


def azure(base_url: str) -> str:
    """An Azure resource's address with the path of its own API, where none is given."""
    parts = urlsplit(base_url)
    bare = (parts.hostname or "").endswith(".azure.com") and parts.path in ("", "/") and not parts.query
    return join(base_url, "/openai/v1") if bare else base_url


def versioned(base_url: str, path: str, version: str = "/v1") -> str:
    """The same, with the version put in unless the base URL already names one."""
    base_url = azure(base_url)
    steps = urlsplit(base_url).path.rstrip("/").split("/")
    has = any(len(s) > 1 and s[0] == "v" and s[1].isdigit() for s in steps) or "deployments" in steps
    return join(base_url, path if has else version + path)
