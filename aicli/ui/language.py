"""Which language to speak to the person: the setting, its variable, else the locale. Cheap, for it is asked at start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache

from aicli import paths

LANGUAGES = ("en", "zh")
_CHINESE = 0x04
"""Windows' number of the language, whatever the country."""


def language_of(setting: str = "auto", environ: Mapping[str, str] | None = None) -> str:
    """The language to speak: the setting, else what the locale says, else English."""
    if setting in LANGUAGES:
        return setting
    environ = os.environ if environ is None else environ
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environ.get(name):
            return "zh" if environ[name].lower().startswith("zh") else "en"
    return "zh" if environ is os.environ and _windows_speaks_chinese() else "en"


def _windows_speaks_chinese() -> bool:
    """Windows has no variable for it."""
    if os.name != "nt":
        return False
    import ctypes

    primary: int = getattr(ctypes, "windll").kernel32.GetUserDefaultUILanguage() & 0x3FF  # noqa: B009
    return primary == _CHINESE


def spoken(environ: Mapping[str, str] | None = None) -> str:
    """The language where no settings are loaded: for help and for errors, those of the settings themselves included.

    Reads the person's own file only; one that is broken says nothing here.
    """
    environ = os.environ if environ is None else environ
    said = environ.get("AICLI_UI__LANGUAGE", "")
    return language_of(said if said in (*LANGUAGES, "auto") else _set(), environ)


def _set() -> str:
    file = paths.config_folder() / "config.toml"
    try:
        data = file.read_bytes()
    except OSError:
        return "auto"
    return _in_file(data) if b"language" in data else "auto"


@lru_cache(maxsize=2)
def _in_file(data: bytes) -> str:
    import tomllib

    try:
        table = tomllib.loads(data.decode("utf-8-sig")).get("ui")
    except ValueError:
        return "auto"
    return str(table.get("language", "auto")) if isinstance(table, dict) else "auto"
