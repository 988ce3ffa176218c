"""A JSON schema cut down to what Gemini's `parameters` takes: one unknown key there refuses the whole request."""

from __future__ import annotations

from typing import Any

from aicli.content.parts import JsonObject

_KEPT = (
    *("type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "default"),
    *("minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern", "anyOf", "propertyOrdering"),
)
_FORMATS = ("float", "double", "int32", "int64", "enum", "date-time")


def narrow(schema: JsonObject, definitions: JsonObject | None = None, depth: int = 0) -> JsonObject:
    """The schema with references inlined, `const` as an enum, type lists as anyOf, and everything unknown left out."""
    known = {**(definitions or {}), **schema.get("$defs", {}), **schema.get("definitions", {})}
    if "$ref" in schema and depth < 12:
        target = known.get(str(schema["$ref"]).rpartition("/")[2], {})
        schema = {**target, **{k: v for k, v in schema.items() if k != "$ref"}}
    out: JsonObject = {k: schema[k] for k in _KEPT if k in schema}
    if "const" in schema:
        out["enum"] = [schema["const"]]
    choices = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(out.get("type"), list):
        choices = choices or [{**schema, "type": t} for t in out["type"]]
        out = {k: v for k, v in out.items() if k in ("description", "title", "default")}
    if choices:
        _choose(out, choices, known, depth)
    for part in schema.get("allOf", ()):
        out = {**narrow(part, known, depth + 1), **out}
    if "enum" in out:
        out["enum"] = [str(v) for v in out["enum"]]
        out["type"] = "string"
    if out.get("format") not in _FORMATS:
        out.pop("format", None)
    if "properties" in out:
        out["properties"] = {k: narrow(v, known, depth + 1) for k, v in out["properties"].items()}
        out["required"] = [k for k in out.get("required", ()) if k in out["properties"]]
    if out.get("type") == "array":
        out["items"] = narrow(_items(out), known, depth + 1)
    if out.get("type") == "object" and not out.get("properties"):
        out = {"type": "string", "description": f"{out.get('description', '')} (a JSON object)".strip()}
    if "type" not in out and "anyOf" not in out:
        out["type"] = "object" if "properties" in out else "string"
    return out


def _choose(out: JsonObject, choices: list[Any], known: JsonObject, depth: int) -> None:
    real = [c for c in choices if c.get("type") != "null"]
    if len(real) < len(choices):
        out["nullable"] = True
    out.pop("anyOf", None)
    if len(real) == 1:
        out.update({k: v for k, v in narrow(real[0], known, depth + 1).items() if k not in out})
    else:
        out["anyOf"] = [narrow(c, known, depth + 1) for c in real]


def _items(schema: JsonObject) -> JsonObject:
    items = schema.get("items")
    return items if isinstance(items, dict) and items else {"type": "string"}
