"""Value: what the values of this program are made of. pydantic is asked only where data of others does not fit at once."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

from aicli import late

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter

JsonObject = dict[str, Any]

_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "ge": lambda value, bound: value >= bound,
    "gt": lambda value, bound: value > bound,
    "le": lambda value, bound: value <= bound,
    "lt": lambda value, bound: value < bound,
    "min_length": lambda value, bound: len(value) >= bound,
}


def field(*, default: Any = dataclasses.MISSING, description: str = "", **bounds: float) -> Any:
    """A field with words for people and bounds (ge, gt, le, lt, min_length) for `Value.from_data`."""
    return dataclasses.field(default=default, metadata={"description": description, **bounds})


class Note:
    """Beside a type in Annotated: the words for the model and the bounds of a parameter, as pydantic's Field has them."""

    def __init__(self, description: str = "", **bounds: float) -> None:
        self.description = description
        self.bounds = bounds

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        from pydantic import Field

        said: dict[str, Any] = {"description": self.description} if self.description else {}
        said |= self.bounds
        return handler.generate_schema(Annotated[source, Field(**said)])


class ByType:
    """Beside a union in Annotated: the member is the one that the data's `type` names."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        from pydantic import Discriminator

        return handler.generate_schema(Annotated[source, Discriminator("type")])


@dataclass_transform(field_specifiers=(field,), kw_only_default=True, frozen_default=True)
class Value:
    """A frozen value that compares by content: a dataclass whose fields are given by name.

    `from_data` checks what came from a file; the constructor trusts the types of the code that calls it.
    """

    __pydantic_config__: ClassVar[Any] = {
        "extra": "forbid",
        "json_schema_extra": lambda schema: schema.pop("description", None),  # the docstring is for readers of the code
    }

    def __init_subclass__(cls) -> None:
        for name, default in list(vars(cls).items()):
            if name in cls.__annotations__ and isinstance(default, dict):
                setattr(cls, name, dataclasses.field(default_factory=default.copy))
        late.dataclass(frozen=True, kw_only=True)(cls)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The value that JSON or TOML data means. Raises Misfit."""
        given = _fitting(cls, data)
        return cls(**given) if given is not None else typing.cast(Self, checked(cls, data))

    def model_copy(self, *, update: Mapping[str, Any]) -> Self:
        """The same with other values for some fields."""
        return dataclasses.replace(self, **update)  # type: ignore[type-var]

    def model_dump(self, *, exclude: Collection[str] = ()) -> JsonObject:
        """As JSON data."""
        return {name: data_of(value) for name, value in vars(self).items() if name not in exclude}

    def model_dump_json(self) -> str:
        return json.dumps(self.model_dump(), ensure_ascii=False, separators=(",", ":"))


class Misfit(ValueError):
    """Data that means no value: `where` as a dotted key, `said` what it should be, `given` what it is."""

    def __init__(self, where: str, said: str, given: Any = None) -> None:
        super().__init__(f"{where} {said}" if where else said)
        self.where, self.said, self.given = where, said, given


def checked(kind: Any, data: Any) -> Any:
    """Data as a value of any type that pydantic knows. Raises Misfit, also for true or false where a number should be."""
    from pydantic import ValidationError

    if switch := misplaced_switch(kind, data):
        raise Misfit(*switch)
    try:
        return adapter(kind).validate_python(data)
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        raise Misfit(".".join(map(str, first["loc"])), _complaint(first), first["input"]) from None


_NUMBER, _WHOLE, _LIST = "should be a number", "should be a whole number", "should be a list"
_COMPLAINTS = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float", "int_parsing_size"), _WHOLE),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), _NUMBER),
    **dict.fromkeys(("bool_parsing", "bool_type"), "should be true or false"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type"), _LIST),
    **dict.fromkeys(("dict_type", "model_type", "dataclass_type"), "should be a table"),
    "string_type": "should be text",
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "unexpected_keyword_argument": "is not known here",
}


