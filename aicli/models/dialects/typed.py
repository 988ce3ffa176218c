"""Text of a parameter to a value of the type its schema declares."""

from __future__ import annotations

import ast
import json
import math
import re
from typing import Any

from aicli.content.parts import JsonObject

_ORDER = ("null", "integer", "number", "boolean", "array", "object", "string")
_MISSING = object()


def convert(text: str, schema: JsonObject | None, *, guess: bool = False) -> Any:
    """The value that `text` stands for. A string type keeps the text; what does not convert stays text.

    Without a schema the text stays text, or with `guess` becomes whatever JSON it is.
    """
    types = declared_types(schema)
    if not types:
        value = _json(text.strip()) if guess else _MISSING
        return text if value is _MISSING else value
    for kind in _ORDER:
        if kind in types:
            value = text if kind == "string" else _as(kind, text.strip())
            if value is not _MISSING:
                return value
    return text


def declared_types(schema: JsonObject | None) -> set[str]:
    """The JSON type names that a schema allows; empty when it does not say."""
    if not isinstance(schema, dict):
        return set()
    found: set[str] = set()
    kind = schema.get("type")
    if isinstance(kind, str):
        found.add(_NAMES.get(kind.lower(), kind.lower()))
    elif isinstance(kind, list):
        found.update(_NAMES.get(str(k).lower(), str(k).lower()) for k in kind)
    for key in ("anyOf", "oneOf", "allOf"):
        for option in schema.get(key) or ():
            found |= declared_types(option)
    if schema.get("nullable") is True and found:
        found.add("null")
    if not found:
        values = schema.get("enum", [schema["const"]] if "const" in schema else [])
        found.update(type_of(v) for v in values)
        if "properties" in schema:
            found.add("object")
        if "items" in schema:
            found.add("array")
    return found & set(_ORDER)


_NAMES = {
    "str": "string", "text": "string", "varchar": "string", "char": "string", "enum": "string",
    "int": "integer", "long": "integer", "uint": "integer", "int32": "integer", "int64": "integer", "short": "integer",
    "float": "number", "double": "number", "num": "number", "bool": "boolean",
    "list": "array", "tuple": "array", "dict": "object", "map": "object",
}  # fmt: skip


def type_of(value: Any) -> str:
    """The JSON type name of a value."""
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


def _as(kind: str, text: str) -> Any:
    if kind == "null":
        return None if text.lower() in ("null", "none") else _MISSING
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.lower(), _MISSING)
    if kind == "integer":
        if re.fullmatch(r"[+-]?\d{1,300}", text):
            return int(text)
        return int(float(text)) if re.fullmatch(r"[+-]?\d{1,15}\.0+", text) else _MISSING
    if kind == "number":
        return _number(text)
    wanted = list if kind == "array" else dict
    value = _json(text)
    if not isinstance(value, wanted):
        value = literal(text)
    return value if isinstance(value, wanted) else _MISSING


def _number(text: str) -> Any:
    if re.fullmatch(r"[+-]?\d{1,300}", text):
        return int(text)
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text):
        return _MISSING
    value = float(text)
    return value if math.isfinite(value) else _MISSING


def _json(text: str) -> Any:
    try:
        return json.loads(text, strict=False, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _MISSING


def _refuse(word: str) -> Any:
    raise ValueError(word)


def literal(text: str) -> Any:
    """A Python literal as JSON would hold it (tuples and sets are arrays), or an object that equals nothing."""
    for candidate in (text, _WORDS.sub(lambda m: _PYTHON.get(m.group(), m.group()), text)):
        try:
            return plain(ast.literal_eval(candidate))
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    return _MISSING


def plain(value: Any) -> Any:
    """A literal's value in JSON's own types. Raises ValueError for what JSON can not hold."""
    if isinstance(value, dict):
        return {k if isinstance(k, str) else str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (set, frozenset)):
        return [plain(v) for v in sorted(value, key=repr)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a finite number")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"no JSON form of {type(value).__name__}")


_PYTHON = {"true": "True", "false": "False", "null": "None"}
_WORDS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b""", re.S)
