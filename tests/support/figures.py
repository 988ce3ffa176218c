"""What `make soak` measured, kept in docs/figures.md: one line a goal."""

from __future__ import annotations

import platform
import re
from pathlib import Path

from tests.support.counts import soaking

FILE = Path(__file__).parent.parent.parent / "docs" / "figures.md"
HEAD = """# Figures

Written by `make soak`, each by the test that measures it.

| goal | measured | on |
|---|---|---|
"""
SPEED = "\n## Speed\n"
"""What stands from here on is written by the benchmark."""


def figure(goal: str, measured: str) -> None:
    """Notes one figure in a long run, in place of the goal's last one; does nothing in a short run."""
    if not soaking():
        return
    goals, mark, speed = FILE.read_text("utf-8").partition(SPEED) if FILE.exists() else ("", "", "")
    rows = {m[1]: m[0] for m in re.finditer(r"^\| (\S+) \|.*$", goals, re.M) if m[1] != "goal"}
    where = f"{platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}"
    rows[goal] = f"| {goal} | {measured} | {where} |"
    order = sorted(rows, key=lambda g: (re.sub(r"\d+", "", g), int(re.sub(r"\D", "", g) or 0)))
    FILE.write_text(HEAD + "\n".join(rows[g] for g in order) + "\n" + mark + speed, "utf-8")
