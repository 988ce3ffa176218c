"""From a function's signature to a pydantic model and a JSON schema that every server accepts."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from aicli.content.parts import JsonObject
from aicli.tools.plain_schema import Fields

if TYPE_CHECKING:
    from pydantic import BaseModel


def context_parameter(function: Callable[..., Any]) -> str:
    """Name of the parameter annotated ToolContext, or ""."""
    for name, p in inspect.signature(function).parameters.items():
        annotation = p.annotation
        if annotation == "ToolContext" or getattr(annotation, "__name__", "") == "ToolContext":
            return name
    return ""


def declared(function: Callable[..., Any], name: str, scope: Mapping[str, Any] | None = None) -> Fields:
    """The parameters but the context; `scope` are the names around a nested function.

    Raises TypeError for *args, **kwargs or a missing annotation.
    """
    skip = context_parameter(function)
    hints = typing.get_type_hints(_bare(function, skip), localns=dict(scope or {}), include_extras=True)
    fields: dict[str, tuple[Any, Any]] = {}
    for key, p in inspect.signature(function).parameters.items():
        if key == skip:
            continue
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise TypeError(f"tool {name}: *{key} has no place in a JSON schema")
        if key not in hints:
            raise TypeError(f"tool {name}: parameter {key} has no annotation")
        fields[key] = (hints[key], ... if p.default is p.empty else p.default)
    return fields


def model_of(fields: Fields, name: str) -> type[BaseModel]:
    """The parameters as a model that forbids unknown keys."""
    from pydantic import ConfigDict, create_model

    shapes: dict[str, Any] = dict(fields)
    return create_model(f"{name}_params", __config__=ConfigDict(extra="forbid"), **shapes)


def _bare(function: Callable[..., Any], skip: str) -> Any:
    """The function's annotations without the context and the result, so that those need not be importable."""
    annotations = {k: v for k, v in function.__annotations__.items() if k not in (skip, "return")}

    def stand_in() -> None: ...

    stand_in.__annotations__ = annotations
    stand_in.__wrapped__ = function  # type: ignore[attr-defined]
    return stand_in


@lru_cache(maxsize=256)
def schema_of(model: type[BaseModel]) -> JsonObject:
    """`json_schema`, kept: it is asked for at every call. Not to be changed."""
    return json_schema(model)


@cache
def _as_declared() -> Any:
    """Keys keep their order; to sort them takes as long as all the rest."""
    from pydantic.json_schema import GenerateJsonSchema

    class AsDeclared(GenerateJsonSchema):
        def sort(self, value: Any, parent_key: str | None = None) -> Any:
            return value

    return AsDeclared


def json_schema(model: type[BaseModel]) -> JsonObject:
    """The JSON schema: no titles, references inlined, `X | None` reduced to X."""
    raw = model.model_json_schema(schema_generator=_as_declared())
    defs = raw.pop("$defs", {})
    cleaned: JsonObject = _clean(raw, defs, frozenset(("title", "additionalProperties")))
    cleaned.setdefault("properties", {})
    return cleaned


def spoken_schema(schema: JsonObject, *, compact: bool = False, silent: Sequence[str] = ()) -> JsonObject:
    """The schema as a model is told it: bounds and defaults are ours to check, so they cost it no tokens.

    `compact` leaves out descriptions; `silent` parameters are left out, and accepted all the same.
    """
    left_out = _QUIET | {"description"} if compact else _QUIET
    spoken: JsonObject = _clean(schema, {}, left_out)
    spoken["properties"] = {k: v for k, v in spoken["properties"].items() if k not in silent}
    return spoken


_QUIET = frozenset(
    (
        "default",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    )
)


def _clean(node: Any, defs: JsonObject, drop: frozenset[str]) -> Any:
    if isinstance(node, list):
        return [_clean(n, defs, drop) for n in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = defs[node["$ref"].rsplit("/", 1)[-1]]
        return _clean({**target, **{k: v for k, v in node.items() if k != "$ref"}}, defs, drop)
    options = node.get("anyOf")
    if options and {"type": "null"} in options:
        rest = [o for o in options if o != {"type": "null"}]
        node = {k: v for k, v in node.items() if k != "anyOf"}
        node = {**rest[0], **node} if len(rest) == 1 else {**node, "anyOf": rest}
        if node.get("default", 0) is None:
            del node["default"]
        return _clean(node, defs, drop)
    out = {}
    for key, value in node.items():
        if key == "properties":
            out[key] = {k: _clean(v, defs, drop) for k, v in value.items()}
        elif key not in drop or (key == "title" and not isinstance(value, str)):
            out[key] = _clean(value, defs, drop)
    return out
