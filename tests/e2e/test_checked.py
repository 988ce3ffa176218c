"""The documented lines for `code` in scripts: the project's own check runs, and a run without it says so."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import REPOSITORY, Ran
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call

UNCONFINED = {"AICLI_SANDBOX__MODE": "off"}
"""What confines commands differs from machine to machine, and is no matter here."""


def documented(page: str) -> list[str]:
    text = (REPOSITORY / page).read_text("utf-8").replace("\\\n", " ")
    (line,) = re.findall(r"^aicli (agent run code .*)$", text, re.MULTILINE)
    return shlex.split(line)


@pytest.fixture
def project(isolated: Path) -> Path:
    """A project whose tests pass once `ready` is there, with a pytest of its own."""
    (isolated / "tests").mkdir()
    (isolated / "tests" / "test_it.py").write_text("def test_it(): ...\n")
    (isolated / "pytest.py").write_text("import os, sys\nsys.exit(0 if os.path.exists('ready') else 'missing')\n")
    return isolated


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md", "docs/scripts.md"])
def test_the_documented_line_edits_and_checks(here: Callable[..., Ran], project: Path, page: str) -> None:
    steps = [[call("write_file", path="other", content="x")], "done", [call("write_file", path="ready", content="x")]]
    with ModelServer([*steps, "mended"]) as server:
        ran = here(*documented(page), "--json", server=server, env=UNCONFINED)
        assert "check `python3 -m pytest -q` fails" in str(server.bodies[2])
    result = ran.result("json")
    assert (ran.code, result["result"], result["permission_denials"]) == (0, "mended", []), ran
    assert result["checked"] == "`python3 -m pytest -q` passed"


def test_an_unchecked_run_says_so_and_fails_when_strict(here: Callable[..., Ran], project: Path) -> None:
    args = ("agent", "run", "code", "x", "--permission-mode", "accept-edits")

    def run(*more: str) -> Ran:
        (project / "ready").unlink(missing_ok=True)
        with ModelServer([[call("write_file", path="ready", content="x")], "done"]) as server:
            return here(*args, *more, server=server, env=UNCONFINED)

    why = "`python3 -m pytest -q` was not permitted; allow it with --allowed-tools 'shell(python3 -m pytest -q)'"
    found = run("--json").result("json")
    assert (found["subtype"], found["checked"]) == ("success", f"not checked: {why}")
    plain = run()
    assert plain.code == 0 and plain.err.splitlines()[-1].endswith("not checked") and why in plain.err, plain
    strict = run("--strict", "--json")
    assert strict.code == 54 and why in strict.result("json")["error"]["message"], strict
    allowed = run("--allowed-tools", "shell(python3 -m pytest -q)", "--strict")
    assert allowed.code == 0 and "not checked" not in allowed.err, allowed


def test_what_changes_nothing_is_not_unchecked(here: Callable[..., Ran], isolated: Path) -> None:
    with ModelServer(["Nothing to do."]) as server:
        assert here("agent", "run", "code", "x", "--json", server=server).result("json")["checked"] == ""
    args = ("agent", "run", "code", "x", "--permission-mode", "accept-edits", "--strict", "--json")
    with ModelServer([[call("write_file", path="a", content="x")], "done"]) as server:
        ran = here(*args, server=server)
    assert (ran.code, ran.result("json")["checked"]) == (0, "not checked: no check of this project is known"), ran
