"""Arguments to the schema: key spelling, aliases, types. One place for native and recovered calls alike."""

from __future__ import annotations

from collections.abc import Mapping

from aicli.content.parts import JsonObject


def coerce(args: JsonObject, schema: JsonObject, aliases: Mapping[str, str] | None = None) -> JsonObject:
    """The same arguments with keys and types as the schema names them. Never invents and never drops a key."""
    properties = schema.get("properties", {})
    folded = {_fold(name): name for name in properties}
    known = {_fold(k): v for k, v in (aliases or {}).items()}
    out: JsonObject = {}
    for key, value in args.items():
        name = key if key in properties else known.get(_fold(key)) or folded.get(_fold(key)) or key
        out[name if name not in out else key] = value
    return out


def _fold(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()
