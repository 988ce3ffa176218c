"""The published schemas, as checks on what was really printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

DOCS = Path(__file__).parents[2] / "docs"
RESULT = json.loads((DOCS / "result.schema.json").read_text())
STREAM = json.loads((DOCS / "stream.schema.json").read_text())
_REGISTRY: Any = Registry().with_resource("result.schema.json", Resource.from_contents(RESULT))
_LINE = Draft202012Validator(STREAM, registry=_REGISTRY)
_BY_TYPE = {
    name: Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": STREAM["$defs"]})
    for name in STREAM["$defs"]
    if not name.startswith(("block", "usage"))
}
_RESULT = Draft202012Validator(RESULT)


def check_result(value: dict[str, Any]) -> None:
    _RESULT.validate(value)


def check_line(value: dict[str, Any]) -> None:
    """The schema of its own kind first, for a message that says what is wrong; then the whole."""
    if value["type"] == "result":
        _RESULT.validate(value)
    else:
        _BY_TYPE[value["subtype"] if value["type"] == "system" else value["type"]].validate(value)
    _LINE.validate(value)
