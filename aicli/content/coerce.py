"""Arguments to the schema: key spelling, aliases, types. One place for native and recovered calls alike."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from aicli.content.parts import JsonObject

_WRAPPERS = ("arguments", "input", "parameters", "params")


def coerce(args: JsonObject, schema: JsonObject, aliases: Mapping[str, str] | None = None) -> JsonObject:
    """The same arguments with keys and types as the schema names them.

    Only what can mean one thing is changed: "3" for an integer, "true", JSON text for an object or a list, one value for
    a list, the case of an enum, null for what may be left out (dropped). Never invents, never drops another key.
    """
    properties = schema.get("properties") or {}
    if len(args) == 1:
        (key, inner), *_ = args.items()
        if key in _WRAPPERS and not _meant(key, properties, aliases) and isinstance(inner := _opened(inner), dict):
            args = inner
    return _object(args, schema, aliases)


def _meant(key: str, properties: JsonObject, aliases: Mapping[str, str] | None) -> bool:
    return _fold(key) in {_fold(name) for name in (*properties, *(aliases or {}))}


def _opened(value: Any) -> Any:
    return _container(value, dict) if isinstance(value, str) else value


def _object(args: JsonObject, schema: JsonObject, aliases: Mapping[str, str] | None = None) -> JsonObject:
    properties = schema.get("properties") or {}
    required = schema.get("required") or ()
    names = _names(properties, aliases)
    more = schema.get("additionalProperties")
    exact = {k for k in args if k in properties}
    out: JsonObject = {}
    for key, value in args.items():
        name = key if key in properties else names.get(_fold(key), key)
        if name in out or (name != key and name in exact):
            name = key
        of = properties.get(name, more)
        if isinstance(of, dict):
            if value is None and name in properties and name not in required and not _allows(of, "null"):
                continue
            value = _value(value, of)
        out[name] = value
    return out


def _names(properties: JsonObject, aliases: Mapping[str, str] | None) -> dict[str, str]:
    """Folded spelling to the real key; a spelling that two keys share means neither."""
    folded: dict[str, str] = {}
    shared = set()
    for name in properties:
        if folded.setdefault(_fold(name), name) != name:
            shared.add(_fold(name))
    for spelling, name in (aliases or {}).items():
        folded.setdefault(_fold(spelling), name)
    return {k: v for k, v in folded.items() if k not in shared}


def _fold(key: str) -> str:
    return re.sub(r"[\s_\-]", "", key).lower()


def _types(schema: JsonObject) -> set[str]:
    kind = schema.get("type")
    found = {kind} if isinstance(kind, str) else set(kind or ())
    for key in ("anyOf", "oneOf"):
        for option in schema.get(key) or ():
            found |= _types(option)
    if schema.get("nullable") is True and found:
        found.add("null")
    if not found and "properties" in schema:
        found = {"object"}
    if not found and ("enum" in schema or "const" in schema):
        found = {_type_of(v) for v in schema.get("enum", [schema.get("const")])}
    return found


def _allows(schema: JsonObject, kind: str) -> bool:
    types = _types(schema)
    return not types or kind in types or (kind == "integer" and "number" in types)


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "array"


def _value(value: Any, schema: JsonObject) -> Any:
    types = _types(schema)
    if not types:
        return value
    if _allows(schema, _type_of(value)):
        return _inside(value, schema)
    for kind in ("integer", "number", "boolean", "object", "array", "string"):
        if kind in types:
            changed = _CHANGES[kind](value, schema)
            if changed is not None:
                return _inside(changed, schema)
    return value


def _inside(value: Any, schema: JsonObject) -> Any:
    """A value of an allowed type, with what it holds made to fit, and the case of an enum."""
    if isinstance(value, str):
        return _enum(value, schema)
    options = [o for key in ("anyOf", "oneOf") for o in schema.get(key) or () if _type_of(value) in _types(o)]
    of = schema if not options else (options[0] if len(options) == 1 else {})
    if isinstance(value, dict):
        return _object(value, of)
    items = of.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        return [_value(v, items) for v in value]
    return value


def _enum(value: str, schema: JsonObject) -> str:
    allowed = [v for v in schema.get("enum") or () if isinstance(v, str)]
    if not allowed or value in allowed:
        return value
    same = [v for v in allowed if _fold(v) == _fold(value.strip())]
    return same[0] if len(same) == 1 else value


def _integer(value: Any, schema: JsonObject) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and (match := re.fullmatch(r"\s*([+-]?\d{1,300})(?:\.0*)?\s*", value)):
        return int(match.group(1))
    return None


def _number(value: Any, schema: JsonObject) -> float | int | None:
    if not isinstance(value, str):
        return None
    whole = _integer(value, schema)
    if whole is not None and "." not in value:
        return whole
    if re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?\s*", value):
        number = float(value)
        return number if number not in (float("inf"), float("-inf")) else None
    return None


def _boolean(value: Any, schema: JsonObject) -> bool | None:
    return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None


def _dict(value: Any, schema: JsonObject) -> JsonObject | None:
    found = _container(value, dict)
    return found if isinstance(found, dict) else None


def _list(value: Any, schema: JsonObject) -> list[Any] | None:
    found = _container(value, list)
    if isinstance(found, list):
        return found
    items = _of(schema, "array").get("items")
    one = _value(value, items) if isinstance(items, dict) else value
    fits = not isinstance(items, dict) or _allows(items, _type_of(one))
    return [one] if fits and value is not None else None


def _string(value: Any, schema: JsonObject) -> str | None:
    return json.dumps(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _of(schema: JsonObject, kind: str) -> JsonObject:
    if "anyOf" not in schema and "oneOf" not in schema:
        return schema
    return next((o for key in ("anyOf", "oneOf") for o in schema.get(key) or () if kind in _types(o)), {})


def _container(value: Any, wanted: type) -> Any:
    """The object or list that a text holds, as JSON or as Python writes it; None when it holds none."""
    if not isinstance(value, str) or value.strip()[:1] != ("{" if wanted is dict else "["):
        return None
    try:
        found = json.loads(value, strict=False)
    except (ValueError, RecursionError):
        try:
            found = json.loads(json.dumps(ast.literal_eval(value.strip())))
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None
    return found if isinstance(found, wanted) else None


_CHANGES = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "object": _dict,
    "array": _list,
    "string": _string,
}
