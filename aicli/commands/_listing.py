"""The agents and tools of this folder and user, without any model: for the commands that list them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aicli import paths
from aicli.agents.delegate import delegate_tool
from aicli.agents.registry import AgentRegistry
from aicli.agents.spec import AgentSpec
from aicli.clean import json_text
from aicli.safety.trust import trusted
from aicli.tools.base import Tool
from aicli.tools.registry import ToolRegistry
from aicli.ui.cells import pad_right
from aicli.ui.console import Console
from aicli.ui.translate import said

if TYPE_CHECKING:
    from aicli.agents.agent import Agent


def agents_of(cwd: Path) -> AgentRegistry:
    folders = [paths.config_folder() / "agents"]
    return AgentRegistry([*folders, paths.project_folder(cwd) / "agents"] if trusted(cwd) else folders)


def tools_of(cwd: Path) -> ToolRegistry:
    registry = ToolRegistry()
    registry.load_builtin()
    registry.load_folder(paths.config_folder() / "tools")
    registry.load_entry_points()
    if trusted(cwd):
        registry.load_folder(paths.project_folder(cwd) / "tools")
    return registry


def show_agents(cwd: Path, as_json: bool) -> int:
    console = Console()
    agents = agents_of(cwd)
    if as_json:
        console.out_exact(dumped([_agent(spec, cwd) for spec in agents]))
    else:
        console.out_text("\n".join(f"{pad_right(spec.name, 12)} {said(spec.description)}" for spec in agents))
    for problem in agents.problems:
        console.remark(f"warn  {problem}")
    return 0


def show_agent(cwd: Path, name: str, as_json: bool) -> int:
    """Raises UsageError with the nearest name."""
    console = Console()
    spec = agents_of(cwd).get(name)
    found = _agent(spec, cwd)
    if as_json:
        console.out_exact(dumped(found))
        return 0
    limits = [f"at most {spec.max_turns} turns" if spec.max_turns else "", f"mode {spec.mode}" if spec.mode else ""]
    limits += [f"runs the project's check, {spec.verify} rounds" if spec.verify else ""]
    tools = ", ".join(found["tools"])
    rows = {
        "kind": spec.display_name or spec.name,
        "description": said(spec.description),
        "aliases": ", ".join(spec.aliases),
        "model": spec.model,
        "capabilities": said(f"{tools}, other agents") if spec.delegates else tools,
        "limits": ", ".join(said(part) for part in limits if part),
        "from": said(spec.source),
    }
    shown = [f"  {pad_right(said(key), 13)} {value}" for key, value in rows.items() if value]
    lines = [f"{spec.name}", *shown, "", spec.instructions]
    console.out_text("\n".join(lines))
    return 0


def _agent(spec: AgentSpec, cwd: Path) -> dict[str, Any]:
    tools = [tool.name for tool in tools_of(cwd).select(spec.tools)]
    return {**spec.model_dump(), "tools": tools, "patterns": list(spec.tools)}


def show_tools(cwd: Path, name: str, as_json: bool) -> int:
    """All tools, or one with its parameters. Raises UsageError with the nearest name."""
    console = Console()
    registry, agents = tools_of(cwd), list(agents_of(cwd))
    every = [*registry.select(("*",)), delegate_tool(_never, [spec.name for spec in agents])]
    if name:
        from aicli.errors import UsageError

        wanted = [tool for tool in every if name in (tool.name, *tool.aliases)]
        if not wanted:
            import difflib

            near = difflib.get_close_matches(name, [tool.name for tool in every], 1)
            raise UsageError(
                f"there is no tool {name!r}", hint=f"Did you mean {near[0]}?" if near else "See: aicli tools."
            )
        every = wanted
    if as_json or name:
        found = [_tool(tool) for tool in every]
        console.out_exact(dumped(found[0] if name else found))
    else:
        only = ", ".join(spec.name for spec in agents if spec.delegates)
        note = said(f"only with agents that may give tasks to others: {only}")
        console.out_text("\n".join([*map(_line, every), f"{'':18} {'':<12} {note}"]))
    for problem in registry.problems:
        console.remark(f"warn  {problem}")
    return 0


def _never(name: str) -> Agent:
    raise NotImplementedError(name)  # the tool is only looked at


def _kind(tool: Tool) -> str:
    return tool.kind.value if not callable(tool.kind) else "by call"


def first_sentence(description: str) -> str:
    said = " ".join(description.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.!?;]) |(?<=[。；])", said, maxsplit=1)[0].rstrip(";；")


def _line(tool: Tool) -> str:
    """Its first sentence, which a description may break over lines; the other names in a line of their own."""
    first = first_sentence(tool.description)
    aliases = f"\n{'':18} {'':<12} {said('also')} {', '.join(tool.aliases)}" if tool.aliases else ""
    kind = said("by call") if callable(tool.kind) else tool.kind.value
    return f"{pad_right(tool.name, 18)} {pad_right(kind, 12)} {said(first)}{aliases}"


def _tool(tool: Tool) -> dict[str, Any]:
    spec = tool.spec()
    return {
        "name": tool.name,
        "kind": _kind(tool),
        "description": tool.description,
        "aliases": list(tool.aliases),
        "timeout_seconds": tool.timeout,
        "parameters": spec.parameters,
    }


def dumped(value: Any) -> str:
    return json_text(value)
