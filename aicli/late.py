"""`dataclass` and `regex` (re.compile) as in the standard library, but made at first use: most runs use few of them.

Making a dataclass compiles code, up to a millisecond each, and there are more than a hundred; a pattern costs a third of
that; what needs no compiling is shared by all of them. `slots` is accepted and left out.
"""

from __future__ import annotations

import dataclasses
import re
import reprlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from re import compile

    regex = compile
else:

    class regex:
        """Has the methods of re.Pattern once one of them is asked for."""

        def __init__(self, text, flags=0):
            self._source = text, flags

        def __getattr__(self, name):
            made = re.compile(*self._source)
            for method in _METHODS:
                setattr(self, method, getattr(made, method))
            return getattr(made, name)

    def dataclass(cls=None, /, *, slots=False, **options):
        """The class, which becomes a dataclass when its first instance is made or its fields are asked for."""

        def later(cls):
            waiting[cls] = options
            cls.__dataclass_fields__ = _Fields()

            def new(own, *args, **kwargs):
                if cls in waiting:
                    make(cls)
                return object.__new__(own)

            cls.__new__ = new
            return cls

        return later if cls is None else later(cls)


_METHODS = ("match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")

waiting: dict[type, dict[str, Any]] = {}
"""The classes that nobody has used yet, with their options."""

_lock = threading.RLock()


def make(cls: type) -> None:
    """Makes the dataclass now; does nothing when that is done. Blocks while another thread makes it."""
    with _lock:
        if cls in waiting:
            options = waiting[cls]
            cls.__doc__ = cls.__doc__ or cls.__name__  # or the library writes the signature there, which takes as long
            compares = options.get("eq", True)
            shared: dict[str, Any] = {"__repr__": _repr}
            if compares:
                shared |= {"__eq__": _eq, "__hash__": _hash if options.get("frozen") else None}
            for name in shared.keys() - vars(cls).keys():
                setattr(cls, name, shared[name])
            dataclasses.dataclass(**options | {"repr": False, "eq": False})(cls)
            del waiting[cls]


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _content(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, f.name) for f in dataclasses.fields(self) if f.compare)


def _eq(self: Any, other: object) -> bool:
    return _content(self) == _content(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_content(self))


class _Fields:
    """`fields`, `replace` and a dataclass that inherits ask for this attribute."""

    def __get__(self, instance: object, owner: Any) -> Any:
        for cls in owner.__mro__:
            make(cls)
        return owner.__dataclass_fields__
