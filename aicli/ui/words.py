"""Words: what the program says to people, from one catalogue a language."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from aicli.ui import translate
from aicli.ui.language import language_of, spoken

_OPEN = "$ (network on) "
"""How the title of a command begins that has the network."""


@lru_cache(maxsize=4)
def catalogue(language: str) -> Mapping[str, str]:
    """Every message of one language by "section.name"."""
    data = tomllib.loads((Path(__file__).parent / "words" / f"{language}.toml").read_text("utf-8"))
    return {f"{section}.{name}": text for section, entries in data.items() for name, text in entries.items()}


class Words:
    """`words("section.name", n=3)` is the message with its values put in; for n=1 `section.name_one` where there is one."""

    def __init__(self, language: str = "") -> None:
        """Without a language it is the one that settings and locale ask for."""
        self.use(language or spoken())

    def use(self, language: str) -> None:
        """From now on in this language."""
        self.language = language_of(language)

    def __call__(self, key: str, /, **values: Any) -> str:
        messages = catalogue(self.language)  # read when something is said: not every run says something
        text = messages[key]
        if values.get("n") == 1:
            text = messages.get(key + "_one", text)
        return text.format(**values) if values else text

    def check(self, text: str) -> str:
        """What the project's own check showed, in one line."""
        what = self.said(text)
        return what if text.startswith("not checked") else self("run.checked", what=what)

    def said(self, text: str) -> str:
        """An English sentence of ours (a reason, a summary, an error) in this language; one not known stays as it is."""
        return translate.said(text, self.language)

    def exactly(self, text: str) -> str:
        """The same for a text that may be anybody's: translated only if it is one of our sentences, letter by letter."""
        return translate.exactly(text, self.language)

    def title(self, text: str) -> str:
        """A call's title with its verb in this language."""
        if self.language == "en":
            return text
        messages = catalogue(self.language)
        if text.startswith(_OPEN):
            return f"$ ({messages['approval.network_on']}) {text.removeprefix(_OPEN)}"
        for joint in (": ", " "):
            verb, found, rest = text.partition(joint)
            key = "verb." + "_".join(verb.lower().split())
            if key in messages:
                return messages[key] + (f" {rest}" if found else "")
        return text

    def error(self, message: str, hint: str = "") -> str:
        """What failed and what to do about it, in one line."""
        return translate.error_line(message, hint, self.language)
