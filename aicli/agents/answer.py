"""Answers by schema: native where the model can, by instruction and validation with bounded re-asks elsewhere."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from aicli.content.parts import JsonObject
from aicli.errors import SchemaFailed
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
    """The JSON value in `text`. Raises SchemaFailed saying where it does not fit."""
    from jsonschema import exceptions, validators  # 40 ms, and needed only here

    body = text.strip()
    if body.startswith("```"):
        body = body.split("\n", 1)[-1].rsplit("```", 1)[0]
    try:
        value = json.loads(body)
    except ValueError as e:
        raise SchemaFailed(f"the answer is not JSON: {e}") from e
    validator = validators.validator_for(schema)(schema)
    error = exceptions.best_match(validator.iter_errors(value))
    if error is not None:
        where = "/".join(str(p) for p in error.absolute_path) or "the answer"
        raise SchemaFailed(f"{where}: {error.message[:300]}")
    return value
