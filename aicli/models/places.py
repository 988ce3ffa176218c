"""Where a provider's server is, which provider an address or key belongs to, and whether anybody listens there."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from aicli.errors import ConfigError
from aicli.models.provider import Provider

REACHABLE_WITHIN = 0.15
"""Seconds that the look for a local Ollama may take."""


def base_url(provider: Provider, environ: Mapping[str, str]) -> str:
    """The provider's address: from the environment where it names one, else its own."""
    for name in provider.url_names:
        if value := environ.get(name, "").strip():
            return ollama_host(value) if name == "OLLAMA_HOST" else value.rstrip("/")
    return provider.base_url


def ollama_host(value: str) -> str:
    """OLLAMA_HOST as the server's own tools read it: scheme, port and even the host may be missing."""
    scheme = value.partition("://")[0] if "://" in value else "http"
    rest = value.rpartition("://")[2].rstrip("/")
    host, path = rest.partition("/")[::2]
    if host.startswith(":"):
        host = "127.0.0.1" + host
    parts = _split(f"//{host}")
    name = parts.hostname or "127.0.0.1"
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    port = parts.port or (
        {"http": 80, "https": 443}[scheme] if "://" in value and scheme in ("http", "https") else 11434
    )
    shown = f"[{name}]" if ":" in name else name
    return f"{scheme}://{shown}:{port}" + (f"/{path}" if path else "")


def guessed(url: str, key: str = "") -> str:
    """The provider that an address and a key name together, "" when they name none."""
    parts = _split(url if "://" in url else f"//{url}")
    host = (parts.hostname or "").lower()
    path = parts.path.rstrip("/")
    for end, name in _HOSTS:
        if host == end or host.endswith("." + end):
            return name
    if path.endswith("/v1") and parts.port == 11434:
        return "openai"
    if parts.port == 11434 or "ollama" in host or key == "ollama":
        return "ollama"
    if parts.port == 1234:
        return "lmstudio"
    if parts.port == 4000 or path.endswith("/v1") or key.startswith("sk-"):
        return "anthropic" if key.startswith("sk-ant-") and not host else "openai"
    if not url and key.startswith("AIza"):
        return "gemini"
    return ""


_HOSTS = (
    ("googleapis.com", "gemini"),
    ("api.anthropic.com", "anthropic"),
    ("api.openai.com", "openai"),
    ("api.deepseek.com", "deepseek"),
    ("openrouter.ai", "openrouter"),
    ("api.mistral.ai", "mistral"),
    ("api.moonshot.ai", "kimi"),
    ("api.z.ai", "glm"),
    ("api.groq.com", "groq"),
    ("api.x.ai", "xai"),
    ("api.together.xyz", "together"),
    ("openai.azure.com", "azure"),
)


def owner_of(url: str) -> str:
    """The provider that alone answers at the address; "" where it may be any, as behind a gateway."""
    name = guessed(url)
    return name if name == "ollama" or name not in ("", "openai", "lmstudio") or "api.openai.com" in url else ""


def is_loopback(url: str) -> bool:
    host = _split(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def listens(url: str, within: float = REACHABLE_WITHIN) -> bool:
    """Whether a connection to the address can be made; at most `within` seconds."""
    parts = _split(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(within):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except (OSError, TimeoutError, UnicodeError):
        return False
    writer.close()
    return True


def _split(url: str) -> SplitResult:
    """The parts of an address. Raises ConfigError for what is none."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as e:
        raise ConfigError(f"{url} is no usable address: {e}", hint="It begins with http:// or https://.") from e
    return parts
