"""Entry points of other packages. Packages are only read in full once one of them has something for us."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def plugins(group: str) -> Iterable[EntryPoint]:
    """What the installed packages declare for the group. Blocks: reads a small file of each package."""
    head = f"[{group}]".encode()
    if not (_other_finders() or any(_declares(place or ".", head) for place in dict.fromkeys(sys.path))):
        return ()
    from importlib.metadata import entry_points  # the reader of packages costs more than all else here

    return entry_points(group=group)


def _other_finders() -> bool:
    """Can packages lie where only the library finds them?"""
    return any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path)


def _declares(place: str, head: bytes) -> bool:
    """Does a package of this folder declare the group? A file, such as a zip of packages, might."""
    try:
        with os.scandir(place) as entries:
            names = [entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except NotADirectoryError:
        return True
    except OSError:
        return False
    return any(head in _read(os.path.join(place, name, "entry_points.txt")) for name in names)


def _read(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError:
        return b""
