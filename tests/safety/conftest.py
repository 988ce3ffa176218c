from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from aicli.workspace.root import Workspace


@pytest.fixture
def tree(isolated: Path) -> Path:
    """A small repository with a secret, a link that leads out, and a file outside."""
    (isolated / "src").mkdir()
    (isolated / "src" / "a.py").write_text("def main():\n    foo = 1\n")
    (isolated / "f.txt").write_text("one,1\ntwo,2\nfoo,3\n")
    (isolated / ".env").write_text("KEY=canary-secret\n")
    (isolated.parent / "outside.txt").write_text("outside\n")
    (isolated / "link-out").symlink_to(isolated.parent / "outside.txt")
    (isolated / "link-in").symlink_to("f.txt")
    run = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main"]
    subprocess.run([*run, "init", "-q", "."], check=True)
    subprocess.run([*run, "add", "src", "f.txt"], check=True)
    subprocess.run([*run, "commit", "-qm", "first"], check=True)
    subprocess.run([*run, "commit", "-qm", "second", "--allow-empty"], check=True)
    return isolated


@pytest.fixture
def workspace(tree: Path) -> Workspace:
    return Workspace(tree)
