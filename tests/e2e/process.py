"""The real `aicli` process against the scripted server: run it, start it, read what it said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.model_server import ModelServer
from tests.support.schemas import check_line, check_result

REPOSITORY = Path(__file__).parents[2]
BOUND = 25.0
"""Seconds after which a run counts as hanging."""


STARTED: list[subprocess.Popen[bytes]] = []
"""Ended after each test, whatever came of it."""


@dataclass(frozen=True)
class Ran:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of stream-json, each fit for its schema."""
        assert self.out.endswith(b"\n"), self
        values = [json.loads(line) for line in self.out.split(b"\n")[:-1]]
        for value in values:
            check_line(value)
        return values

    def result(self, form: str) -> dict[str, Any]:
        """The result object, checked: it is last, fits its schema and agrees with the exit code."""
        if form == "json":
            assert self.out.count(b"\n") == 1, self
            value = json.loads(self.out)
            check_result(value)
        else:
            *before, value = self.lines
            assert before[0].get("subtype") == "init", before
            assert "result" not in [line["type"] for line in before]
            assert {line["session_id"] for line in before} == {value["session_id"]}
        assert value["type"] == "result"
        assert value["is_error"] == (self.code != 0), (self.code, value)
        assert (value["subtype"] == "success") == (self.code == 0)
        return value


def environment(server: ModelServer | None = None, **more: str) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    env["PYTHONPATH"] = str(REPOSITORY)
    env["PYTHONWARNINGS"] = "error"
    env["AICLI_MODELS__RETRIES"] = "1"
    if server is not None:
        env["AICLI_BASE_URL"] = f"{server.url}/v1"
        env["AICLI_MODELS__FAST"] = "openai:test-model"
    return {**env, **more}


def start(
    *args: str, server: ModelServer | None = None, env: dict[str, str] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    """The process, its streams pipes unless `options` say otherwise; stdin is /dev/null."""
    settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    command = [sys.executable, "-m", "aicli", *args]
    process = subprocess.Popen(command, env=environment(server, **(env or {})), **settings)
    STARTED.append(process)
    return process


def finish(process: subprocess.Popen[bytes], data: bytes | None = None) -> Ran:
    try:
        out, err = process.communicate(data, timeout=BOUND)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"hangs: {out!r} {err!r}") from None
    return Ran(process.returncode, out or b"", (err or b"").decode())


def aicli(
    *args: str,
    server: ModelServer | None = None,
    data: bytes | None = None,
    env: dict[str, str] | None = None,
    **options: Any,
) -> Ran:
    if data is not None:
        options["stdin"] = subprocess.PIPE
    return finish(start(*args, server=server, env=env, **options), data)
