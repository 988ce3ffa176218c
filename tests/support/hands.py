"""Calls a tool as a run does: through the executor, with the arguments a model might send."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from aicli.content.events import AgentEvent, ToolFinished
from aicli.content.parts import FunctionCallPart
from aicli.content.results import ToolResult
from aicli.tools.base import Tool
from aicli.tools.builtin.edit import edit
from aicli.tools.builtin.read_file import read_file
from aicli.tools.builtin.read_many_files import read_many_files
from aicli.tools.builtin.write_file import write_file
from aicli.tools.executor import LocalExecutor
from aicli.tools.state import RunState
from aicli.workspace.checkpoints import Checkpoints
from aicli.workspace.root import Workspace

FILE_TOOLS: tuple[Tool, ...] = (read_file, read_many_files, write_file, edit)


class Hands:
    """The file tools over one folder; each call is one turn."""

    def __init__(
        self, root: Path, *, checkpoints: Path | None = None, run_id: str = "run", images: bool = False
    ) -> None:
        self.root = root
        workspace = Workspace(root)
        kept = Checkpoints(checkpoints, workspace, run_id) if checkpoints else None
        self.state = RunState(workspace=workspace, checkpoints=kept, images=images)

    def call(self, name: str, **args: Any) -> ToolResult:
        """The whole result; `name` may be an alias."""
        self.state.turn += 1
        done: list[ToolResult] = []

        def emit(event: AgentEvent) -> None:
            if isinstance(event, ToolFinished):
                done.append(event.result)

        executor = LocalExecutor(FILE_TOOLS, self.state)
        asyncio.run(executor.execute_all([FunctionCallPart(id="c", name=name, args=args)], emit))
        return done[0]

    def ok(self, name: str, **args: Any) -> str:
        result = self.call(name, **args)
        assert not result.is_error, result.text
        return result.text

    def fails(self, name: str, **args: Any) -> str:
        result = self.call(name, **args)
        assert result.is_error, result.text
        return result.text

    def put(self, name: str, data: bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path
