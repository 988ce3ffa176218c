"""Every setting as commented TOML, and an older settings.json turned into settings."""

from __future__ import annotations

import json
import re
import textwrap
import typing
from pathlib import Path
from typing import Any

from aicli.errors import InputError
from aicli.settings_load import fields, plain, variable, wrong

HEAD = """\
# aicli settings. Every line here is a default, commented out: take away the # to change one.
# A later layer wins: this file, then a trusted project's .aicli/config.toml, then the environment (AICLI_ and the key
# in upper case, dots as __, such as AICLI_LIMITS__MAX_TURNS), then flags. Lists of rules add up.
# `aicli config explain KEY` says what a key is for and which layer set it.
"""
EXAMPLES = {
    "api_key": '"…"',
    "models.temperature": "0.7",
    "models.top_p": "0.9",
    "models.top_k": "40",
    "limits.max_budget_usd": "2.5",
    "limits.max_tool_calls": "100",
    "limits.max_tokens": "500000",
    "limits.max_wall_time": "600",
}
IMPORTED = {
    "apiKey": "api_key",
    "baseUrl": "base_url",
    "model": "models.fast",
    "fastModel": "models.fast",
    "thinkingModel": "models.thinking",
    "embeddingModel": "models.embedding",
    "temperature": "models.temperature",
    "topP": "models.top_p",
    "topK": "models.top_k",
}


def default_text() -> str:
    """The whole file that `config init` writes. It parses to nothing: all values are comments."""
    lines = [HEAD]
    table = ""
    for key, info in fields().items():
        parent, _, name = key.rpartition(".")
        if parent != table:
            lines.append(f"\n[{parent}]")
            table = parent
        for row in textwrap.wrap(_help(key, info.description), 112):
            lines.append(f"# {row}")
        lines.append(f"# {name} = {shown(plain(info.default), key)}")
    return "\n".join(lines).rstrip() + "\n"


def _help(key: str, description: str) -> str:
    choices = [c for c in typing.get_args(fields()[key].annotation) if isinstance(c, str) and c]
    return f"{description} One of: {', '.join(choices)}." if choices else description


def shown(value: Any, key: str = "") -> str:
    """A value as TOML; an example where unset has no spelling."""
    if value is None:
        return EXAMPLES.get(key, "8192") + "  # unset"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {shown(item)}" for name, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def explanation(key: str, layers: typing.Sequence[Any], value: Any, origin: str) -> str:
    """What a key is for, what it is now, and what each layer says."""
    info = fields()[key]
    rows = [
        key,
        f"  {_help(key, info.description)}",
        f"  now      {_masked(key, value)}  ({origin})",
        f"  default  {_masked(key, plain(info.default))}",
        f"  variable {variable(key)}",
    ]
    rows += [
        f"  {layer.name:<11} {_masked(key, layer.values[key])}  {layer.where(key)}"
        for layer in layers
        if key in layer.values
    ]
    return "\n".join(rows)


def _masked(key: str, value: Any) -> str:
    if key == "api_key":
        return "***" if value else "unset"
    return "unset" if value is None else shown(plain(value))


def from_json(path: Path) -> tuple[dict[str, Any], list[str]]:
    """(values by our keys, names that have no place here). Comments are tolerated. Raises InputError."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(f"{path} can't be read: {getattr(e, 'strerror', None) or e}") from e
    try:
        old = json.loads(_without_comments(text))
    except ValueError as e:
        raise InputError(f"{path} is not JSON: {e}") from e
    if not isinstance(old, dict):
        raise InputError(f"{path} is not a JSON object")
    values: dict[str, Any] = {}
    others: list[str] = []
    for name, value in old.items():
        key = IMPORTED.get(name)
        if key is None:
            others.append(name)
        elif value not in (None, "") and not (name == "model" and old.get("fastModel")):
            if complaint := wrong(key, value):
                raise InputError(f"{path}: {name} {complaint}")
            values[key] = value
    return values, others


_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


def _without_comments(text: str) -> str:
    once = _COMMENT.sub(lambda m: m[1] or "", text)
    return _COMMENT.sub(lambda m: m[1] or "", once)  # a comma that a comment kept from its bracket
