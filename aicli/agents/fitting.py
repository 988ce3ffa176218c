"""Does a text hold a JSON value that fits a schema? A schema that may take for ever is tried in a child with a time limit.

The child is this module: its arguments are the folders to import from, its input and output are JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from aicli.errors import AicliError, InputError, SchemaFailed

MOST_SECONDS = 10.0
"""That a check may take."""
_SLOW = ("pattern", "patternProperties", "$ref", "$dynamicRef", "$recursiveRef")
_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from aicli.agents.fitting import main; main()"


def checked(text: str, schema: Mapping[str, Any]) -> Any:
    """The JSON value in `text`. Raises SchemaFailed saying where it does not fit, InputError for a schema of no use.

    Blocks, and without end where a pattern of the schema is made for it.
    """
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
    except re.error as e:
        raise InputError(f"a pattern of the schema can't be read: {e}") from e
    except RecursionError as e:
        raise InputError("the schema or the answer is nested too deeply") from e
    if error is not None:
        where = "/".join(str(p) for p in error.absolute_path) or "the answer"
        raise SchemaFailed(f"{where}: {error.message[:300]}")
    return value


async def fitting(text: str, schema: Mapping[str, Any], seconds: float | None = None) -> Any:
    """The same, at most `seconds` (and MOST_SECONDS) long: then InputError says so. May be cancelled."""
    if not may_be_slow(schema):
        return checked(text, schema)
    limit = MOST_SECONDS if seconds is None else max(0.0, min(seconds, MOST_SECONDS))
    folders = json.dumps([p for p in sys.path if os.path.isabs(p)])
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _PROGRAM, folders),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={k: v for k, v in os.environ.items() if k.upper() == "SYSTEMROOT"},
    )
    try:
        async with asyncio.timeout(limit):
            out, _ = await child.communicate(json.dumps({"text": text, "schema": schema}).encode())
    except TimeoutError:
        raise InputError(
            f"the answer can't be checked: after {limit:.3g} s the schema was not done with it",
            hint="Look for a pattern with repeats inside repeats, such as (a+)+",
        ) from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()
    return _told(out)


def may_be_slow(schema: Any) -> bool:
    """Does it hold a word whose check has no bound that is known beforehand?"""
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            if any(word in part for word in _SLOW):
                return True
            pending += part.values()
        elif isinstance(part, list | tuple):
            pending += part
    return False


def _told(out: bytes) -> Any:
    try:
        said = json.loads(out)
    except ValueError:
        raise AicliError("the program that checks answers against a schema ended early") from None
    if "failed" in said:
        raise SchemaFailed(said["failed"])
    if "input" in said:
        raise InputError(said["input"])
    return said["value"]


def main() -> None:
    """The child: reads one request, says one answer."""
    asked = json.loads(sys.stdin.buffer.read())
    try:
        said = {"value": checked(asked["text"], asked["schema"])}
    except SchemaFailed as e:
        said = {"failed": str(e)}
    except InputError as e:
        said = {"input": str(e)}
    sys.stdout.write(json.dumps(said))
