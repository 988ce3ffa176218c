"""The README, and the commands it shows."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text("utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text("utf-8")


def shown(text: str) -> list[str]:
    """Every `aicli …` that a README shows, in blocks and in line."""
    lines = [line.split("#")[0] for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.splitlines()]
    spans = re.findall(r"`([^`\n]*aicli [^`\n]*)`", re.sub(r"```.*?```", "", text, flags=re.S))
    return [part.strip() for line in [*lines, *spans] for part in re.split(r"\\?\|", line) if "aicli " in part]
