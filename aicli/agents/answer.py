"""Answers by schema: native where the model can, by instruction and validation with bounded re-asks elsewhere."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aicli.agents.fitting import fitting
from aicli.agents.loop import Conversation
from aicli.content.messages import Message
from aicli.content.parts import JsonObject
from aicli.errors import InputError, SchemaFailed
from aicli.tools.schema import json_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

RE_ASKS = 2


def schema_of(output: type[BaseModel] | JsonObject | None) -> JsonObject | None:
    if output is None or isinstance(output, dict):
        return output
    return json_schema(output)


def instruction(schema: JsonObject) -> str:
    text = json.dumps(schema, ensure_ascii=False)
    return f"\n\nYour final answer must be one JSON value, without any other text, that fits this JSON schema:\n{text}"


async def structured(
    reply: Message, schema: JsonObject, talk: Conversation, again: Callable[[], Awaitable[Message]]
) -> Any:
    """The answer as a value that fits; asks again with the fault named. Raises SchemaFailed."""
    talk.request = talk.request.model_copy(update={"tools": (), "output_schema": schema})
    for n in range(RE_ASKS + 1):
        try:
            return await fitting(reply.text, schema, talk.budget.seconds_left)
        except InputError:
            talk.budget.check()  # the time cap goes first where it is what ended the check
            raise
        except SchemaFailed as e:
            if n == RE_ASKS:
                raise
            talk.add(Message.user(f"That does not fit the schema: {e}. Answer again with the JSON value alone."))
            reply = await again()
    raise AssertionError("the loop returns or raises")
