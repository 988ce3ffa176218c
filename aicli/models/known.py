"""What is known of hosted models without asking: window, price, thinking, images. Data stands in known.json."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from aicli.models.base import ModelInfo, Price


def known(provider: str, name: str) -> ModelInfo:
    """The model's entry, or a bare one. The first pattern that fits the name counts; it knows no sign but `*`."""
    lower = name.lower()
    for pattern, row in _table().get(provider, {}).items():
        if lower.startswith(pattern.partition("*")[0]) and fnmatchcase(lower, pattern):
            price = Price(*row["price"]) if "price" in row else None
            return ModelInfo(
                provider,
                name,
                window=row.get("window"),
                thinking=row.get("thinking", False),
                images=row.get("images", False),
                price=price,
            )
    return ModelInfo(provider, name, thinking=True)


@cache
def _table() -> dict[str, dict[str, dict[str, Any]]]:
    file = Path(__file__).with_name("known.json")
    table: dict[str, dict[str, dict[str, Any]]] = json.loads(file.read_text("utf-8"))
    return table
