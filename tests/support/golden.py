"""Golden text files: compared exactly; GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
from pathlib import Path


def check(file: Path, text: str) -> None:
    if os.environ.get("GOLDEN") == "1":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", "utf-8")
    assert file.read_text("utf-8") == text + "\n", f"{file.name}: GOLDEN=1 writes it anew"
