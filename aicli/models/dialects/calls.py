"""From a JSON value to the calls it stands for, and the tools that were offered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from aicli.content.parts import JsonObject
from aicli.content.request import ToolSpec
from aicli.late import dataclass
from aicli.models.dialects import jsontext
from aicli.models.dialects.typed import declared_types, type_of

NAME_KEYS = ("name", "tool_name", "function_name", "tool", "function", "action", "recipient_name")
ARGS_KEYS = ("arguments", "parameters", "args", "input", "params", "action_input", "kwargs", "tool_input", "tool_args")
_BESIDE = {
    "id",
    "type",
    "index",
    "call_id",
    "tool_call_id",
    "thought",
    "thoughts",
    "reasoning",
    "explanation",
    "comment",
}
_WRAPPERS = ("function", "tool_call", "function_call", "tool_use", "call")
_PREFIX = re.compile(r"^(?:functions?|tools?|default_api|api)[.:/]", re.I)


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it was written. `raw` holds the text of arguments that could not be read; `args` is then empty."""

    name: str
    args: JsonObject = field(default_factory=dict)
    id: str = ""
    raw: str = ""
    dialect: str = ""


class Tools:
    """The tools of one request, by name."""

    def __init__(self, specs: Sequence[ToolSpec] = ()) -> None:
        self.schemas: dict[str, JsonObject] = {s.name: s.parameters for s in specs}

    def __bool__(self) -> bool:
        return bool(self.schemas)

    def find(self, name: object) -> str:
        """The declared name that is meant, or ""."""
        if not isinstance(name, str):
            return ""
        plain = stripped(name)
        space, _, own = plain.partition(".")
        for candidate in (name, name.strip(), plain, own if own.split(".")[0] == space else plain):
            if candidate in self.schemas:
                return candidate
        return ""

    def named(self, name: str) -> str:
        """The declared name that is meant, else the name as written."""
        return self.find(name) or name.split("<|", 1)[0].strip()

    def properties(self, name: str) -> JsonObject:
        found = self.schemas.get(self.find(name), {}).get("properties")
        return found if isinstance(found, dict) else {}

    def fit(self, call: Call) -> bool:
        """Known keys only, and all that is required: the bar for what had to be repaired."""
        name = self.find(call.name)
        if not name:
            return False
        known = {_fold(k) for k in self.properties(name)}
        given = {_fold(k) for k in call.args}
        required = {_fold(str(k)) for k in self.schemas[name].get("required") or ()}
        if not ((given <= known or not known) and required <= given):
            return False
        return all(_is_a(v, self.properties(name).get(k)) for k, v in call.args.items())


def _fold(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _is_a(value: Any, schema: Any) -> bool:
    types = declared_types(schema)
    kind = type_of(value)
    return not types or kind in types or (kind == "integer" and "number" in types)


def stripped(name: str) -> str:
    """A name without what leaked into it: `functions.f<|channel|>commentary?` is f."""
    name = name.strip().split("<|", 1)[0].strip().strip("`\"'")
    return _PREFIX.sub("", name).rstrip("?:").strip()


def calls_in(value: Any, tools: Tools, *, sure: bool) -> list[Call]:
    """The calls that a JSON value stands for, in order; empty when it is something else.

    `sure`: the markup said that this is a call, so undeclared names count and other entries are passed over.
    Otherwise every entry must be a call of a declared tool and nothing else.
    """
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list) and (sure or len(value) <= 3):
        value = value["tool_calls"]
    entries = value if isinstance(value, list) else [value]
    found: list[Call] = []
    for entry in entries:
        call = _call(entry, tools, sure)
        if call is not None:
            found.append(call)
        elif not sure:
            return []
    return found


