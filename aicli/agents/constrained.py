"""A reply that can only be a valid call or a final answer: for a model whose calls could not be read twice in a row."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, JsonObject, TextPart
from aicli.content.request import ModelRequest, ToolSpec
from aicli.content.stream import new_id

INSTRUCTION = (
    'Reply with exactly one JSON object: {"tool": NAME, "args": {…}} to use a tool, or {"answer": TEXT} when you are done. '
    "Tools:\n"
)


def schema(specs: Sequence[ToolSpec]) -> JsonObject:
    options: list[JsonObject] = [
        {
            "type": "object",
            "properties": {"tool": {"type": "string", "enum": [spec.name]}, "args": spec.parameters},
            "required": ["tool", "args"],
            "additionalProperties": False,
        }
        for spec in specs
    ]
    answer = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    return {"anyOf": [*options, {**answer, "additionalProperties": False}]}


def constrained(request: ModelRequest) -> ModelRequest:
    """The same request with its tools in the system text and its reply bound to the schema."""
    lines = [f"- {s.name}{json.dumps(s.parameters.get('properties', {}))}: {s.description}" for s in request.tools]
    system = f"{request.system}\n\n{INSTRUCTION}" + "\n".join(lines)
    return request.model_copy(
        update={"system": system, "tools": (), "tool_choice": "auto", "output_schema": schema(request.tools)}
    )


def read(message: Message, specs: Sequence[ToolSpec]) -> Message:
    """The constrained reply as an ordinary message: a call or a text. What does not fit stays as it is."""
    try:
        value = json.loads(message.text)
    except (ValueError, RecursionError):
        return message
    if not isinstance(value, dict):
        return message
    others = tuple(p for p in message.parts if not isinstance(p, TextPart))
    if isinstance(value.get("answer"), str):
        return message.model_copy(update={"parts": (*others, TextPart(text=value["answer"]))})
    name, args = value.get("tool"), value.get("args")
    if isinstance(args, dict) and any(s.name == name for s in specs):
        return message.model_copy(update={"parts": (*others, FunctionCallPart(id=new_id(), name=str(name), args=args))})
    return message
