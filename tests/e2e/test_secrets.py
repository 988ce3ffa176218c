"""A key never leaves: not by stdout or stderr, not into any file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from aicli.settings_load import user_file
from tests.e2e.process import Ran
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, error

KEY = "plainkey-0123456789-abcdef"


def files_with(words: bytes, *folders: Path) -> list[Path]:
    found = [f for folder in folders for f in folder.rglob("*") if f.is_file()]
    return [f for f in found if words in f.read_bytes()]


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_key_in_the_settings_that_a_server_echoes(form: str, isolated: Path, here: Callable[..., Ran]) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text(f'api_key = "{KEY}"\n')
    user_file().chmod(0o600)
    replies = [[call("ls", path=".")], [error(401, f"the key {KEY} is not known")]]
    with ModelServer(replies) as server:
        args = ("--debug", "-v", "--log-http", "http.log", "--output-format", form)
        ran = here("agent", "run", "general", "x", *args, server=server)
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert ran.code == 41 and "is not known" in ran.err
    assert KEY not in ran.err + ran.text
    user_file().unlink()
    assert files_with(KEY.encode(), isolated.parent) == []
    logs = list(isolated.parent.rglob("*.jsonl"))
    assert logs and all(p.stat().st_mode & 0o077 == 0 for p in logs), logs


def test_a_key_of_the_environment_in_tool_output(isolated: Path, here: Callable[..., Ran]) -> None:
    (isolated / "notes.txt").write_text(f"remember {KEY}\n")
    with ModelServer([[call("read_file", path="notes.txt")], f"it says {KEY}"]) as server:
        ran = here("agent", "run", "general", "x", server=server, env={"MY_SECRET_TOKEN": KEY})
    assert ran.code == 0 and KEY not in ran.text + ran.err and "it says" in ran.text
    (isolated / "notes.txt").unlink()
    assert files_with(KEY.encode(), isolated.parent) == []


def test_files_that_cannot_be_written_are_refused_first(isolated: Path, here: Callable[..., Ran]) -> None:
    (isolated / "file").touch()
    for flag in ("--log-http", "--record"):
        with ModelServer(["x"]) as server:
            ran = here("prompt", "x", flag, "file/x", "--json", server=server)
            assert ran.code == 42 and ran.result("json")["subtype"] == "error_input", (flag, ran)
            assert server.requests == []
    with ModelServer(["x"]) as server:
        ran = here("prompt", "x", "--replay", "/nonexistent/x", "--json", server=server)
        assert ran.code == 42 and ran.result("json")["subtype"] == "error_input", ran


def test_record_and_replay(isolated: Path, here: Callable[..., Ran]) -> None:
    with ModelServer([[call("ls", path=".")], "done"]) as server:
        ran = here("agent", "run", "general", "x", "--record", "../tape", server=server)
        assert (ran.code, ran.text) == (0, "done\n")
        ran = here("agent", "run", "general", "x", "--replay", "../tape", server=server)
        assert (ran.code, ran.text) == (0, "done\n"), ran
        assert len(server.requests) == 2
        ran = here("agent", "run", "general", "y", "--replay", "../tape", server=server)
        assert ran.code != 0 and len(server.requests) == 2, ran
