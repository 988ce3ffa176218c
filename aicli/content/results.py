"""ToolResult: for the model, for the person, for the log."""

from __future__ import annotations

from typing import Annotated, Literal

from aicli.content.parts import ByType, InlineDataPart, JsonObject, TextPart, Value


class TextDisplay(Value):
    """Plain text; `summary` is the few words at the right of the call's line ("212 lines", "3 hits")."""

    type: Literal["text"] = "text"
    text: str = ""
    summary: str = ""


class DiffDisplay(Value):
    """A change of one file as a unified diff. `before`/`after` are None for a file that was not / is no more there."""

    type: Literal["diff"] = "diff"
    path: str
    diff: str
    added: int = 0
    removed: int = 0
    summary: str = ""


class Task(Value):
    text: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"


class TasksDisplay(Value):
    type: Literal["tasks"] = "tasks"
    tasks: tuple[Task, ...] = ()
    summary: str = ""


class CommandDisplay(Value):
    """The end of a command: `exit_code` None when a signal or a limit ended it; `tail` the last lines of its output."""

    type: Literal["command"] = "command"
    command: str
    exit_code: int | None = None
    signal: str = ""
    tail: str = ""
    lines: int = 0
    summary: str = ""


Display = Annotated[TextDisplay | DiffDisplay | TasksDisplay | CommandDisplay, ByType()]


class ToolResult(Value):
    """`content` is for the model, `display` for the person, `data` for the log (e.g. `files_changed`)."""

    content: tuple[Annotated[TextPart | InlineDataPart, ByType()], ...] = ()
    display: Display | None = None
    data: JsonObject = {}
    is_error: bool = False

    @classmethod
    def of(cls, text: str, *, is_error: bool = False, display: Display | None = None, **data: object) -> ToolResult:
        return cls(content=(TextPart(text=text),), display=display, data=dict(data), is_error=is_error)

    @property
    def text(self) -> str:
        return "\n".join(p.text for p in self.content if isinstance(p, TextPart))
