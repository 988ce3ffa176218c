"""Slash commands about the model, the agent, and what it may do."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from aicli.commands._slash.talk import table
from aicli.content.kinds import PermissionMode, ToolKind
from aicli.errors import UsageError

if TYPE_CHECKING:
    from aicli.commands._chat_types import Chat


async def model(chat: Chat, arguments: str) -> None:
    """/model, /model show, /model set ID, /model ID."""
    verb, _, rest = arguments.partition(" ")
    wanted = rest.strip() if verb.lower() == "set" else arguments if verb.lower() not in ("", "show", "list") else ""
    if not wanted:
        roles = await chat.session.orchestrator.report()
        table(chat, [(f.role, f.model or "-", chat.words.said(f.why)) for f in roles], chat.model)
        return
    info = await chat.session.use_model(wanted, why="chosen")
    chat.switch = wanted in ("fast", "thinking")
    chat.show_model()
    chat.screen.dim(chat.words("chat.model", model=info.id, role=chat.agent.role))


async def role(chat: Chat, arguments: str) -> None:
    """/role fast, thinking or auto."""
    wanted = arguments.lower()
    if wanted not in ("fast", "thinking", "auto"):
        raise UsageError(chat.words("models.roles", now="auto" if chat.switch else chat.agent.role))
    if wanted != "auto":
        await chat.session.use_model(wanted)
        chat.show_model()
    chat.switch = wanted == "auto"
    chat.screen.dim(chat.words("chat.model", model=chat.model, role=wanted))


async def mode(chat: Chat, arguments: str) -> None:
    if arguments:
        try:
            chat.set_mode(PermissionMode.parse(arguments))
        except ValueError:
            near = difflib.get_close_matches(arguments, [m.value for m in PermissionMode], 1)
            raise UsageError(
                chat.words("models.modes", name=arguments), hint=near[0] if near else ", ".join(PermissionMode)
            ) from None
    name = chat.session.policy.mode.value
    chat.screen.dim(chat.words("mode.set", mode=f"{name} ({chat.words(f'mode.{name}')})"))


async def permissions(chat: Chat, arguments: str) -> None:
    """The mode, the sandbox and the rules, strictest first."""
    policy, settings = chat.session.policy, chat.session.loaded.settings.permissions
    rows = [(chat.words("models.mode"), policy.mode.value), (chat.words("models.sandbox"), policy.sandbox_status)]
    for name in ("deny", "ask", "allow"):
        rows += [(name, str(rule)) for rule in getattr(settings, name)]
    saved = set(settings.allow)
    rows += [(chat.words("models.session"), str(rule)) for rule in policy.allow if str(rule) not in saved]
    table(chat, rows)


async def agents(chat: Chat, arguments: str) -> None:
    """/agents lists them, /agents NAME goes on with another, the conversation kept."""
    name = arguments.removeprefix("use ").strip()
    if not name or name == "list":
        rows = [(spec.name, spec.description) for spec in chat.session.agents]
        table(chat, rows, chat.agent.name)
        return
    from aicli import runtime

    chat.session.agent = await runtime.agent_named(chat.session, name)
    chat.show_model()
    chat.screen.dim(chat.words("models.agent", name=chat.agent.name))


async def tools(chat: Chat, arguments: str) -> None:
    rows = []
    for tool in chat.agent.executor.tools:
        kind = tool.kind.value if isinstance(tool.kind, ToolKind) else "-"
        rows.append((tool.name, kind, " ".join(tool.description.split())[:60]))
    table(chat, [r for r in rows if arguments in r[0]])
