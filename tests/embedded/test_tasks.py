"""The sets of tasks that the embedded model is measured on, run through the real program; floors, not exact figures."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.e2e.process import REPOSITORY, environment
from tests.support.figures import figure

EVALS = REPOSITORY / "evals"


def test_every_task_is_well_formed_and_can_fail() -> None:
    files = sorted(EVALS.rglob("task.toml"))
    assert len(files) >= 58
    for file in files:
        task = tomllib.loads(file.read_text("utf-8"))
        assert task["prompt"].strip()
        assert task.get("check") or task.get("answer")
        assert (file.parent / "workspace").is_dir()


def test_no_check_passes_on_a_workspace_where_nothing_was_done(isolated: Path) -> None:
    checked = 0
    for file in sorted(EVALS.rglob("task.toml")):
        check = tomllib.loads(file.read_text("utf-8")).get("check")
        if check:
            copy = isolated / file.parent.parent.name / file.parent.name
            shutil.copytree(file.parent / "workspace", copy)
            ran = subprocess.run(["/bin/sh", "-c", check], cwd=copy, capture_output=True)
            assert ran.returncode != 0, file
            checked += 1
    assert checked > 30


def measured(name: str) -> dict[str, float]:
    command = [sys.executable, "-m", "aicli", "eval", str(EVALS / name), "--json", "--need", "0"]
    env = environment(AICLI_USE_LOCAL_GENERATOR="true")
    ran = subprocess.run(command, env=env, capture_output=True, text=True)
    sys.stderr.write(ran.stderr)
    assert ran.returncode == 0, ran.stderr
    report: dict[str, float] = json.loads(ran.stdout)["models"][0]
    return report


@pytest.mark.embedded
@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("name", "floor"), [("small", 18), ("unseen", 8), ("longer", 4), ("variants", 3)])
def test_the_embedded_model_does_its_tasks(name: str, floor: int, embedded_cache: Path) -> None:
    row = measured(name)
    figure(f"embedded:{name}", f"{row['passed']} of {row['runs']} tasks passed, {row['seconds']:.0f} s in all")
    assert row["passed"] >= floor, row


@pytest.mark.embedded
@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_the_demo_ends_with_the_right_file(embedded_cache: Path, isolated: Path) -> None:
    demo = [sys.executable, str(REPOSITORY / "scripts" / "demo.py")]
    ran = subprocess.run(demo, env=environment(), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (isolated / ".demo" / "hello.py").is_file()
    assert "shell" in ran.stderr
