"""The JSON schema of simple parameters, without the model that checks them: what a start needs of most tools."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from aicli.content.value import JsonObject, Note, Value, declared_fields

Fields = Mapping[str, tuple[Any, Any]]
"""Annotation and default by parameter; the default is ... where there is none."""

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean"}
_BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}


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
    if isinstance(annotation, type) and issubclass(annotation, Value):
        return plain_schema(declared_fields(annotation))
    return None


def _said(notes: tuple[Any, ...]) -> JsonObject | None:
    """Description and bounds of an Annotated; None if it says more."""
    note = notes[0]
    if len(notes) != 1 or not isinstance(note, Note) or not note.bounds.keys() <= _BOUNDS.keys():
        return None
    said: JsonObject = {"description": note.description} if note.description else {}
    return said | {_BOUNDS[word]: bound for word, bound in note.bounds.items()}