def misplaced_switch(kind: Any, item: Any, where: str = "") -> tuple[str, str, bool] | None:
    """Where true or false stands for a number, what should be there, and which it is: pydantic takes them for 1 and 0."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return misplaced_switch(args[0], item, where)
    if isinstance(item, bool):
        kinds = {get_args(k)[0] if get_origin(k) is Annotated else k for k in _members(kind)}
        if kinds & {bool, Any} or not kinds & {int, float}:
            return None
        return where, _NUMBER if float in kinds else _WHOLE, item
    inside: list[tuple[Any, Any, str]] = []
    if isinstance(item, dict):
        for one in _members(kind):
            if _is_value(one) and len(_members(kind) - {NoneType}) == 1:
                inside = [(of, item[name], name) for name, of in hints(one).items() if name in item]
    elif isinstance(item, list | tuple):
        held = [get_args(k)[0] for k in _members(kind) if get_origin(k) in (list, tuple) and get_args(k)]
        inside = [(held[0], one, str(n)) for n, one in enumerate(item)] if len(held) == 1 else []
    found = (misplaced_switch(of, one, f"{where}.{name}" if where else name) for of, one, name in inside)
    return next(filter(None, found), None)


def _is_value(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Value)


def _members(kind: Any) -> frozenset[Any]:
    return frozenset(get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,))


def _complaint(error: Any) -> str:
    """What is wrong, as something that follows a name, in words of our own."""
    kind, bounds = error["type"], error.get("ctx", {})
    if kind == "greater_than_equal":
        return f"should be at least {bounds['ge']}"
    if kind == "less_than_equal":
        return f"should be at most {bounds['le']}"
    if kind == "greater_than":
        return f"should be more than {bounds['gt']}"
    if kind == "less_than":
        return f"should be less than {bounds['lt']}"
    said = str(error["msg"])
    return _COMPLAINTS.get(kind) or (said[:1].lower() + said[1:]).removeprefix("input ")


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """What reads a type from data."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


MISFIT: Any = object()


@cache
def hints(kind: Any) -> dict[str, Any]:
    """The types of the fields, by name."""
    return typing.get_type_hints(kind, include_extras=True)


def declared_fields(kind: Any) -> dict[str, tuple[Any, Any]]:
    """Type and default of each field; the default is ... where there is none."""
    return {f.name: (hints(kind)[f.name], _default(f)) for f in dataclasses.fields(kind)}


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else ...


def _fitting(kind: Any, data: Mapping[str, Any]) -> dict[str, Any] | None:
    """The constructor's arguments where all of the data fits as it stands; None leaves the verdict to pydantic."""
    fields = {f.name: f for f in dataclasses.fields(kind)}
    if not data.keys() <= fields.keys() or any(_default(f) is ... and name not in data for name, f in fields.items()):
        return None
    given = {name: fitted(hints(kind)[name], item) for name, item in data.items()}
    fit = all(value is not MISFIT and _within(value, fields[name].metadata) for name, value in given.items())
    return given if fit else None


def _within(value: Any, bounds: Mapping[str, Any]) -> bool:
    return value is None or all(_BOUNDS[word](value, bound) for word, bound in bounds.items() if word in _BOUNDS)


def fitted(kind: Any, item: Any) -> Any:
    """The item as that type, where nobody could doubt it; else MISFIT, and pydantic has to be asked."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is float and type(item) is int and abs(item) < _EXACT:
        return float(item)
    if kind in _AS_IT_IS:
        return item if type(item) is kind and (kind is not str or _is_text(item)) else MISFIT
    if origin is Annotated and len(args) == 2 and isinstance(args[1], Note):
        found = fitted(args[0], item)
        return found if found is not MISFIT and _within(found, args[1].bounds) else MISFIT
    if origin is Literal:
        return item if type(item) is str and item in args else MISFIT
    if origin in (Union, UnionType):
        return next((found for arg in args if (found := fitted(arg, item)) is not MISFIT), MISFIT)
    if (origin is list or (origin is tuple and args[1:] == (...,))) and isinstance(item, list | tuple):
        items = origin(fitted(args[0], one) for one in item)
        return MISFIT if any(one is MISFIT for one in items) else items
    if isinstance(kind, type) and issubclass(kind, Value) and isinstance(item, dict):
        given = _fitting(kind, item)
        return MISFIT if given is None else kind(**given)
    return item if isinstance(kind, type) and issubclass(kind, Value) and type(item) is kind else MISFIT


def _is_text(item: str) -> bool:
    """Halves of a pair of surrogates make a string that can't be written anywhere."""
    try:
        return item.isascii() or bool(item.encode())
    except UnicodeEncodeError:
        return False


def data_of(value: Any) -> Any:
    """A value as JSON data: what JSON has no word for, as text."""
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if isinstance(value, Value):
        return value.model_dump()
    if isinstance(value, dict):
        return {key if type(key) is str else _key(key): data_of(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [data_of(item) for item in value]
    if isinstance(value, Enum):
        return data_of(value.value)
    if dataclasses.is_dataclass(value):
        return {field.name: data_of(getattr(value, field.name)) for field in dataclasses.fields(value)}
    for plain in (str, int, float):
        if isinstance(value, plain):
            return plain(value)
    return value.model_dump(mode="json", fallback=str) if hasattr(value, "model_dump") else str(value)


_EXACT = 1 << 53
_AS_IT_IS = frozenset((str, int, float, bool, NoneType))


def _key(key: Any) -> str:
    return str(data_of(key)) if isinstance(key, Enum | str) else json.dumps(key) if isinstance(key, bool) else str(key)
