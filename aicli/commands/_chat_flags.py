"""The flags of an interactive session: those of a run that make sense where a person sits."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any

import typer

from aicli.commands._options import RunFlags, flag_hints

_NAMES = """
    verbose log_http record replay debug continue_ continuous resume fork_session ephemeral max_turns max_tokens
    max_budget_usd max_tool_calls max_wall_time model base_url temperature thinking num_ctx permission_mode yolo
    allowed_tools disallowed_tools sandbox bare offline cwd add_dir trust
"""
KEPT = frozenset(_NAMES.split())
Plain = Annotated[bool, typer.Option("--plain", help="Plain lines: words for marks, nothing moves.")]


def with_chat_flags(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command that takes `flags` and `plain` these options."""
    hints = flag_hints()
    own = inspect.signature(command, eval_str=True)
    kept = [f for f in fields(RunFlags) if f.name in KEPT]

    @functools.wraps(command)
    def wrapped(**values: Any) -> int:
        flags = RunFlags(**{f.name: values.pop(f.name) for f in kept})
        return command(**values, flags=flags)

    parameters = [p for p in own.parameters.values() if p.name != "flags"]
    for field in kept:
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(field.name, kind, default=field.default, annotation=hints[field.name]))
    wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    del wrapped.__wrapped__
    return wrapped
