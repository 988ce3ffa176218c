"""From signatures to schemas, and from models' arguments to parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from aicli.content.kinds import ToolKind
from aicli.content.parts import FunctionCallPart
from aicli.content.value import Note
from aicli.errors import UsageError
from aicli.tools.base import Tool, ToolContext, tool
from aicli.tools.plain_schema import plain_schema
from aicli.tools.registry import ToolRegistry
from aicli.tools.schema import json_schema
from aicli.tools.validate import BadArguments, validated


class Item(BaseModel):
    name: str
    count: int = 1


@tool(kind=ToolKind.READ, title="Take {path}", aliases=("grab",))
def take(
    ctx: ToolContext,
    path: Annotated[str, Field(description="Where.")],
    items: list[Item] | None = None,
    mode: Literal["a", "b"] = "a",
    limit: Annotated[int, Field(ge=1)] = 5,
) -> str:
    """Takes things."""
    return path


def test_the_schema_has_no_titles_references_context_or_nulls() -> None:
    text = take.spec().model_dump_json()
    assert '"title"' not in text and "$ref" not in text and "null" not in text and "ctx" not in text
    properties = take.spec().parameters["properties"]
    assert properties["path"]["description"] == "Where." and take.spec().parameters["required"] == ["path"]
    assert properties["items"]["items"]["properties"]["count"]["type"] == "integer"
    assert "description" not in str(take.spec(compact=True).parameters)


def test_a_parameter_named_title_stays() -> None:
    @tool
    def name_it(title: str) -> str:
        """Names."""
        return title

    assert "title" in name_it.spec().parameters["properties"]


@pytest.mark.parametrize("args", [{"path": {"a": 1}}, {}, {"path": "x", "limit": 0}, {"path": "x", "zzz": 1}])
def test_bad_arguments_name_their_field(args: dict[str, object]) -> None:
    with pytest.raises(BadArguments) as e:
        validated(take, FunctionCallPart(id="1", name="take", args=args))
    assert next(iter(args.keys() - {"path"} or {"path"})) in str(e.value)
    assert "Parameters: path, items?, mode?, limit?" in str(e.value)


def test_titles_never_fail() -> None:
    assert take.title_of({"path": "a\nb  c"}) == "Take a b c"
    assert take.title_of({}) == "Take"
    assert Tool("x", "", ToolKind.READ, take.params, take.run, title="{path.nope[0]} {").title_of({"path": ""}) == "x"


def test_a_function_without_annotations_is_refused() -> None:
    with pytest.raises(TypeError, match="no annotation"):

        @tool
        def bad(x):  # type: ignore[no-untyped-def]
            """Bad."""

    with pytest.raises(TypeError, match="no place"):

        @tool
        def worse(*rest: str) -> None:
            """Worse."""


def test_the_registry_selects_by_name_alias_glob_and_kind() -> None:
    @tool(kind=ToolKind.EDIT)
    def write(path: str) -> str:
        """Writes."""
        return path

    registry = ToolRegistry([take, write])
    assert registry.get("grab") is take and registry.get("zzz") is None
    assert registry.select(["kind:read"]) == [take]
    assert registry.select(["*"], without=["wri*"]) == [take]
    assert registry.select(["none"]) == []
    with pytest.raises(UsageError, match="no tool matches") as e:
        registry.select(["wrte"])
    assert "write" in e.value.line
    registry.add(take)
    assert "already there" in registry.problems[0]


def test_a_folder_of_tools_is_loaded_and_a_broken_file_named(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "count_lines.py").write_text(
        "from aicli import ToolKind, tool\n\n@tool(kind=ToolKind.READ)\n"
        "def count_lines(path: str) -> str:\n    '''Counts lines.'''\n    return path\n"
    )
    (tmp_path / "broken.py").write_text("import nothing_of_the_kind\n")
    registry = ToolRegistry()
    registry.load_folder(tmp_path)
    assert [t.name for t in registry] == ["count_lines"]
    assert "broken.py" in registry.problems[0]


def test_broken_json_is_repaired_only_where_it_then_fits() -> None:
    fixed = validated(take, FunctionCallPart(id="1", name="take", raw='{"path": "x", "limit": 3,}'))
    assert (fixed.path, fixed.limit) == ("x", 3)  # type: ignore[attr-defined]
    for raw in ('{"path": "x', '{"limit": 3,}', "path x"):
        with pytest.raises(BadArguments):
            validated(take, FunctionCallPart(id="1", name="take", raw=raw))


def test_the_schema_told_is_that_of_the_model_that_checks() -> None:
    """Simple parameters are told without making the model: the two may not differ."""
    registry = ToolRegistry()
    registry.load_builtin()
    simple = [one for one in registry if one.fields is not None]
    assert len(simple) > 8
    for one in simple:
        assert plain_schema(one.fields) == json_schema(one.params), one.name


def test_a_model_is_made_when_a_call_is_checked() -> None:
    @tool
    def made(a: int, b: Annotated[str, Note("B.")] = "x", c: list[str] | None = None) -> str:
        """Makes."""
        return f"{a}{b}{c}"

    assert made.spec().parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "string", "description": "B."},
            "c": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["a"],
    }
    assert "params" not in vars(made)
    assert made.params.model_validate({"a": 1}).model_dump() == {"a": 1, "b": "x", "c": None}
    assert plain_schema(made.fields) == json_schema(made.params)
    assert replace(made, name="other").params is made.params


def test_parameters_that_are_not_simple_are_told_by_their_model() -> None:
    @tool
    def odd(when: dict[str, int], size: Annotated[int, Field(multiple_of=2)] = 2) -> str:
        """Odd."""
        return f"{when}{size}"

    assert odd.fields is None
    assert set(odd.spec().parameters["properties"]) == {"when", "size"}
