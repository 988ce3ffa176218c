"""From a call as the model wrote it to validated parameters, or an error that names the field and what it must be."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from aicli.content.coerce import coerce
from aicli.content.parts import FunctionCallPart, JsonObject
from aicli.tools.base import Tool


class BadArguments(Exception):
    """The text goes to the model."""


def validated(tool: Tool, call: FunctionCallPart) -> BaseModel:
    """Raises BadArguments."""
    repaired = _repaired(tool, call.raw) if call.raw else None
    if call.raw and repaired is None:
        excerpt = call.raw if len(call.raw) <= 200 else call.raw[:200] + "…"
        raise BadArguments(
            f"the arguments of {tool.name} are not a JSON object: {excerpt!r}. "
            f"Call it again with {{{_wanted(tool)}}} as valid JSON"
        )
    args = dict(call.args if repaired is None else repaired)
    if tool.adapt:
        args = tool.adapt(args)
    args = coerce(args, tool.schema, tool.param_aliases)
    try:
        return tool.params.model_validate(args)
    except ValidationError as e:
        problems = "; ".join(_problem(item) for item in e.errors()[:5])
        raise BadArguments(f"{tool.name}: {problems}. Parameters: {_wanted(tool)}") from e


def _repaired(tool: Tool, raw: str) -> JsonObject | None:
    from aicli.models.dialects import repaired_arguments  # only broken arguments pay for the parser

    return repaired_arguments(raw, tool.spec())


def _problem(item: object) -> str:
    assert isinstance(item, dict)
    where = ".".join(str(x) for x in item["loc"]) or "arguments"
    if item["type"] == "missing":
        return f"{where} is missing"
    if item["type"] == "extra_forbidden":
        return f"{where} is not a parameter"
    return f"{where}: {item['msg']}, got {str(item.get('input'))[:80]!r}"


def _wanted(tool: Tool) -> str:
    words = []
    for name, field in tool.params.model_fields.items():
        words.append(name if field.is_required() else f"{name}?")
    return ", ".join(words) or "none"
