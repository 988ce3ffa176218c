"""Composition root: settings and a host become a session that is ready to run. The only file that wires."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aicli import paths, settings_load
from aicli.agents.agent import Agent
from aicli.agents.delegate import delegate_tool
from aicli.agents.limits import Limits
from aicli.agents.prompt import ContextFile, context_files, snapshot, system_text
from aicli.agents.registry import AgentRegistry
from aicli.agents.spec import AgentSpec
from aicli.clean import Redactor
from aicli.content.events import AgentEvent, RunStarted
from aicli.content.kinds import PermissionMode
from aicli.content.request import Thinking
from aicli.errors import SandboxError, UsageError
from aicli.models.base import Model, ModelInfo
from aicli.models.orchestrator import MultiModelOrchestrator
from aicli.safety import sandbox as sandboxes
from aicli.safety import trust
from aicli.safety.policy import Policy, save_rule
from aicli.safety.secrets import Keys, all_secrets
from aicli.sessions.log import RunLogger, new_id
from aicli.sessions.store import Restored, SessionStore
from aicli.settings_load import Loaded
from aicli.tools.base import Tool
from aicli.tools.host import Host
from aicli.tools.jobs import Jobs
from aicli.tools.registry import ToolRegistry
from aicli.tools.state import RunState
from aicli.workspace.checkpoints import Checkpoints
from aicli.workspace.memory import MemoryStore
from aicli.workspace.root import Workspace

STEP_PATHS = 60


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

    async def agent_named(self, name: str) -> Agent:
        """Another agent over the same workspace, policy, log and history. Raises UsageError."""
        spec = self.agents.get(name)
        return await _agent(self, spec, self.agent.history, self.agent.started)

    def problems(self) -> tuple[str, ...]:
        return (*self.tools.problems, *self.agents.problems)

    async def close(self) -> None:
        if self.state.jobs:
            await self.state.jobs.close()
        await self.orchestrator.close()
        if self.log:
            self.log.close()


def trusted(cwd: Path, flag: bool = False) -> bool:
    """May this folder's own files act? `flag` is the person's word for this run."""
    return flag or trust.trusted(cwd)


def load(flags: Mapping[str, object], options: RunOptions, environ: Mapping[str, str] | None = None) -> Loaded:
    """Settings for this run. Raises ConfigError; UsageError when the folder is not there."""
    if not options.cwd.is_dir():
        raise UsageError(f"there is no folder {str(options.cwd)!r}")
    return settings_load.load(
        flags, cwd=options.cwd, trusted=not options.bare and trusted(options.cwd, options.trust), environ=environ
    )


async def build(loaded: Loaded, host: Host, options: RunOptions) -> Session:
    """Everything one run needs. Raises AicliError of the kind that fits; touches no model server that is named."""
    settings = loaded.settings
    cwd = options.cwd.resolve()
    trusts = not options.bare and trusted(cwd, options.trust)
    workspace = Workspace(cwd, [d.resolve() for d in options.add_dirs])
    keys = Keys(os.environ, user_urls=_user_urls(loaded))
    redact = Redactor([*all_secrets(os.environ), *keys.known()])
    store = SessionStore(paths.state_folder() / "sessions")
    restored = _restored(store, options, cwd)
    log = None if options.ephemeral else _log(store, options, restored, redact, cwd)
    session_id = log.session_id if log else options.session_id or (restored.id if restored else new_id())
    box = sandboxes.detect(settings.sandbox.mode, workspace.root, settings.sandbox.read)
    policy = Policy(
        mode=_mode(loaded, host, restored, box.status),
        rules=settings.permissions,
        workspace=workspace,
        headless=not host.present,
        sandbox_status=box.status,
    )
    state = _state(loaded, options, workspace, session_id, box, trusts)
    state.headless = not host.present
    state.tasks = restored.tasks if restored else ()
    orchestrator = MultiModelOrchestrator(
        settings,
        _key(keys, settings),
        log_http=options.log_http,
        record=options.record,
        replay=options.replay,
        redact=redact,
        cache_dir=paths.cache_folder(),
    )
    session = Session(
        agent=None,  # type: ignore[arg-type]
        loaded=loaded,
        options=options,
        host=host,
        state=state,
        policy=policy,
        orchestrator=orchestrator,
        workspace=workspace,
        tools=_tools(options, cwd, trusts),
        agents=_agents(options, cwd, trusts),
        context=tuple(context_files(workspace.root, cwd)) if trusts else (),
        redact=redact,
        log=log,
        restored=restored,
    )
    spec = options.spec or session.agents.get(options.agent or (restored.agent if restored else "") or "general")
    try:
        session.agent = await _agent(session, spec, list(restored.history) if restored else [], None)
    except BaseException:
        await session.close()
        raise
    return session


async def _agent(session: Session, spec: AgentSpec, history: list[Any], started: RunStarted | None) -> Agent:
    options, settings, state = session.options, session.loaded.settings, session.state
    wanted = options.model or (session.restored.model if session.restored else "") or spec.model
    models = await session.resolve(wanted)
    info = models[0].info
    tools = _selected(session, spec)
    if spec.delegates:
        tools.append(_delegate(session, models))
    state.images = info.images
    sinks: list[Callable[[AgentEvent], None]] = [session.log.emit] if session.log else []
    memory = state.memory.for_prompt(settings.context.memory_tokens) if state.memory else ""
    agent = Agent(
        name=spec.name,
        instructions=system_text(
            spec,
            cwd=str(session.workspace.root),
            profile=info.profile,
            files=session.context,
            memory=memory,
            files_budget=settings.context.files_tokens,
        ),
        model=models,
        tools=tools,
        spec=spec,
        host=session.host,
        policy=session.policy if not spec.mode else session.policy.lowered(PermissionMode(spec.mode)),
        state=state,
        limits=_limits(session, spec),
        history=history,
        sinks=sinks,
        started=started or await _started(session, spec, info),
        preface=snapshot(session.workspace.root),
        role=wanted if wanted in ("fast", "thinking") else spec.model,
        temperature=settings.models.temperature,
        thinking=_level(settings.models.level),
        num_ctx=settings.models.num_ctx,
        max_output_tokens=settings.models.max_output_tokens,
        paths=(lambda: _paths(session.workspace)) if info.profile == "steps" else None,
        compact_at=settings.context.compact_at,
        strict=options.strict,
        sync=_sync(session),
    )
    agent.executor.on_always(lambda rule, scope: save_rule(rule, scope, session.workspace.root))
    session.orchestrator.on_retry = lambda event: agent.report(event)
    return agent


def _delegate(session: Session, models: list[Model]) -> Tool:
    """Sub-agents can't delegate in turn, ask for no trust of their own and spend of their parent's budget."""
    types = {s.name: s.description for s in session.agents}

    def make(name: str) -> Agent:
        parent = session.agent
        spec = session.agents.get(name).model_copy(update={"delegates": False})
        return Agent(
            name=spec.name,
            instructions=system_text(spec, cwd=str(session.workspace.root), profile=models[0].info.profile),
            model=parent.model,
            tools=_selected(session, spec),
            spec=spec,
            host=session.host,
            policy=session.policy if not spec.mode else session.policy.lowered(PermissionMode(spec.mode)),
            state=replace(session.state, misses={}),
            budget=parent.spending.nested(spec.max_turns),
            thinking=parent.thinking,
            num_ctx=parent.num_ctx,
            preface=parent.preface,
            paths=parent.paths,
            sync=parent.sync,
        )

    return delegate_tool(make, types)


def _selected(session: Session, spec: AgentSpec) -> list[Tool]:
    options = session.options
    patterns = spec.tools if options.tools is None else options.tools
    tools = session.tools.select(patterns, without=options.without)
    if spec.mode == "plan":
        tools = [t for t in tools if t.name in spec.tools or not _always_writes(t)]
    return [*tools, *options.extra_tools]


def _always_writes(tool: Tool) -> bool:
    return not callable(tool.kind) and tool.kind.effect


def _limits(session: Session, spec: AgentSpec) -> Limits:
    caps = session.loaded.settings.limits
    turns = caps.max_turns
    if spec.max_turns and session.loaded.origin.get("limits.max_turns", "default") == "default":
        turns = spec.max_turns
    return Limits(turns, caps.max_tokens, caps.max_budget_usd, caps.max_tool_calls, caps.max_wall_time)


async def _started(session: Session, spec: AgentSpec, info: ModelInfo) -> RunStarted:
    box = session.state.sandbox
    warnings = [*session.loaded.warnings, *session.problems(), *session.orchestrator.notes]
    if session.log and session.log.notice:
        warnings.append(session.log.notice)
    if info.note:
        warnings.append(info.note)
    return RunStarted(
        session_id=session.state.session_id,
        agent=spec.name,
        model=info.id,
        models=await session.orchestrator.roles(),
        permission_mode=session.policy.mode.value,
        sandbox=box.status if box else "off",
        cwd=str(session.workspace.root),
        context_files=tuple(f.path for f in session.context),
        warnings=tuple(warnings),
    )


def _sync(session: Session) -> Callable[[], Any] | None:
    log = session.log
    if log is None:
        return None

    async def sync() -> None:
        log.sync()

    return sync


def _restored(store: SessionStore, options: RunOptions, cwd: Path) -> Restored | None:
    if not options.resume:
        return None
    wanted = options.resume
    if wanted == "latest":
        found = store.latest(cwd)
        if found is None:
            return None
        wanted = found
    if options.fork:
        wanted = store.fork(wanted)
    return store.load(wanted)


def _log(store: SessionStore, options: RunOptions, restored: Restored | None, redact: Redactor, cwd: Path) -> RunLogger:
    session_id = restored.id if restored else options.session_id
    return RunLogger(store.folder, session_id, redact, head={"cwd": str(cwd)})


def _state(
    loaded: Loaded, options: RunOptions, workspace: Workspace, session_id: str, box: Any, trusts: bool
) -> RunState:
    settings = loaded.settings
    project = paths.project_folder(workspace.root) / "memory.md" if trusts else None
    return RunState(
        workspace=workspace,
        checkpoints=Checkpoints(paths.state_folder() / "checkpoints", workspace, session_id),
        memory=None if options.bare else MemoryStore(paths.config_folder() / "memory.md", project),
        sandbox=box,
        jobs=Jobs(),
        shell=settings.shell,
        web=settings.web,
        session_id=session_id,
        offline=settings.offline,
    )


def _tools(options: RunOptions, cwd: Path, trusts: bool) -> ToolRegistry:
    registry = ToolRegistry()
    registry.load_builtin()
    if not options.bare:
        registry.load_folder(paths.config_folder() / "tools")
        registry.load_entry_points()
    if trusts:
        registry.load_folder(paths.project_folder(cwd) / "tools")
    return registry


def _agents(options: RunOptions, cwd: Path, trusts: bool) -> AgentRegistry:
    folders = [] if options.bare else [paths.config_folder() / "agents"]
    return AgentRegistry([*folders, paths.project_folder(cwd) / "agents"] if trusts else folders)


def _mode(loaded: Loaded, host: Host, restored: Restored | None, sandbox: str) -> PermissionMode:
    """Flag, settings or the resumed session's; else default where somebody can answer, dont-ask where nobody can."""
    said = loaded.settings.permissions.mode
    if not said and restored and restored.mode and host.present:
        said = restored.mode
    mode = PermissionMode(said) if said else PermissionMode.DEFAULT if host.present else PermissionMode.DONT_ASK
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if mode is PermissionMode.BYPASS and root and sandbox == "none":
        raise SandboxError(
            "permission mode bypass as root needs a sandbox, and there is none here",
            hint="Install bubblewrap, or say --sandbox off",
        )
    return mode


def _key(keys: Keys, settings: Any) -> Callable[[str, str], str | None]:
    def key(provider: str, base_url: str) -> str | None:
        secret = keys.for_provider(provider, base_url)
        if secret is not None:
            return secret.reveal()
        return settings.api_key.get_secret_value() if settings.api_key else None

    return key


def _user_urls(loaded: Loaded) -> list[str]:
    origin = loaded.origin.get("base_url", "default")
    return [loaded.settings.base_url] if loaded.settings.base_url and origin != "project" else []


def _level(text: str) -> Thinking | None:
    return text or None  # type: ignore[return-value]


def _paths(workspace: Workspace) -> tuple[str, ...]:
    """Some names in the workspace, nearest first, for a model that picks from a list."""
    found: list[str] = []
    for entry in workspace.walk("."):
        if entry.is_file:
            found.append(entry.display)
        if len(found) >= STEP_PATHS:
            break
    return tuple(found)
