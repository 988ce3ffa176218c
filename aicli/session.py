"""RunOptions and Session: what a command line asks for, and the wired parts of a run."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from aicli.agents.agent import Agent
from aicli.agents.prompt import ContextFile
from aicli.agents.registry import AgentRegistry
from aicli.agents.spec import AgentSpec
from aicli.clean import Redactor
from aicli.content.kinds import PermissionMode
from aicli.late import dataclass
from aicli.models.base import Model, ModelInfo
from aicli.models.orchestrator import MultiModelOrchestrator
from aicli.safety.policy import Policy
from aicli.sessions.log import RunLogger
from aicli.sessions.store import Restored
from aicli.settings_load import Loaded
from aicli.tools.base import Tool
from aicli.tools.host import Host
from aicli.tools.registry import ToolRegistry
from aicli.tools.state import RunState
from aicli.workspace.root import Workspace


@dataclass(frozen=True)
class RunOptions:
    """What one command line asks for, apart from settings.

    `model` is a role or provider:model; `tools` replaces the agent's own list, `without` takes from it; `resume` is a
    session id, `latest` or ""; `bare` leaves out project files, memory and user tools.
    """

    agent: str = "general"
    spec: AgentSpec | None = None
    cwd: Path = field(default_factory=Path.cwd)
    add_dirs: tuple[Path, ...] = ()
    model: str = ""
    tools: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    extra_tools: tuple[Tool, ...] = ()
    resume: str = ""
    fork: bool = False
    ephemeral: bool = False
    session_id: str = ""
    strict: bool = False
    bare: bool = False
    trust: bool = False
    log_http: Path | None = None
    record: Path | None = None
    replay: Path | None = None


@dataclass(eq=False)
class Session:
    """A run's parts, wired. `close()` reaps jobs and closes the log; always await it."""

    agent: Agent
    loaded: Loaded
    options: RunOptions
    host: Host
    state: RunState
    policy: Policy
    orchestrator: MultiModelOrchestrator
    workspace: Workspace
    tools: ToolRegistry
    agents: AgentRegistry
    context: tuple[ContextFile, ...]
    redact: Redactor
    log: RunLogger | None = None
    restored: Restored | None = None

    async def resolve(self, name: str) -> list[Model]:
        """The model of a role or id, then the fallback if one is set. Raises NoModelForRole or InputError."""
        first = await self.orchestrator.resolve(name)
        fallback = self.loaded.settings.models.fallback
        return [first, await self.orchestrator.resolve(fallback)] if fallback else [first]

    async def use_model(self, name: str, why: str = "") -> ModelInfo:
        """Changes the agent's model for what comes; opaque data of the old one is dropped by the provider's encoder."""
        models = await self.resolve(name)
        self.agent.role = name if name in ("fast", "thinking") else self.agent.role
        self.agent.set_model(models, why=why)
        return models[0].info

    def set_mode(self, mode: PermissionMode) -> None:
        self.policy.mode = mode

    def problems(self) -> tuple[str, ...]:
        return (*self.tools.problems, *self.agents.problems)

    async def close(self) -> None:
        if self.state.jobs:
            self.state.jobs.close()
        if self.state.checkpoints:
            self.state.checkpoints.close()
        await self.orchestrator.close()
        if self.log:
            self.log.close()
