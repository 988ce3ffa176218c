"""Providers by folder: what the files of `providers/` here and in the user's folder declare, and entry points."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from aicli import paths
from aicli.errors import InputError
from aicli.models import providers as folder
from aicli.models.provider import Provider
from aicli.plugins import plugins

_FIRST = ("openai",)
"""Files to look into first for a name that is no file's: most names are profiles there."""

skipped: dict[str, str] = {}
"""What could not be loaded, and why; for `aicli doctor`."""


def provider(name: str) -> Provider | None:
    """The provider of that name; only what is needed to find it is imported."""
    wanted = name.lower()
    files = [m.name for m in pkgutil.iter_modules(folder.__path__)]
    order = [f for f in files if f == wanted] or [f for f in _FIRST if f in files]
    for file in [*order, *(f for f in files if f not in order)]:
        for found in _declared(file):
            if wanted == found.name or wanted in found.other_names:
                return found
    return next((p for p in _installed() if wanted == p.name or wanted in p.other_names), None)


def providers() -> dict[str, Provider]:
    """All providers by name, in a fixed order; imports every file of the folder."""
    files = sorted(m.name for m in pkgutil.iter_modules(folder.__path__))
    found = [p for file in files for p in _declared(file)]
    return {p.name: p for p in [*found, *_installed()]}


def split(name: str) -> tuple[Provider, str]:
    """`provider:model` taken apart. Raises InputError that lists the providers and names the nearest."""
    before, colon, after = name.partition(":")
    found = provider(before) if colon and after else None
    if found is None:
        raise unknown(name)
    return found, after


def unknown(name: str) -> InputError:
    before, colon, after = name.partition(":")
    names = sorted(providers())
    near = difflib.get_close_matches(before.lower(), names, 1, 0.7)
    problem = f"{name!r} is no model name" if not (colon and after) else f"there is no provider {before!r}"
    hint = f"Did you mean {near[0]}:{after or '…'}? " if near else ""
    return InputError(f"{problem}; write provider:model", hint=f"{hint}Providers: {', '.join(names)}.")


def _declared(file: str) -> tuple[Provider, ...]:
    try:
        module = importlib.import_module(f"{folder.__name__}.{file}")
    except Exception as error:  # one broken file must not take the others with it
        skipped[file] = f"{type(error).__name__}: {error}"
        return ()
    return _of(module)


def _installed() -> Iterator[Provider]:
    """Of the user's own folder, then of entry points of the group `aicli.providers`. Nothing of a project is read."""
    for file in sorted((paths.config_folder() / "providers").glob("*.py")):
        try:
            yield from _of(_loaded(file))
        except Exception as error:  # one broken file must not take the others with it
            skipped[str(file)] = f"{type(error).__name__}: {error}"
    for point in plugins("aicli.providers"):
        try:
            yield from _of(point.load())
        except Exception as error:  # a broken plug-in is named and skipped
            skipped[point.name] = f"{type(error).__name__}: {error}"


def _loaded(file: Path) -> ModuleType | None:
    spec = importlib.util.spec_from_file_location(f"aicli_user_providers.{file.stem}", file)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _of(thing: Any) -> tuple[Provider, ...]:
    if isinstance(thing, Provider):
        return (thing,)
    if isinstance(thing, tuple):
        return tuple(p for p in thing if isinstance(p, Provider))
    single = getattr(thing, "PROVIDER", None)
    return (single,) if isinstance(single, Provider) else _of(getattr(thing, "PROVIDERS", ()))
