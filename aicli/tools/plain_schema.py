"""The JSON schema of simple parameters, without the model that checks them: what a start needs of most tools."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo

from aicli.content.parts import JsonObject

Fields = Mapping[str, tuple[Any, Any]]
"""Annotation and default by parameter; the default is ... where there is none."""

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_BOUNDS = {
    Ge: ("ge", "minimum"),
    Le: ("le", "maximum"),
    Gt: ("gt", "exclusiveMinimum"),
    Lt: ("lt", "exclusiveMaximum"),
}
_FLAGS = frozenset(flag for flag, _ in _BOUNDS.values())


def plain_schema(fields: Fields) -> JsonObject | None:
    """The same as schema.json_schema gives for a model of these fields; None where a type is not among the simple ones."""
    properties: JsonObject = {}
    for name, (annotation, default) in fields.items():
        found = _of(annotation)
        if found is None or not isinstance(default, str | int | float | tuple | NoneType | type(...)):
            return None
        if default is not ... and default is not None:
            found["default"] = list(default) if isinstance(default, tuple) else default
        elif default is None and NoneType not in get_args(_bare(annotation)):
            return None
        properties[name] = found
    schema: JsonObject = {"type": "object", "properties": properties}
    if required := [name for name, (_, default) in fields.items() if default is ...]:
        schema["required"] = required
    return schema


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _of(annotation: Any) -> JsonObject | None:
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in _NAMES:
        return {"type": _NAMES[annotation]}
    if origin is Annotated:
        found, said = _of(args[0]), _said(args[1:])
        return None if found is None or said is None else {**found, **said}
    if origin is list or (origin is tuple and len(args) == 2 and args[1] is ...):
        items = _of(args[0])
        return None if items is None else {"type": "array", "items": items}
    if origin is Literal and len(args) > 1 and all(type(a) is str for a in args):
        return {"type": "string", "enum": list(args)}
    if origin in (Union, UnionType) and len(args) == 2 and args[1] is NoneType:
        return _of(args[0])
    return None


def _said(notes: tuple[Any, ...]) -> JsonObject | None:
    """Description and bounds of an Annotated; None if it says more."""
    note = notes[0]
    if len(notes) != 1 or not isinstance(note, FieldInfo):
        return None
    bounds = [_BOUNDS.get(type(bound)) for bound in note.metadata]
    if None in bounds or not set(getattr(note, "_attributes_set", "?")) <= {"description", "annotation", *_FLAGS}:
        return None
    said: JsonObject = {"description": note.description} if note.description is not None else {}
    return said | {
        key: getattr(bound, flag) for (flag, key), bound in zip(filter(None, bounds), note.metadata, strict=True)
    }
