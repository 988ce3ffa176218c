"""A scene: the real program, played through in one language and width, in a home of its own."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aicli.testing.server import ModelServer
from aicli.testing.steps import Reply
from aicli.ui.lone import STILL
from tests.support.counts import some
from tests.support.film import Film
from tests.support.terminal import ROOT, Strict

GOLDEN = Path(__file__).parent / "golden"
VARIANTS = (("en", 80), ("zh", 40), ("en", 40), ("zh", 80))
LOCALE = {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}
ESC, CTRL_C, CTRL_O, UP = "\x1b", "\x03", "\x0f", "\x1b[A"


@dataclass
class Set:
    """What a scene is played on. `work` is the folder ~/shop."""

    name: str
    language: str
    columns: int
    base: Path
    server: ModelServer

    @property
    def work(self) -> Path:
        return self.base / "shop"

    def env(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k in ("PATH", "TZ", "PYTHONWARNINGS", "VIRTUAL_ENV")}
        xdg = {f"XDG_{part}_HOME": str(self.base / f".{part.lower()}") for part in ("CONFIG", "STATE", "CACHE", "DATA")}
        return {
            **kept,
            **xdg,
            "HOME": str(self.base),
            "PYTHONPATH": str(ROOT),
            "LANG": LOCALE[self.language],
            "OLLAMA_HOST": "http://127.0.0.1:9",
            "AICLI_SANDBOX__MODE": "off",
        }

    def model(self) -> dict[str, str]:
        """The scripted server as the only model, with a window of 8,000 tokens."""
        url = self.server.url + "/v1"
        return {
            "AICLI_BASE_URL": url,
            "AICLI_PROVIDER": "openai",
            "AICLI_MODELS__FAST": "openai:m",
            "AICLI_MODELS__THINKING": "openai:thinker",
            "AICLI_MODELS__NUM_CTX": "8000",
        }

    def opens(self, *arguments: str, rows: int = 60, env: dict[str, str] | None = None) -> Take:
        """The program, started in ~/shop. `env` in place of the scripted model."""
        argv = [sys.executable, "-m", "aicli", *arguments]
        environ = {**self.env(), **(self.model() if env is None else env)}
        return Take(argv, environ, self, rows)


class Take(Strict):
    """One run of the program in a scene."""

    def __init__(self, argv: Sequence[str], env: dict[str, str], on: Set, rows: int) -> None:
        whole = ["env", "-i", "TERM=linux-256color", *(f"{k}={v}" for k, v in env.items()), *argv]
        super().__init__(whole, columns=on.columns, rows=rows, cwd=on.work)
        self._typed = 0.0

    def send(self, text: str) -> None:
        self._typed = time.monotonic()
        super().send(text)

    def line(self, text: str) -> None:
        self.send(text + "\r")

    def press(self, letter: str) -> None:
        """A letter that stands alone, once an approval may take one again."""
        self.quiet(max(0.0, self._typed + STILL + 0.1 - time.monotonic()))
        self.send(letter)


@dataclass
class Scene:
    """What the model says, what is done at the keyboard, what lies in ~/shop before, and the models there are."""

    replies: Sequence[Reply]
    play: Callable[[Set, Film], None]
    prepare: Callable[[Path], None] | None = None
    models: Sequence[str] = ("m", "thinker", "other")
    columns: Sequence[int] = (80, 40)


def of(scene: Scene) -> list[tuple[str, int]]:
    """In which language and width it is played: both of each, in a long run all four."""
    fit = [variant for variant in VARIANTS if variant[1] in scene.columns]
    return fit if os.environ.get("GOLDEN") == "1" else some(fit, 2)


def play(name: str, variant: tuple[str, int], base: Path, scene: Scene) -> None:
    """Plays it once. Raises what the scene raises."""
    language, columns = variant
    (base / "shop").mkdir()
    if scene.prepare is not None:
        scene.prepare(base / "shop")
    with ModelServer(list(scene.replies), models=list(scene.models)) as server:
        film = Film(GOLDEN / f"{name}-{columns}-{language}.txt")
        scene.play(Set(name, language, columns, base, server), film)
        film.over()
