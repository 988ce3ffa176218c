"""A tool whose body is an agent: `agent{type, task}`. One level deep, in parallel, one shared budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

from aicli.content.events import AgentEvent, Delegated
from aicli.content.kinds import ToolKind
from aicli.content.results import TextDisplay, ToolResult
from aicli.content.value import Note
from aicli.errors import UsageError
from aicli.tools.base import Tool, ToolContext, ToolFailed, tool

if TYPE_CHECKING:
    from aicli.agents.agent import Agent

MakeAgent = Callable[[str], "Agent"]


def delegate_tool(make: MakeAgent, types: Sequence[str]) -> Tool:
    """`make` builds the sub-agent of a type (raises UsageError); `types` are the names to choose from."""
    listing = ", ".join(types)

    async def agent(ctx: ToolContext, task: str, type: Annotated[str, Note(listing)] = "explore") -> ToolResult:
        try:
            child = make(type)
        except UsageError as e:
            raise ToolFailed(e.line) from e

        def nest(event: AgentEvent) -> None:
            ctx.emit(Delegated(call_id=ctx.call_id, event=event))

        result = await child.run(task, on_event=nest)
        summary = "1 call" if result.tool_calls == 1 else f"{result.tool_calls} calls"
        if result.is_error:
            why = result.error.message if result.error else result.reason
            text = f"the {type} agent did not finish: {why}\n{result.text}".strip()
            return ToolResult.of(text, is_error=True, display=TextDisplay(text=why, summary=summary))
        return ToolResult.of(result.text, display=TextDisplay(text=result.text, summary=summary))

    agent.__doc__ = "Give a self-contained task to another agent and get its report. Several may run at once."
    return tool(
        kind=ToolKind.AGENT,
        name="agent",
        title="{type}: {task}",
        timeout=None,
        aliases=("task", "delegate", "spawn_agent"),
        compact="Give a task to another agent.",
        param_aliases={
            "prompt": "task",
            "description": "task",
            "subagent_type": "type",
            "agent": "type",
            "agent_type": "type",
        },
    )(agent)
