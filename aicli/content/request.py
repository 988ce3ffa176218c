"""What a model is asked, and how it may end: ModelRequest, ToolSpec, Usage, FinishReason."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from aicli.content.messages import Message
from aicli.content.parts import JsonObject, Value

Thinking = Literal["off", "low", "medium", "high"]


class ToolSpec(Value):
    """A tool as a model sees it. `parameters` is a JSON schema with references inlined."""

    name: str
    description: str = ""
    parameters: JsonObject = {"type": "object", "properties": {}}
    strict: bool = False
    examples: tuple[JsonObject, ...] = ()


class ModelRequest(Value):
    """One request. `tool_choice`: auto, none, required, or the name of one tool. `output_schema` forces the answer's form.

    `paths` are names in the workspace, for a model that needs them as an enum. `num_ctx` is the window in tokens.
    """

    system: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"
    output_schema: JsonObject | None = None
    thinking: Thinking | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    num_ctx: int | None = None
    paths: tuple[str, ...] = ()


def _count(value: Any) -> int:
    """What servers report is bookkeeping: a number that is none costs no reply."""
    if type(value) is int:
        return value if 0 <= value < _MOST else 0
    return int(value) if isinstance(value, float) and 0 <= value < _MOST else 0


_MOST = 10**15


class Usage(Value):
    """Tokens. `input_tokens` counts everything that was read, cached or not."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    reasoning_tokens: int = 0

    def __post_init__(self) -> None:
        vars(self).update({name: _count(value) for name, value in vars(self).items()})

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    @property
    def total(self) -> int:
        return self.input_tokens + self.output_tokens


class FinishReason(StrEnum):
    """Why a reply ended, in one vocabulary; the server's own word is kept beside it."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    MALFORMED_CALL = "malformed_call"
    OVERLOADED = "overloaded"
    ABORTED = "aborted"
    CONTEXT = "context"
    MISSING = "missing"
    UNKNOWN = "unknown"
