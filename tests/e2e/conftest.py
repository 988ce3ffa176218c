"""Runs in this process where nothing of the process itself matters; and no process outlives its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from aicli.cli import run
from tests.e2e.process import STARTED, Ran, environment
from tests.support.model_server import ModelServer


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def here(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """The same command line, streams, server and files as `process.aicli`, without the cost of a new interpreter."""

    def call(*args: str, server: ModelServer | None = None, env: dict[str, str] | None = None) -> Ran:
        with monkeypatch.context() as patch:
            for name, value in environment(server, **(env or {})).items():
                patch.setenv(name, value)
            capfd.readouterr()
            code = run(args)
            out, err = capfd.readouterr()
        return Ran(code, out.encode(), err)

    return call
