"""No process outlives its test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.process import STARTED


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
