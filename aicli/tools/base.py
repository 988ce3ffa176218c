"""Tool, @tool, ToolContext and ToolFailed: what a hand is."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, overload

from aicli.content.events import AgentEvent
from aicli.content.kinds import ToolKind
from aicli.content.parts import JsonObject
from aicli.content.request import ToolSpec
from aicli.content.results import Display, ToolResult
from aicli.late import dataclass
from aicli.tools.host import HeadlessHost, Host
from aicli.tools.plain_schema import Fields, plain_schema
from aicli.tools.schema import declared, model_of, schema_of, spoken_schema

if TYPE_CHECKING:
    from pydantic import BaseModel

    from aicli.tools.state import RunState

Handler = Callable[..., "Awaitable[ToolResult | str] | ToolResult | str"]
Kind = ToolKind | Callable[[Any], ToolKind]


class ToolFailed(Exception):
    """Raised by a tool: the text goes to the model, so it says what to do next. Never holds a stack trace or a secret."""

    def __init__(self, text: str, *, display: Display | None = None) -> None:
        super().__init__(text)
        self.display = display


@dataclass(frozen=True)
class ToolContext:
    """What one call may use. `state` is shared by all calls of a run; `progress` and `emit` never block."""

    state: RunState
    host: Host = field(default_factory=HeadlessHost)
    call_id: str = ""
    progress: Callable[[str], None] = lambda text: None
    emit: Callable[[AgentEvent], None] = lambda event: None


@dataclass(frozen=True)
class Tool:
    """A tool. `title` is a format string over the parameters, or makes a line of them; `aliases` are other names that
    models use for it.

    `kind` may be a function of the validated parameters. `run` gets `ctx` first if it asks for it; plain functions run
    in a thread. `timeout` in seconds (None: the tool keeps its own). `param_aliases` maps a spelling to the real
    parameter; `adapt` rewrites raw arguments before they are validated. `preview` shows what a call would change.
    `untold` parameters are accepted but not in the spec. For small windows: `compact` is a shorter description, `rare`
    parameters are not told, and a tool with `full_only` is not offered at all. `fields` is set by `@tool` where the
    parameters are simple: `params` is then made of them when a call is checked.
    """

    name: str
    description: str
    kind: Kind
    params: type[BaseModel]
    run: Handler
    title: str | Callable[[Mapping[str, Any]], str] = ""
    aliases: tuple[str, ...] = ()
    timeout: float | None = 120.0
    param_aliases: Mapping[str, str] = field(default_factory=dict)
    adapt: Callable[[JsonObject], JsonObject] | None = None
    preview: Callable[[ToolContext, Any], Display | None] | None = None
    compact: str = ""
    rare: tuple[str, ...] = ()
    untold: tuple[str, ...] = ()
    full_only: bool = False
    examples: tuple[JsonObject, ...] = ()

    fields: Fields | None = field(default=None, repr=False, compare=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """`params` of a declared tool: made when a call is to be checked, most tools of a run see none."""
            if name != "params" or "fields" not in vars(self) or self.fields is None:
                raise AttributeError(name)
            made = vars(self)["params"] = model_of(self.fields, self.name)
            return made

    @property
    def schema(self) -> JsonObject:
        """The JSON schema of the parameters. Not to be changed."""
        plain = plain_schema(self.fields) if self.fields is not None else None
        return schema_of(self.params) if plain is None else plain

    def kind_of(self, params: Any) -> ToolKind:
        return self.kind if isinstance(self.kind, ToolKind) else self.kind(params)

    def title_of(self, args: Mapping[str, Any]) -> str:
        """One line for the task list; never raises."""
        if not self.title:
            return self.name
        try:
            said = self.title.format_map(_Blank(args)) if isinstance(self.title, str) else self.title(args)
            return " ".join(said.split())
        except (ValueError, IndexError, AttributeError, KeyError, TypeError):
            return self.name

    def spec(self, compact: bool = False) -> ToolSpec:
        return ToolSpec(
            name=self.name,
            description=(self.compact or self.description) if compact else self.description,
            parameters=spoken_schema(
                self.schema, compact=compact, silent=(*self.untold, *(self.rare if compact else ()))
            ),
            examples=() if compact else self.examples,
        )


class _Blank(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return ""


@overload
def tool(function: Handler, /) -> Tool: ...
@overload
def tool(
    *,
    kind: Kind = ...,
    name: str = ...,
    title: str | Callable[[Mapping[str, Any]], str] = ...,
    **more: Any,
) -> Callable[[Handler], Tool]: ...
def tool(
    function: Handler | None = None,
    /,
    *,
    kind: Kind = ToolKind.OTHER,
    name: str = "",
    title: str | Callable[[Mapping[str, Any]], str] = "",
    **more: Any,
) -> Tool | Callable[[Handler], Tool]:
    """Makes a Tool of a function: its docstring is the description, its annotated parameters the schema.

    Plain or async; a parameter annotated ToolContext gets the context and is not in the schema; a str return is wrapped.
    `more` are the other fields of Tool.
    """

    scope = sys._getframe(1).f_locals  # annotations of a nested function may name what stands around it

    def make(f: Handler) -> Tool:
        own_name = name or f.__name__
        fields = declared(f, own_name, scope)
        simple = plain_schema(fields) is not None
        made = Tool(
            name=own_name,
            description=inspect.cleandoc(f.__doc__ or ""),
            kind=kind,
            params=object if simple else model_of(fields, own_name),  # type: ignore[arg-type]
            run=f,
            title=title,
            fields=fields if simple else None,
            **more,
        )
        if simple:
            del vars(made)["params"]  # made of the fields when it is asked for
        return made

    return make(function) if function is not None else make
