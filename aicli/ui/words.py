"""Words: what the program says to people, from one catalogue a language."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

LANGUAGES = ("en", "zh")


@lru_cache(maxsize=4)
def catalogue(language: str) -> Mapping[str, str]:
    """Every message of one language by "section.name"."""
    data = tomllib.loads(files("aicli.ui").joinpath("words", f"{language}.toml").read_text("utf-8"))
    return {f"{section}.{name}": text for section, entries in data.items() for name, text in entries.items()}


@lru_cache(maxsize=1)
def _reasons() -> list[tuple[str, re.Pattern[str]]]:
    """(key, pattern) of every reason in English, as it is given."""
    found = []
    for key, text in catalogue("en").items():
        if key.startswith("why."):
            parts = re.split(r"\{(\w+)\}", text)
            pattern = "".join(f"(?P<{p}>.+)" if i % 2 else re.escape(p) for i, p in enumerate(parts))
            found.append((key, re.compile(pattern, re.DOTALL)))
    return found


def language_of(setting: str = "auto", environ: Mapping[str, str] | None = None) -> str:
    """The language to speak: the setting, else what the locale says, else English."""
    if setting in LANGUAGES:
        return setting
    environ = os.environ if environ is None else environ
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environ.get(name):
            return "zh" if environ[name].lower().startswith("zh") else "en"
    return "en"


class Words:
    """`words("section.name", n=3)` is the message with its values put in; for n=1 `section.name_one` where there is one."""

    def __init__(self, language: str = "auto") -> None:
        self.use(language)

    def use(self, language: str) -> None:
        """From now on in this language."""
        self.language = language_of(language)

    def __call__(self, key: str, /, **values: Any) -> str:
        messages = catalogue(self.language)  # read when something is said: not every run says something
        text = messages[key]
        if values.get("n") == 1:
            text = messages.get(key + "_one", text)
        return text.format(**values) if values else text

    def reason(self, text: str) -> str:
        """A reason of the policy's in this language; one that is not known stays as it is."""
        if self.language == "en":
            return text
        for key, pattern in _reasons():
            found = pattern.fullmatch(text)
            if found:
                return self(key, **found.groupdict())
        return text
