"""Writes docs/api.md from the docstrings of the public names. `--check` only says whether it is up to date."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aicli
from aicli import testing

FILE = Path(__file__).parents[1] / "docs" / "api.md"
HEAD = """\
# The library

`from aicli import …`: every name below. Made from the docstrings by `make docs`; examples are in `examples/`.
"""


class _Bare(str):
    """Shown without quotes."""

    __repr__ = str.__str__


def text() -> str:
    """The whole page."""
    names = [name for name in aicli.__all__ if not name.startswith("_")]
    things = {name: getattr(aicli, name) for name in names}
    modules = {name: thing for name, thing in things.items() if isinstance(thing, types.ModuleType)}
    lines = [HEAD]
    for name, thing in things.items():
        if name not in modules:
            lines += _entry(name, thing)
    for name, module in modules.items():
        lines += [f"## {name}", "", *_doc(module), ""]
        for inner, thing in vars(module).items():
            if inspect.isclass(thing) and thing.__module__ == module.__name__ and not inner.startswith("_"):
                lines += _entry(f"{name}.{inner}", thing, level=3)
    lines += _testing()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _testing() -> Iterator[str]:
    yield "# For your own tests\n\n`from aicli.testing import …`\n"
    yield from _doc(testing)
    yield ""
    for name in testing.__all__:
        if name not in ("steps", "ScriptedModel"):
            yield from _entry(name, getattr(testing, name))
    yield from ("## steps", "", *_doc(testing.steps), "")
    for name, thing in vars(testing.steps).items():
        if inspect.isfunction(thing) and thing.__module__ == testing.steps.__name__ and not name.startswith("_"):
            doc = inspect.getdoc(thing)
            yield f"- `steps.{name}{_signature(thing)}`" + (f": {_one_line(doc)}" if doc else "")


def _entry(name: str, thing: Any, level: int = 2) -> Iterator[str]:
    yield f"{'#' * level} {name}"
    yield ""
    if inspect.isclass(thing):
        yield from _class(name.rpartition(".")[2], thing)
    else:
        yield f"```python\n{name}{_signature(thing)}\n```"
        yield ""
        yield from _doc(thing)
    yield ""


def _class(name: str, thing: type) -> Iterator[str]:
    bases = [b.__name__ for b in thing.__bases__ if b is not object and b.__name__ != "Value"]
    yield f"`class {name}" + (f"({', '.join(bases)})`" if bases else "`")
    yield ""
    yield from _doc(thing)
    fields = list(_fields(thing))
    if fields:
        yield ""
        yield from fields
    for member, value in vars(thing).items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if member.startswith("_"):
            continue
        if isinstance(value, property) and value.__doc__:
            yield f"\n- **{member}**: {_one_line(value.__doc__)}"
        elif inspect.isfunction(function):
            word = "async " if inspect.iscoroutinefunction(function) else ""
            doc = inspect.getdoc(function)
            yield f"\n- `{word}{member}{_signature(function)}`" + (f": {_one_line(doc)}" if doc else "")


def _fields(thing: type) -> Iterator[str]:
    if dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            if field.name.startswith("_"):
                continue
            default = "" if field.default is dataclasses.MISSING else f" = {_value(field.default)}"
            if field.default_factory is not dataclasses.MISSING:
                default = f" = {_value(field.default_factory())}"
            yield f"- `{field.name}: {field.type}{default}`"


def _signature(thing: Any) -> str:
    """As in the source: annotations are text there already."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(…)"

    def bare(annotation: Any) -> _Bare:
        return _Bare(annotation if isinstance(annotation, str) else _type(annotation))

    plain = [
        p if p.annotation is inspect.Parameter.empty else p.replace(annotation=bare(p.annotation))
        for p in found.parameters.values()
    ]
    result = found.return_annotation
    shown = result if result is inspect.Signature.empty else bare(result)
    return str(found.replace(parameters=plain, return_annotation=shown))


def _type(annotation: Any) -> str:
    shown = (
        annotation.__name__ if inspect.isclass(annotation) and not hasattr(annotation, "__args__") else str(annotation)
    )
    return re.sub(r"(?:[a-z_]\w*\.)+(?=\w)", "", shown)


def _value(value: Any) -> str:
    shown = repr(value)
    return re.sub(r" at 0x[0-9a-f]+", "", shown) if len(shown) < 80 else "…"


def _doc(thing: Any) -> list[str]:
    said = thing.__doc__ or ""
    return [] if said in ("", getattr(thing, "__name__", "")) or "built-in" in said[:12] else [inspect.cleandoc(said)]


def _one_line(doc: str) -> str:
    return " ".join(inspect.cleandoc(doc).split())


def main() -> int:
    if "--check" in sys.argv:
        return int(not FILE.exists() or FILE.read_text(encoding="utf-8") != text())
    FILE.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
