"""Calls a tool as the executor does: aliases, coercion, validation, outcome."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from aicli.content.events import AgentEvent, ToolFinished
from aicli.content.parts import FunctionCallPart
from aicli.content.results import ToolResult
from aicli.tools.base import Tool
from aicli.tools.executor import LocalExecutor
from aicli.tools.host import Host
from aicli.tools.state import RunState
from aicli.workspace.root import Workspace


def state_in(folder: Path, **more: Any) -> RunState:
    return RunState(workspace=Workspace(folder), **more)


async def acall(
    tool: Tool,
    state: RunState,
    *,
    name: str = "",
    host: Host | None = None,
    events: list[AgentEvent] | None = None,
    **args: Any,
) -> ToolResult:
    seen: list[AgentEvent] = events if events is not None else []
    executor = LocalExecutor([tool], state, host=host)
    await executor.execute_all([FunctionCallPart(id="c1", name=name or tool.name, args=args)], seen.append)
    return next(e.result for e in seen if isinstance(e, ToolFinished))


def call(tool: Tool, state: RunState, **more: Any) -> ToolResult:
    return asyncio.run(acall(tool, state, **more))
