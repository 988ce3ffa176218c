"""ContentPart: what a message is made of."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from aicli.content.value import ByType as ByType
from aicli.content.value import JsonObject as JsonObject
from aicli.content.value import Value as Value

Meta = dict[str, Any]
"""Opaque data of one provider, keyed by its name; echoed to that provider, dropped for another."""


class TextPart(Value):
    """What is said, by either side."""

    type: Literal["text"] = "text"
    text: str
    meta: Meta = {}


class ThinkingPart(Value):
    """What the model thought. A provider's signature lives in `meta`."""

    type: Literal["thinking"] = "thinking"
    text: str = ""
    meta: Meta = {}


class FunctionCallPart(Value):
    """A call as the model made it. `raw` is set only where the arguments could not be read as a JSON object."""

    type: Literal["function_call"] = "function_call"
    id: str
    name: str
    args: JsonObject = {}
    raw: str = ""
    meta: Meta = {}


class InlineDataPart(Value):
    """Bytes in the message, base64; `mime` such as image/png."""

    type: Literal["inline_data"] = "inline_data"
    mime: str
    data: str
    name: str = ""


class FileDataPart(Value):
    type: Literal["file_data"] = "file_data"
    mime: str
    uri: str


class FunctionResponsePart(Value):
    """The answer to one call, under its id."""

    type: Literal["function_response"] = "function_response"
    id: str
    name: str
    content: tuple[Annotated[TextPart | InlineDataPart, ByType()], ...] = ()
    is_error: bool = False

    @property
    def text(self) -> str:
        return "\n".join(p.text for p in self.content if isinstance(p, TextPart))


class ExecutableCodePart(Value):
    """Code that the provider itself runs."""

    type: Literal["executable_code"] = "executable_code"
    language: str = ""
    code: str = ""
    meta: Meta = {}


class CodeExecutionResultPart(Value):
    type: Literal["code_execution_result"] = "code_execution_result"
    outcome: str = ""
    output: str = ""
    meta: Meta = {}


ContentPart = Annotated[
    TextPart
    | ThinkingPart
    | FunctionCallPart
    | FunctionResponsePart
    | InlineDataPart
    | FileDataPart
    | ExecutableCodePart
    | CodeExecutionResultPart,
    ByType(),
]
