"""The tasks tool: the model's own list of steps, shown live."""

from __future__ import annotations

from typing import Any

from aicli.content.kinds import ToolKind
from aicli.content.parts import JsonObject
from aicli.content.results import Task, TasksDisplay, ToolResult
from aicli.tools.base import ToolContext, ToolFailed, tool

_STATUS = {
    "todo": "pending",
    "open": "pending",
    "not_started": "pending",
    "doing": "in_progress",
    "active": "in_progress",
    "running": "in_progress",
    "done": "completed",
    "complete": "completed",
    "finished": "completed",
    "canceled": "cancelled",
    "skipped": "cancelled",
}
_TEXT = ("text", "content", "task", "title", "description", "step", "name", "activeForm")
_ALIASES = ("todos", "items", "plan", "steps")
_MOST = 100


def _adapt(args: JsonObject) -> JsonObject:
    """Other agents' spellings of a task list, plain strings included."""
    out = dict(args)
    for key in ("tasks", *_ALIASES):
        if isinstance(out.get(key), list):
            out[key] = [_task(item) for item in out[key]]
    return out


def _task(item: Any) -> Any:
    if isinstance(item, str):
        return {"text": item}
    if not isinstance(item, dict):
        return item
    text = next((item[key] for key in _TEXT if isinstance(item.get(key), str)), None)
    status = str(item.get("status", item.get("state", "pending"))).strip().lower().replace("-", "_").replace(" ", "_")
    return item if text is None else {"text": text, "status": _STATUS.get(status, status)}


@tool(
    kind=ToolKind.PLAN,
    title="Tasks",
    full_only=True,
    aliases=("todo_write", "write_todos", "update_plan", "todowrite", "todo"),
    param_aliases=dict.fromkeys(_ALIASES, "tasks"),
    adapt=_adapt,
    compact="Replace your task list.",
)
def tasks(ctx: ToolContext, tasks: list[Task]) -> ToolResult:
    """Your steps, for work of three or more; each call replaces the list. One is in_progress."""
    if len(tasks) > _MOST:
        raise ToolFailed(f"{len(tasks)} tasks are too many: at most {_MOST}.")
    if any(not task.text.strip() for task in tasks):
        raise ToolFailed("A task has no text: give each one a few words.")
    ctx.state.tasks = tuple(tasks)
    done = sum(task.status == "completed" for task in tasks)
    left = sum(task.status in ("pending", "in_progress") for task in tasks)
    display = TasksDisplay(tasks=tuple(tasks), summary=f"{done} of {len(tasks)} done")
    return ToolResult.of(f"Noted: {done} completed, {left} to do.", display=display)
