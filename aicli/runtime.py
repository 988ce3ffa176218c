"""Composition root: settings and a host become a session that is ready to run. With assembly, all that wires."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from aicli import paths, settings_load
from aicli.agents.agent import Agent
from aicli.agents.prompt import context_files
from aicli.agents.registry import AgentRegistry
from aicli.agents.spec import AgentSpec
from aicli.assembly import addressed, make_agent
from aicli.clean import Redactor
from aicli.content.events import RetryScheduled
from aicli.content.kinds import PermissionMode
from aicli.errors import ConfigError, TrustError, UsageError
from aicli.models.orchestrator import MultiModelOrchestrator
from aicli.safety import sandbox as sandboxes
from aicli.safety import trust
from aicli.safety.confined import Sandbox
from aicli.safety.denied import held_paths
from aicli.safety.policy import Policy
from aicli.safety.rules import RuleSet, parse_rule, parse_rules
from aicli.safety.saved import saved_rules
from aicli.safety.secrets import Keys, all_secrets
from aicli.session import RunOptions, Session
from aicli.sessions.log import RunLogger, new_id
from aicli.sessions.store import Restored, SessionStore
from aicli.settings import Settings
from aicli.settings_load import Loaded
from aicli.tools.host import Host
from aicli.tools.jobs import Jobs
from aicli.tools.registry import ToolRegistry
from aicli.tools.state import RunState
from aicli.workspace.checkpoints import Checkpoints
from aicli.workspace.memory import MemoryStore
from aicli.workspace.root import Workspace


def trusted(cwd: Path, flag: bool = False) -> bool:
    """May this folder's own files act? `flag` is the person's word for this run, void for / and home folders."""
    return (flag and not trust.too_wide(cwd)) or trust.trusted(cwd)


def load(flags: Mapping[str, object], options: RunOptions, environ: Mapping[str, str] | None = None) -> Loaded:
    """Settings for this run. Raises ConfigError; UsageError when the folder is not there."""
    if not options.cwd.is_dir():
        raise UsageError(f"there is no folder {str(options.cwd)!r}")
    provider, colon, _ = options.model.partition(":")
    if colon and flags.get("base_url") and not flags.get("provider"):
        flags = {**flags, "provider": provider}  # an address and a model said together belong together
    loaded = settings_load.load(
        flags, cwd=options.cwd, trusted=not options.bare and trusted(options.cwd, options.trust), environ=environ
    )
    if options.trust and (why := trust.too_wide(options.cwd)):
        return replace(loaded, warnings=(*loaded.warnings, f"--trust changes nothing here: {why}"))
    return loaded


async def build(loaded: Loaded, host: Host, options: RunOptions) -> Session:
    """Everything one run needs. Raises AicliError of the kind that fits; touches no model server that is named."""
    settings = loaded.settings
    cwd = options.cwd.resolve()
    trusts = not options.bare and trusted(cwd, options.trust)
    workspace = Workspace(cwd, [d.resolve() for d in options.add_dirs])
    tools = _tools(options, cwd, trusts)
    rules = _rules(loaded, workspace, tools)
    keys = Keys(os.environ, user_urls=_user_urls(loaded), general=False)
    own = [settings.api_key.get_secret_value()] if settings.api_key else []
    redact = Redactor([*all_secrets(os.environ), *keys.known(), *own])
    store = SessionStore(paths.state_folder() / "sessions")
    restored = _restored(store, options, cwd)
    log = None if options.ephemeral else _log(store, options, restored, redact, cwd)
    session_id = log.session_id if log else options.session_id or (restored.id if restored else new_id())
    held = held_paths(settings.permissions.deny, workspace.root)
    box = sandboxes.detect(settings.sandbox.mode, workspace.root, settings.sandbox.read, options.add_dirs, held)
    policy = Policy(
        mode=_mode(loaded, host, restored, box),
        rules=rules,
        workspace=workspace,
        headless=not host.present,
        sandbox_status=box.status,
    )
    state = _state(loaded, options, workspace, session_id, box, trusts)
    policy.shell_cwd = lambda: state.shell_cwd
    state.may_read = policy.may_read
    state.headless = not host.present
    state.tasks = restored.tasks if restored else ()
    built: list[Session] = []
    orchestrator = _orchestrator(addressed(loaded, options, restored), keys, options, built)
    session = Session(
        agent=None,  # type: ignore[arg-type]
        loaded=loaded,
        options=options,
        host=host,
        state=state,
        policy=policy,
        orchestrator=orchestrator,
        workspace=workspace,
        tools=tools,
        agents=_agents(options, cwd, trusts),
        context=tuple(context_files(workspace.root, cwd)) if trusts else (),
        redact=redact,
        log=log,
        restored=restored,
    )
    try:
        spec = options.spec or _spec(
            session, trusts, options.agent or (restored.agent if restored else "") or "general"
        )
        session.agent = await make_agent(session, spec, list(restored.history) if restored else [])
    except BaseException:
        await session.close()
        raise
    built.append(session)
    return session


def _spec(session: Session, trusts: bool, name: str) -> AgentSpec:
    """Raises UsageError, or TrustError when the agent is one of a folder that is not trusted."""
    try:
        return session.agents.get(name)
    except UsageError:
        file = paths.project_folder(session.workspace.root) / "agents" / f"{name}.md"
        if trusts or "/" in name or not file.is_file():
            raise
        raise TrustError(
            f"the agent {name!r} is this folder's own, and the folder is not trusted", hint="Say --trust"
        ) from None


def _orchestrator(settings: Settings, keys: Keys, options: RunOptions, built: list[Session]) -> MultiModelOrchestrator:
    """Its retries are reported to the agent of the session, once that is `built`."""

    def report(event: RetryScheduled) -> None:
        for session in built:
            session.agent.report(event)

    return MultiModelOrchestrator(
        settings,
        keys.value,
        on_retry=report,
        log_http=options.log_http,
        record=options.record,
        replay=options.replay,
        cache_dir=paths.cache_folder(),
    )


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
        checkpoints=Checkpoints(
            paths.state_folder() / "checkpoints", workspace, session_id, limit_mb=settings.sessions.undo_mb
        ),
        memory=None if options.bare else MemoryStore(paths.config_folder() / "memory.md", project, session=session_id),
        sandbox=box,
        jobs=Jobs(),
        shell=settings.shell,
        web=settings.web,
        session_id=session_id,
        offline=settings.offline,
        extra={"trusted": trusts},
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


def _rules(loaded: Loaded, workspace: Workspace, tools: ToolRegistry) -> RuleSet:
    """Those of flags and settings, and what was allowed for good for this project. Raises UsageError, ConfigError."""
    known = tools.canonical
    by_flag = next((layer.values for layer in loaded.layers if layer.name == "flags"), {})
    try:
        for rule in (rule for key in settings_load.RULES for rule in by_flag.get(key, ())):
            parse_rule(rule, known)
    except ConfigError as e:
        raise UsageError(str(e), hint=e.hint) from None
    said = loaded.settings.permissions
    return parse_rules(said.deny, said.ask, (*said.allow, *saved_rules(workspace.root, known)), known=known)


def _mode(loaded: Loaded, host: Host, restored: Restored | None, sandbox: Sandbox) -> PermissionMode:
    """Flag, settings or the resumed session's; else default where somebody can answer, dont-ask where nobody can."""
    said: str = loaded.settings.permissions.mode
    if not said and restored and restored.mode and host.present:
        said = restored.mode
    mode = PermissionMode(said) if said else PermissionMode.DEFAULT if host.present else PermissionMode.DONT_ASK
    sandboxes.check_bypass(mode, sandbox)
    return mode


def _user_urls(loaded: Loaded) -> list[str]:
    origin = loaded.origin.get("base_url", "default")
    return [loaded.settings.base_url] if loaded.settings.base_url and origin != "project" else []


async def agent_named(session: Session, name: str) -> Agent:
    """Another agent over the same workspace, policy, log and history. Raises UsageError."""
    return await make_agent(session, session.agents.get(name), session.agent.history, None)


__all__ = ["RunOptions", "Session", "agent_named", "build", "load", "trusted"]
