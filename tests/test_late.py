"""Dataclasses and patterns that are made at their first use behave like any other."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
import threading
from pathlib import Path

import pytest

from aicli import late


@late.dataclass(frozen=True, slots=True)
class Point:
    x: int
    tags: list[str] = dataclasses.field(default_factory=list)


@late.dataclass(frozen=True)
class Named(Point):
    name: str = "p"


@pytest.fixture
def fresh() -> type:
    @late.dataclass
    class Fresh:
        value: int
        other: int = 2

    return Fresh


def test_nothing_is_made_before_the_first_instance(fresh: type) -> None:
    assert fresh in late.waiting
    assert fresh(1) == fresh(value=1, other=2)
    assert fresh not in late.waiting


def test_fields_are_there_before_any_instance(fresh: type) -> None:
    assert [f.name for f in dataclasses.fields(fresh)] == ["value", "other"]


def test_it_is_the_same_as_from_the_library() -> None:
    point = Named(1, name="q")
    assert (point.x, point.tags, repr(point)) == (1, [], "Named(x=1, tags=[], name='q')")
    assert dataclasses.replace(point, x=5).x == 5
    assert dataclasses.asdict(point) == {"x": 1, "tags": [], "name": "q"}
    assert Named(1).tags is not Named(1).tags
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        Named()
    match point:
        case Point(x):
            assert x == 1


def test_many_threads_may_make_the_first_instance(fresh: type) -> None:
    start, made = threading.Barrier(8), []

    def use() -> None:
        start.wait()
        made.append(fresh(3))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [fresh(3)] * 8


def test_every_class_and_pattern_of_the_program_can_be_made() -> None:
    """A mistake in one would else show only when it is first used."""
    root = Path(late.__file__).parent
    files = [file for file in root.rglob("*.py") if "late import" in file.read_text("utf-8")]
    assert files
    patterns = 0
    for file in files:
        name = ".".join(("aicli", *file.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        module = importlib.import_module(name)
        for value in vars(module).values():
            if type(value) is late.regex:
                value.search("" if isinstance(value.pattern, str) else b"")
                patterns += 1
        for node in ast.parse(file.read_text("utf-8")).body:
            cls = vars(module).get(node.name) if isinstance(node, ast.ClassDef) else None
            if cls in late.waiting:
                late.make(cls)
    assert patterns > 30


def test_a_regex_is_compiled_when_it_is_used() -> None:
    found = late.regex(r"(?P<n>b+)", re.I)
    assert "search" not in vars(found)
    assert [m["n"] for m in found.finditer("aBbab")] == ["Bb", "b"]
    assert found.sub("-", "ABBA") == "A-A"
    assert found.pattern == r"(?P<n>b+)"
    with pytest.raises(re.error):
        late.regex("(").match("a")
