"""aicli: a terminal agent that can be trusted with any model, and a library: `from aicli import Agent, tool`.

Names are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # the typing module takes longer to load than all else here
if TYPE_CHECKING:
    from typing import Any

    from aicli import errors
    from aicli.agents.agent import Agent
    from aicli.agents.limits import Limits
    from aicli.agents.spec import AgentSpec
    from aicli.content import events
    from aicli.content.kinds import PermissionMode, ToolKind
    from aicli.content.messages import Message, dump_history, load_history
    from aicli.content.parts import InlineDataPart, TextPart
    from aicli.content.results import ToolResult
    from aicli.content.run_result import RunResult
    from aicli.errors import AicliError, ModelError
    from aicli.models.base import Model, ModelInfo
    from aicli.models.scripted import ScriptedModel
    from aicli.tools.base import Tool, ToolContext, ToolFailed, tool
    from aicli.tools.host import Approval, ApprovalRequest, Host, Question

__version__ = "0.1.0"

_WHERE = {
    "Agent": "agents.agent",
    "AgentSpec": "agents.spec",
    "AicliError": "errors",
    "Approval": "tools.host",
    "ApprovalRequest": "tools.host",
    "Host": "tools.host",
    "InlineDataPart": "content.parts",
    "Limits": "agents.limits",
    "Message": "content.messages",
    "Model": "models.base",
    "ModelError": "errors",
    "ModelInfo": "models.base",
    "PermissionMode": "content.kinds",
    "Question": "tools.host",
    "RunResult": "content.run_result",
    "ScriptedModel": "models.scripted",
    "TextPart": "content.parts",
    "Tool": "tools.base",
    "ToolContext": "tools.base",
    "ToolFailed": "tools.base",
    "ToolKind": "content.kinds",
    "ToolResult": "content.results",
    "dump_history": "content.messages",
    "load_history": "content.messages",
    "tool": "tools.base",
}
_MODULES = {"events": "content.events", "errors": "errors"}

__all__ = [
    "Agent",
    "AgentSpec",
    "AicliError",
    "Approval",
    "ApprovalRequest",
    "Host",
    "InlineDataPart",
    "Limits",
    "Message",
    "Model",
    "ModelError",
    "ModelInfo",
    "PermissionMode",
    "Question",
    "RunResult",
    "ScriptedModel",
    "TextPart",
    "Tool",
    "ToolContext",
    "ToolFailed",
    "ToolKind",
    "ToolResult",
    "__version__",
    "dump_history",
    "errors",
    "events",
    "load_history",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"aicli.{_MODULES[name]}")
    if name in _WHERE:
        value = getattr(import_module(f"aicli.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'aicli' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
