"""From a session and a spec to an agent: its model, tools, words, limits and sub-agents."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

from aicli.agents.agent import Agent
from aicli.agents.delegate import delegate_tool
from aicli.agents.limits import Limits
from aicli.agents.prompt import snapshot, system_text
from aicli.agents.spec import AgentSpec
from aicli.content.events import AgentEvent, RunStarted
from aicli.content.kinds import PermissionMode
from aicli.content.messages import Message
from aicli.content.request import Thinking
from aicli.models.base import Model, ModelInfo
from aicli.safety.policy import Policy
from aicli.safety.rules import names_tool
from aicli.safety.sandbox import say
from aicli.safety.saved import save_rule
from aicli.safety.secrets import BUILT_IN_ORIGINS, origin
from aicli.session import RunOptions, Session
from aicli.sessions.store import Restored
from aicli.settings import Settings
from aicli.settings_load import Loaded
from aicli.tools.base import Tool
from aicli.workspace.ignore import IgnoreRules
from aicli.workspace.root import Workspace

STEP_PATHS = 60
STRICTNESS = [
    PermissionMode.PLAN,
    PermissionMode.DONT_ASK,
    PermissionMode.DEFAULT,
    PermissionMode.ACCEPT_EDITS,
    PermissionMode.BYPASS,
]


async def make_agent(
    session: Session, spec: AgentSpec, history: list[Message], started: RunStarted | None = None
) -> Agent:
    """The agent of `spec` over the session's workspace, policy and log. Raises what resolving its model raises."""
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
        policy=lowered(session.policy, spec.mode),
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

    agent.executor.on_always(_keeper(session))
    return agent


def addressed(loaded: Loaded, options: RunOptions, restored: Restored | None) -> Settings:
    """The settings with the address that a resumed session's model had, unless flags or environment name one.

    A log is no word of the person's: a key that is set goes there only if it would have gone to that host anyway.
    """
    settings = loaded.settings
    if restored is None or not restored.base_url or loaded.origin.get("base_url") in ("flags", "environment"):
        return settings
    provider = restored.model.partition(":")[0]
    if options.model and options.model.partition(":")[0] != provider:
        return settings
    known = {origin(settings.base_url), origin(BUILT_IN_ORIGINS.get(provider, ""))} - {""}
    key = settings.api_key if origin(restored.base_url) in known else None
    return settings.model_copy(update={"base_url": restored.base_url, "provider": provider, "api_key": key})


def _remembered(session: Session, info: ModelInfo) -> str:
    """The address to go on with later, if it was given for this session alone and holds nothing that may be secret."""
    restored = session.restored
    if session.loaded.origin.get("base_url") != "flags" and not (restored and restored.base_url):
        return ""
    url = session.orchestrator.given_url(info.provider)
    if session.loaded.origin.get("base_url") != "flags" and restored and url != restored.base_url:
        return ""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    plain = all(name == "api-version" for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    return url if plain and "@" not in parts.netloc else ""


def _keeper(session: Session) -> Callable[[str, str], None]:
    def save(rule: str, scope: str) -> None:
        mine = scope == "user" and not names_tool(
            rule
        )  # a tool that other folders may lack, where the rule is an error
        save_rule(rule, "project" if mine else scope, session.workspace.root)

    return save


def _delegate(session: Session, models: list[Model]) -> Tool:
    """Sub-agents can't delegate in turn, ask for no trust of their own and spend of their parent's budget."""
    types = [s.name for s in session.agents]

    def make(name: str) -> Agent:
        parent = session.agent
        spec = session.agents.get(name).model_copy(update={"delegates": False})
        agent = Agent(
            name=spec.name,
            instructions=system_text(spec, cwd=str(session.workspace.root), profile=models[0].info.profile),
            model=parent.model,
            tools=_selected(session, spec),
            spec=spec,
            host=session.host,
            policy=lowered(session.policy, spec.mode),
            state=replace(session.state, misses={}),
            budget=parent.spending.nested(spec.max_turns),
            thinking=parent.thinking,
            num_ctx=parent.num_ctx,
            preface=parent.preface,
            paths=parent.paths,
            sync=parent.sync,
        )
        agent.executor.on_always(_keeper(session))
        return agent

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
    if box and (loud := say(box)):
        warnings.append(loud)
    if session.log and session.log.notice:
        warnings.append(session.log.notice)
    if info.note:
        warnings.append(info.note)
    return RunStarted(
        session_id=session.state.session_id,
        agent=spec.name,
        model=info.id,
        models=await _roles(session, info),
        permission_mode=session.policy.mode.value,
        base_url=_remembered(session, info),
        sandbox=box.status if box else "off",
        cwd=str(session.workspace.root),
        context_files=tuple(f.path for f in session.context),
        warnings=tuple(warnings),
    )


async def _roles(session: Session, info: ModelInfo) -> dict[str, str | None]:
    """What each role resolves to. A run that names its model asks no server about the others."""
    if session.options.model not in ("", "fast", "thinking"):
        return {"fast": info.id, "thinking": info.id, "embedding": session.loaded.settings.models.embedding or None}
    return {filled.role: filled.model for filled in await session.orchestrator.report()}


def lowered(policy: Policy, mode: str) -> Policy:
    """The same rules under a stricter mode, if the agent's own is stricter; an agent can never raise it."""
    if not mode or STRICTNESS.index(policy.mode) <= STRICTNESS.index(PermissionMode(mode)):
        return policy
    other = copy.copy(policy)
    other.mode = PermissionMode(mode)
    return other


def _sync(session: Session) -> Callable[[], Awaitable[None]] | None:
    log = session.log
    if log is None:
        return None

    async def sync() -> None:
        log.sync()

    return sync


def _level(text: str) -> Thinking | None:
    return text or None  # type: ignore[return-value]


def _paths(workspace: Workspace) -> tuple[str, ...]:
    """Some names in the workspace, for a model that picks from a list; what git ignores is left out."""
    rules = IgnoreRules(workspace.root)
    found: list[str] = []
    for entry in workspace.walk(".", skip=lambda rel, is_dir: rel in (".git", ".aicli") or rules.ignored(rel, is_dir)):
        if entry.kind == "file":
            found.append(entry.rel)
        if len(found) >= STEP_PATHS:
            break
    return tuple(found)
