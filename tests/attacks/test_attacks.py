"""Every attack case, as this user and as another one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.attacks.run import CASES, run_case
from tests.support.counts import count, soaking
from tests.support.figures import figure

ROOT = Path(__file__).parent.parent.parent
NEEDS_BWRAP = {"D23", "D24", "D25", "D28", "D47"}
no_bwrap = not shutil.which("bwrap")
OTHER = 65534
WHOLE_RUNS = {"D29", "D30", "D34", "D41", "D42", "D45", "D46"}
"""Cases that start the whole program several times: as another user only in the long run."""

pytestmark = pytest.mark.timeout(count(120, 2_400))


@pytest.mark.parametrize("name", sorted(CASES))
def test_attack(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in NEEDS_BWRAP and no_bwrap:
        pytest.skip("bubblewrap is not installed")
    for variable in ("HOME", *(f"XDG_{p}_HOME" for p in ("CONFIG", "STATE", "CACHE", "DATA"))):
        monkeypatch.setenv(variable, "")
    monkeypatch.chdir(tmp_path)
    site = run_case(name, tmp_path / "site")
    print(f"{name}: {site.tally}")  # pytest -rP shows it
    assert site.tally.escaped == []
    assert site.tally.tried


def _runs(python: list[str], environ: dict[str, str]) -> bool:
    """Can that user start this Python, and that Python itself again, with everything the program imports?"""
    again = "import subprocess, sys, aicli.testing; sys.exit(subprocess.call([sys.executable, '-c', '']))"
    return subprocess.run([*python, "-c", again], env=environ, capture_output=True, cwd="/").returncode == 0


@pytest.fixture(scope="module")
def as_other() -> dict[str, dict[str, object]]:
    """All cases in one process of another user."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can become another user; the cases above ran as an ordinary one")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    become = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"]
    environ = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "AICLI_SOAK")}
    environ |= {"PYTHONDONTWRITEBYTECODE": "1", "OLLAMA_HOST": "http://127.0.0.1:9"}
    environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *(p for p in sys.path if p.endswith("site-packages"))])
    python = next((p for p in (sys.executable, "/usr/bin/python3") if _runs([*become, p], environ)), "")
    if not python:
        pytest.skip("no Python that another user can run has what the tests need")
    folder = Path(tempfile.mkdtemp(prefix="attacks-"))
    os.chown(folder, OTHER, OTHER)
    names = [n for n in sorted(CASES) if not (n in NEEDS_BWRAP and no_bwrap) and (soaking() or n not in WHOLE_RUNS)]
    try:
        words = [*become, python, "-m", "tests.attacks.run", str(folder), *names]
        done = subprocess.run(words, env=environ, cwd=folder, capture_output=True, text=True, timeout=count(110, 2_300))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    if not any(f["escaped"] for f in found.values()):
        numbers = [re.findall(r"\d+", str(f["line"])) for f in found.values()]
        tried, asked = (sum(int(n[at]) for n in numbers) for at in (0, 2))
        figure(
            "G1", f"{len(found)} cases, as root and as another user; each {tried} attempts, {asked} asked, 0 escaped"
        )
    return found


@pytest.mark.parametrize("name", sorted(CASES))
def test_attack_as_another_user(name: str, as_other: dict[str, dict[str, object]]) -> None:
    if name not in as_other:
        pytest.skip(
            "starts the whole program: run by make soak" if name in WHOLE_RUNS else "bubblewrap is not installed"
        )
    print(f"{name}: {as_other[name]['line']}")
    assert as_other[name]["escaped"] == []
