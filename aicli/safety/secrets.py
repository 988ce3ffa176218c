"""Where keys come from, which host each may go to, and a clean environment for children."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aicli.errors import ConfigError
from aicli.late import dataclass, regex
from aicli.paths import config_folder, private_folder

SYSTEM_PATH = "/usr/bin:/bin"
"""Where programs of read-only commands are looked for, and nowhere else."""

WINS = "AICLI_API_KEY"
ENV_NAMES: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "responses": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "ollama": (),
    "embedded": (),
}
BUILT_IN_ORIGINS: Mapping[str, str] = {
    "openai": "https://api.openai.com",
    "responses": "https://api.openai.com",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "deepseek": "https://api.deepseek.com",
    "openrouter": "https://openrouter.ai",
}
_PORTS = {"http": 80, "https": 443}
_SECRET_NAME = regex(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_NO_SECRET = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY", "GPG_KEY"})
_NO_SECRET_ENDINGS = ("_FILE", "_PATH", "_DIR", "_SOCK", "_URL", "_LAYOUT")


@dataclass(frozen=True, slots=True)
class Secret:
    """A key and where it was found. The value stays out of repr, str and tracebacks."""

    value: str = field(repr=False)
    source: str = ""

    def reveal(self) -> str:
        return self.value


def origin(url: str) -> str:
    """scheme://host:port of an http(s) URL in one spelling, "" for anything else."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    host = (parts.hostname or "").rstrip(".").lower()
    return f"{parts.scheme}://{host}:{port}" if parts.scheme in _PORTS and host else ""


def credentials_path() -> Path:
    return config_folder() / "credentials.toml"


class Keys:
    """The keys of this user: environment, then the OS keyring, then credentials.toml.

    `user_urls` are base URLs that the user set (not a project): a key goes to its provider's built-in host or to one
    of these, never elsewhere. `general` False leaves AICLI_API_KEY out: it is a setting too, and goes where the
    settings say.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        credentials_file: Path | None = None,
        user_urls: Iterable[str] = (),
        *,
        general: bool = True,
    ) -> None:
        self._environ = environ if general else {k: v for k, v in environ.items() if k != WINS}
        self._file = credentials_file if credentials_file is not None else credentials_path()
        self._user = frozenset(filter(None, map(origin, user_urls)))
        self._entries: dict[str, dict[str, Any]] | None = None

    def for_provider(self, provider: str, base_url: str = "") -> Secret | None:
        """The key for requests to this address, None when there is none that may go there.

        Raises ConfigError when credentials.toml is readable by others or can't be read.
        """
        if provider in ENV_NAMES and not ENV_NAMES[provider] and WINS not in self._environ:
            return None
        entry = self._file_entry(provider) if not self._from_environ(provider) else {}
        if not self._may_go(provider, base_url, str(entry.get("base_url", ""))):
            return None
        return self._from_environ(provider) or self._from_keyring(provider) or self._from_file(entry)

    def value(self, provider: str, base_url: str = "") -> str | None:
        """The same as plain text, for the requests themselves."""
        secret = self.for_provider(provider, base_url)
        return secret.reveal() if secret else None

    def known(self) -> tuple[str, ...]:
        """Every key at hand, for the redactor. A file that can't be used counts as none here."""
        names = {n for names in ENV_NAMES.values() for n in names} | {WINS}
        found = [self._environ[n] for n in sorted(names) if self._environ.get(n)]
        try:
            entries = self._load()
        except ConfigError:
            entries = {}
        return tuple(dict.fromkeys(found + [str(e["api_key"]) for e in entries.values() if e.get("api_key")]))

    def _may_go(self, provider: str, base_url: str, entry_url: str) -> bool:
        if entry_url:
            return not base_url or origin(base_url) == origin(entry_url)
        if not base_url:
            return True
        here = origin(base_url)
        if not here or here in self._user or here == origin(BUILT_IN_ORIGINS.get(provider, "x:")):
            return bool(here)
        declared, addresses = self._declared(provider)
        return declared and here in addresses

    def _declared(self, provider: str) -> tuple[bool, frozenset[str]]:
        """Where a provider's own file, or a variable of the user for it, says that its server is."""
        from aicli.models import registry  # slow to load, and known providers do not need it

        found = registry.provider(provider)
        if found is None:
            return False, frozenset()
        urls = [found.base_url, *(self._environ.get(name, "") for name in found.url_names)]
        return True, frozenset(filter(None, map(origin, urls)))

    def _names(self, provider: str) -> tuple[str, ...]:
        from aicli.models import registry

        if provider in ENV_NAMES:
            return ENV_NAMES[provider]
        found = registry.provider(provider)
        return found.key_names if found else (f"{provider.upper().replace('-', '_')}_API_KEY",)

    def _from_environ(self, provider: str) -> Secret | None:
        names = (WINS, *self._names(provider))
        for name in names:
            if value := self._environ.get(name, "").strip():
                return Secret(value, f"environment {name}")
        return None

    def _from_keyring(self, provider: str) -> Secret | None:
        try:
            import keyring  # optional, and slow to load
            from keyring.errors import KeyringError
        except ImportError:
            return None
        try:
            value = keyring.get_password("aicli", provider)
        except KeyringError:
            return None
        return Secret(value, "keyring") if value else None

    def _from_file(self, entry: Mapping[str, Any]) -> Secret | None:
        value = str(entry.get("api_key", "")).strip()
        return Secret(value, str(self._file)) if value else None

    def _file_entry(self, provider: str) -> dict[str, Any]:
        return self._load().get(provider, {})

    def _load(self) -> dict[str, dict[str, Any]]:
        if self._entries is None:
            self._entries = _read_credentials(self._file)
        return self._entries