def _call(entry: Any, tools: Tools, sure: bool) -> Call | None:
    if not isinstance(entry, dict):
        return None
    id = next((str(entry[k]) for k in ("id", "call_id", "tool_call_id") if isinstance(entry.get(k), (str, int))), "")
    for key in _WRAPPERS:
        inner = entry.get(key)
        if isinstance(inner, dict) and any(k in inner for k in NAME_KEYS):
            if not sure and set(entry) - _BESIDE - {key}:
                return None
            entry = inner
            break
    name_key = next((k for k in NAME_KEYS if isinstance(entry.get(k), str) and entry[k].strip()), None)
    if name_key is None:
        return None
    args_key = next((k for k in ARGS_KEYS if k in entry and k != name_key), None)
    name = tools.find(entry[name_key])
    rest = {k: v for k, v in entry.items() if k not in (name_key, args_key) and k not in _BESIDE}
    if not sure and not (name and _plausible(entry, args_key, rest, tools.properties(name))):
        return None
    if args_key is None and rest and set(rest) <= set(tools.properties(name)):
        return Call(name, rest, id)
    args, raw = arguments(entry.get(args_key) if args_key else None)
    return Call(name or tools.named(entry[name_key]), _unwrapped(args, name, tools), id, raw)


def _plausible(entry: JsonObject, args_key: str | None, rest: JsonObject, properties: JsonObject) -> bool:
    """Is an entry without any markup a call and no answer, nor a tool's definition?"""
    if rest or (args_key is None and (properties or len(entry) > 1)):
        return False
    args = entry.get(args_key) if args_key else None
    if isinstance(args, str) and args.strip():
        return not arguments(args)[1]
    if not isinstance(args, (dict, str, type(None))):
        return False
    definition = isinstance(args, dict) and args.get("type") == "object" and "properties" in args
    return not definition or "properties" in properties


def arguments(value: Any) -> tuple[JsonObject, str]:
    """(object, "") or ({}, text that is none). null, "" and missing are {}; a string is unwrapped once."""
    if value is None:
        return {}, ""
    if isinstance(value, str):
        if not value.strip():
            return {}, ""
        try:
            inner = jsontext.read(value, closed=False)[0]
        except ValueError:
            return {}, value
        if inner is None:
            return {}, ""
        return (inner, "") if isinstance(inner, dict) else ({}, value)
    if isinstance(value, dict):
        return value, ""
    if value == []:
        return {}, ""
    return {}, jsontext.dumps(value)


def _unwrapped(args: JsonObject, name: str, tools: Tools) -> JsonObject:
    """Arguments that repeat the call, {"name": f, "arguments": {…}}, without that shell."""
    inner = args.get("arguments", args.get("parameters"))
    repeats = len(args) == 2 and args.get("name") == name and isinstance(inner, dict)
    return inner if repeats and name and not set(args) & set(tools.properties(name)) else args  # type: ignore[return-value]


_NAME = re.compile(r"""["'](?:name|tool_name|function_name|tool|function)["']\s*:\s*["']([^"'\n]{1,200})["']""")


def name_in(text: str) -> str:
    """The name of the call that broken JSON tried to make, or ""."""
    match = _NAME.search(text)
    return match.group(1) if match else ""


def read_calls(text: str, tools: Tools, *, sure: bool = True, closed: bool = True) -> tuple[list[Call], str]:
    """The calls in JSON text, one value or several in a row, and what follows them. Raises ValueError with the fault."""
    found: list[Call] = []
    rest = text.strip()
    while rest[:1] in ("{", "["):
        try:
            value, after = jsontext.read(rest, closed=closed, fits=lambda v: _all_fit(v, tools))
        except ValueError:
            if not found:
                raise
            break
        more = calls_in(value, tools, sure=sure)
        if not more:
            break
        found += more
        rest = after.lstrip(" \t\r\n;,")
    return found, rest


def _all_fit(value: Any, tools: Tools) -> bool:
    found = calls_in(value, tools, sure=True)
    return bool(found) and all(tools.fit(c) for c in found)


def repaired_arguments(text: str, spec: ToolSpec) -> JsonObject | None:
    """The arguments of a structured call whose JSON a server passed on broken, None where they can not be read.

    What only a library could repair counts only if it fits the tool's schema; what broke off is never completed.
    """
    tools = Tools([spec])
    try:
        value, rest = jsontext.read(text, closed=False, fits=lambda v: tools.fit(Call(spec.name, v)))
    except ValueError:
        return None
    args, raw = arguments(value)
    return None if raw or (rest.strip("} ]\r\n") and rest.strip() not in text[: -len(rest)]) else args
