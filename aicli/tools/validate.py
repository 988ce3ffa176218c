"""From a call as the model wrote it to the one form that is judged, shown and run, or an error that names the field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aicli.content.coerce import coerce
from aicli.content.kinds import ToolKind
from aicli.content.parts import FunctionCallPart, JsonObject, TextPart
from aicli.content.results import ToolResult
from aicli.content.value import MISFIT, Misfit, data_of, fitted, misplaced_switch
from aicli.late import dataclass, regex
from aicli.tools.base import Tool

if TYPE_CHECKING:
    from pydantic import BaseModel


CHANGE_TOLD = 4_000
"""Characters of a changed call that the model is told; the rest it can read."""
_SURROGATE = regex("[\ud800-\udfff]")


class BadArguments(Exception):
    """The text goes to the model."""


class Params:
    """Arguments that fit as they stand, as attributes: what a pydantic model of them would be."""

    def __init__(self, values: dict[str, Any], given: dict[str, Any]) -> None:
        vars(self).update(values, **given)
        self._given = given

    def model_dump(self, *, mode: str = "json", exclude_unset: bool = True) -> JsonObject:
        """The arguments that were given."""
        return {name: data_of(value) for name, value in self._given.items()}


@dataclass(frozen=True)
class Ready:
    """A call that fits its tool. `call` holds the validated arguments (those that were given) in place of what the model
    wrote: from here on they alone are judged, shown and told of, and `params` made of them is what runs."""

    call: FunctionCallPart
    tool: Tool
    params: BaseModel | Params
    kind: ToolKind
    title: str

    @property
    def args(self) -> JsonObject:
        return self.call.args


def prepared(tool: Tool, call: FunctionCallPart) -> Ready:
    """Raises BadArguments."""
    return _ready(tool, call, validated(tool, call))


def changed(ready: Ready, args: JsonObject) -> Ready:
    """The same call with other arguments, which carry the tool's own names: nothing in them is renamed or merged.

    Raises BadArguments.
    """
    return _ready(ready.tool, ready.call, _fitted(ready.tool, args))


def told(result: ToolResult, asked: Ready, ran: Ready) -> ToolResult:
    """The result for the model, which learns what ran instead of what it asked for where the person changed that."""
    names = [n for n in {**asked.args, **ran.args} if asked.args.get(n) != ran.args.get(n)]
    if not names:
        return result
    said = json.dumps({n: ran.args.get(n) for n in names}, ensure_ascii=False)
    said = said if len(said) <= CHANGE_TOLD else said[:CHANGE_TOLD] + "…"
    note = TextPart(text=f"The person changed this call before it ran: {said}")
    return result.model_copy(update={"content": (note, *result.content)})


def _ready(tool: Tool, call: FunctionCallPart, params: BaseModel | Params) -> Ready:
    try:
        args = params.model_dump(mode="json", exclude_unset=True)
    except ValueError as e:
        raise BadArguments(f"{tool.name}: these arguments can't be shown to anybody as data: {e}") from e
    call = call.model_copy(update={"args": args, "raw": ""})
    return Ready(call, tool, params, tool.kind_of(params), tool.title_of(args))


def arguments(tool: Tool, params: BaseModel | Params) -> dict[str, Any]:
    """All parameters by name."""
    names = tool.fields or {} if isinstance(params, Params) else type(params).model_fields
    return {name: getattr(params, name) for name in names}


def _plain(tool: Tool, args: JsonObject) -> Params | None:
    """None where pydantic has to look at them."""
    if tool.fields is None or not args.keys() <= tool.fields.keys():
        return None
    defaults = {name: default for name, (_, default) in tool.fields.items() if name not in args}
    given = {name: fitted(tool.fields[name][0], value) for name, value in args.items()}
    return None if ... in defaults.values() or MISFIT in given.values() else Params(defaults, given)


def validated(tool: Tool, call: FunctionCallPart) -> BaseModel | Params:
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
    return _fitted(tool, coerce(args, tool.schema, tool.param_aliases))


def _fitted(tool: Tool, args: JsonObject) -> BaseModel | Params:
    if (plain := _plain(tool, args)) is not None:
        return plain
    from pydantic import ValidationError

    for name, value in args.items():
        if half := _half(name) or _half(value):
            said = f"holds {half}, half of a character, which can't be written anywhere: give the whole character"
            raise BadArguments(f"{tool.name}: {ascii(name)[1:-1]} {said}")
        field = tool.params.model_fields.get(name)
        if field is not None and (switch := misplaced_switch(field.annotation, value, name)):
            raise BadArguments(": ".join((tool.name, str(Misfit(*switch)))))
    try:
        return tool.params.model_validate(args)
    except ValidationError as e:
        problems = "; ".join(_problem(item) for item in e.errors()[:5])
        raise BadArguments(f"{tool.name}: {problems}. Parameters: {_wanted(tool)}") from e


def _half(value: Any) -> str:
    """The first lone surrogate in a value, as it is written in JSON; "" where there is none."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str) and not item.isascii() and (found := _SURROGATE.search(item)):
            return f"\\u{ord(found[0]):04x}"
        if isinstance(item, dict):
            pending += [*item, *item.values()]
        elif isinstance(item, list):
            pending += item
    return ""


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