def _read_credentials(path: Path) -> dict[str, dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
                raise ConfigError(f"{path} can be read by others, so it is not used", hint=f"Run: chmod 600 {path}")
            table = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except OSError as e:
        raise ConfigError(f"{path}: {e.strerror}") from e
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise ConfigError(f"{path} is not valid TOML", hint='Write: [openai]\napi_key = "…"') from None
    return {name: v if isinstance(v, dict) else {"api_key": v} for name, v in table.items()}


def set_key(provider: str, key: str, *, base_url: str = "", credentials_file: Path | None = None) -> Path:
    """Writes the key to credentials.toml (0600, in a 0700 folder), whole or not at all; an empty key removes it.

    Returns the file. Raises ConfigError when the file is open to others or broken, OSError when it can't be written.
    """
    import tomlkit  # keeps the comments of the file; needed here only

    path = credentials_file if credentials_file is not None else credentials_path()
    private_folder(path.parent)
    _read_credentials(path)
    document = tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
    document.pop(provider, None)
    if key:
        document[provider] = {"api_key": key} | ({"base_url": base_url} if base_url else {})
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(tomlkit.dumps(document))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return path


def all_secrets(environ: Mapping[str, str], keys: Keys | None = None) -> list[str]:
    """Values that must never be shown: those of variables with a secret's name (8 characters or more), and all keys."""
    found = [v for k, v in environ.items() if len(v) >= 8 and _is_secret_name(k)]
    return list(dict.fromkeys(found + list((keys or Keys(environ)).known())))


def _is_secret_name(name: str) -> bool:
    if name.upper() in _NO_SECRET or name.upper().endswith(_NO_SECRET_ENDINGS):
        return False
    return bool(_SECRET_NAME.search(name.upper().replace("KEYBOARD", "").replace("KEYMAP", "")))


_CHILD_NAMES = frozenset(
    {"HOME", "LANG", "LANGUAGE", "TERM", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR", "COLUMNS", "LINES"}
    | {"SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "WINDIR"}
)
_NEVER = regex(r"LD_.*|DYLD_.*|GIT_.*|PYTHON.*|BASH_.*|ENV|NODE_OPTIONS|PERL5.*|RUBYOPT|PROMPT_COMMAND|PS4|IFS")


CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
_WAY_OUT = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", *CERTIFICATES})


def child_environ(
    environ: Mapping[str, str],
    allow: Iterable[str] = (),
    trusted_path: bool = False,
    workspace: Path | None = None,
    *,
    network: bool = False,
) -> dict[str, str]:
    """The variables that a command gets: a short list, `allow` (the setting shell.env_allow), and a PATH that is safe.

    `network` adds where proxies and certificates are; an address that holds a password stays out.

    Relative PATH entries always go; without `trusted_path` also those inside the workspace. Loader, interpreter and git
    variables never pass, not even when allowed.
    """
    wanted = _CHILD_NAMES | set(allow)
    out = {k: v for k, v in environ.items() if (k in wanted or k.startswith("LC_")) and not _NEVER.fullmatch(k.upper())}
    if network:
        out |= {k: v for k, v in environ.items() if k.upper() in _WAY_OUT and "@" not in v}
    entries = [p for p in environ.get("PATH", "").split(os.pathsep) if os.path.isabs(p)]
    if not trusted_path:
        inside = os.path.realpath(workspace if workspace is not None else os.getcwd())
        entries = [p for p in entries if not _within(os.path.realpath(p), inside)]
    out["PATH"] = os.pathsep.join(entries) or SYSTEM_PATH
    return out


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
