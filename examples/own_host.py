"""A host of your own: whoever is asked before something happens. Here a list of what may be deleted."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aicli import Agent, Approval, ApprovalRequest, Question, ToolKind, tool
from aicli.content.kinds import Verdict

ALLOWED = {"old.log"}


@tool(kind=ToolKind.DELETE, title="Delete {path}")
def delete_file(path: str) -> str:
    """Deletes a file of the current folder."""
    Path(path).unlink()
    return f"deleted {path}"


@dataclass
class ListHost:
    """Says yes to what is on the list; keeps what it was asked."""

    asked: list[str] = field(default_factory=list)
    present: bool = True

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request.title)
        if request.call.args.get("path") in ALLOWED:
            return Approval("once")
        return Approval("deny", reason="that file is not on the list")

    async def ask(self, question: Question) -> str | None:
        return None


class AskAboutEffects:
    """A policy: what changes something is asked about. `untrusted` is set once text from outside was read."""

    untrusted = False

    def verdict(self, name: str, kind: ToolKind, args: dict[str, Any]) -> Verdict:
        return Verdict("ask" if kind.effect else "allow", why=f"{kind} needs a yes")

    def suggest(self, name: str, kind: ToolKind, args: dict[str, Any]) -> str:
        return ""  # nothing may be allowed for longer than once

    def allow_for_session(self, rule: str) -> None:
        pass


if __name__ == "__main__":
    host = ListHost()
    agent = Agent(model="ollama:qwen3", tools=[delete_file], host=host, policy=AskAboutEffects())
    result = agent.run_sync("Delete old.log and keep.txt.")
    print(result.text or result.error)
    print(f"asked: {host.asked}; refused: {[d.tool_input['path'] for d in result.denials]}")
