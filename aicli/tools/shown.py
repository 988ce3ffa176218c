"""How paths are written in results: plain where that is unmistakable, quoted where a name is odd."""

from __future__ import annotations

import json

from aicli.clean import sanitise
from aicli.late import regex

_BYTE = regex("[\udc80-\udcff]")


def shown(path: str) -> str:
    """The path as it is, or as a JSON string when it has control characters, stray blanks or bytes that are no text."""
    if path == path.strip() and '"' not in path[:1] and path.isprintable():
        return path
    text = _BYTE.sub(lambda m: f"\\x{ord(m.group()) - 0xDC00:02x}", json.dumps(path, ensure_ascii=False))
    return sanitise(text, keep_newlines=False)


def size_shown(size: int) -> str:
    """Bytes for people: "0 B", "812 B", "4.0 KB", "12 MB"."""
    value = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TB"
