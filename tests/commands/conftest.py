"""Commands run in this process: `aicli("config", "path")` gives exit code, stdout and stderr."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from aicli.cli import run


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def aicli(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def call(*args: str) -> Ran:
        capfd.readouterr()
        code = run(args)
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return call
