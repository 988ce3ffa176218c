"""For tests of your own agents and tools: a strict model server on real HTTP, a model in memory, one call of a tool.

Names are loaded when first used; nothing here is needed by the program itself, and no test framework is needed for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aicli.models.scripted import ScriptedModel
    from aicli.testing.one_call import Outcome, call_tool
    from aicli.testing.server import ModelServer, Seen

_WHERE = {
    "ModelServer": "testing.server",
    "Outcome": "testing.one_call",
    "ScriptedModel": "models.scripted",
    "Seen": "testing.server",
    "call_tool": "testing.one_call",
}
__all__ = ["ModelServer", "Outcome", "ScriptedModel", "Seen", "call_tool", "steps"]


def __getattr__(name: str) -> Any:
    if name == "steps":
        return import_module("aicli.testing.steps")
    if name in _WHERE:
        value = getattr(import_module(f"aicli.{_WHERE[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'aicli.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
