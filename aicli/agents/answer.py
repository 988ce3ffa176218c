"""Answers by schema: native where the model can, by instruction and validation with bounded re-asks elsewhere."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from aicli.agents.loop import Conversation
from aicli.content.messages import Message
from aicli.content.parts import JsonObject
from aicli.errors import InputError, SchemaFailed
from aicli.tools.schema import json_schema

RE_ASKS = 2


def schema_of(output: type[BaseModel] | JsonObject | None) -> JsonObject | None:
    if output is None or isinstance(output, dict):
        return output
    return json_schema(output)


def instruction(schema: JsonObject) -> str:
    text = json.dumps(schema, ensure_ascii=False)
    return f"\n\nYour final answer must be one JSON value, without any other text, that fits this JSON schema:\n{text}"


def checked(text: str, schema: JsonObject) -> Any:
    """The JSON value in `text`. Raises SchemaFailed saying where it does not fit, InputError for a schema of no use."""
    from jsonschema import exceptions, validators  # 40 ms, and needed only here
    from referencing.exceptions import Unresolvable

    body = text.strip()
    if body.startswith("```"):
        body = body.split("\n", 1)[-1].rsplit("```", 1)[0]
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as e:
        raise SchemaFailed(f"the answer is not JSON: {e}") from e
    validator = validators.validator_for(schema)(schema)
    try:
        error = exceptions.best_match(validator.iter_errors(value))
    except Unresolvable as e:
        raise InputError(f"the schema refers to {e.ref!r}, which is not in it") from e
    except RecursionError as e:
        raise InputError("the schema or the answer is nested too deeply") from e
    if error is not None:
        where = "/".join(str(p) for p in error.absolute_path) or "the answer"
        raise SchemaFailed(f"{where}: {error.message[:300]}")
    return value


async def structured(
    reply: Message, schema: JsonObject, talk: Conversation, again: Callable[[], Awaitable[Message]]
) -> Any:
    """The answer as a value that fits; asks again with the fault named. Raises SchemaFailed."""
    talk.request = talk.request.model_copy(update={"tools": (), "output_schema": schema})
    for n in range(RE_ASKS + 1):
        try:
            return checked(reply.text, schema)
        except SchemaFailed as e:
            if n == RE_ASKS:
                raise
            talk.add(Message.user(f"That does not fit the schema: {e}. Answer again with the JSON value alone."))
            reply = await again()
    raise AssertionError("the loop returns or raises")
