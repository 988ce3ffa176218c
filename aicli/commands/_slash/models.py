"""Slash commands about the model, the agent, and what it may do."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from aicli.commands._listing import first_sentence
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
        head = chat.words("chat.model", model=chat.model, role=chat.agent.role)
        table(chat, [(f.role, f.model or "-", chat.words.said(f.why)) for f in roles], head)
        return
    info = await chat.session.use_model(wanted, why="chosen")
    chat.switch = wanted in ("fast", "thinking")
    chat.show_model()
    chat.screen.dim(chat.words("chat.model", model=info.id, role=chat.agent.role))


async def role(chat: Chat, arguments: str) -> None:
    """/role fast, thinking or auto."""
    wanted = arguments.lower()
    if wanted not in ("fast", "thinking", "auto"):
        said = chat.words("models.roles", now="auto" if chat.switch else chat.agent.role)
        if wanted:
            raise UsageError(chat.words("models.no_role", name=wanted), hint=said)
        chat.screen.dim(said)
        return
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
            near = difflib.get_close_matches(arguments, list(PermissionMode), 1)
            hint = chat.words("chat.near", name=near[0]) if near else ", ".join(PermissionMode)
            raise UsageError(chat.words("models.modes", name=arguments), hint=hint) from None
    say_mode(chat)


def say_mode(chat: Chat) -> None:
    name = chat.session.policy.mode.value
    chat.screen.dim(chat.words("mode.set", mode=name, name=chat.words(f"mode.{name}")))


async def permissions(chat: Chat, arguments: str) -> None:
    """The mode, the sandbox and the rules, strictest first."""
    policy, settings = chat.session.policy, chat.session.loaded.settings.permissions
    words, mode = chat.words, policy.mode.value
    rows = [
        (words("models.mode"), f"{mode} · {words(f'mode.{mode}')}"),
        (words("models.sandbox"), words.said(policy.sandbox_status)),
    ]
    for name in ("deny", "ask", "allow"):
        rows += [(name, str(rule)) for rule in getattr(settings, name)]
    saved = set(settings.allow)
    rows += [(words("models.session"), str(rule)) for rule in policy.allow if str(rule) not in saved]
    if len(rows) == 2:
        rows.append((words("models.rules"), words("models.no_rules")))
    table(chat, rows)


async def agents(chat: Chat, arguments: str) -> None:
    """/agents lists them, /agents NAME goes on with another, the conversation kept."""
    name = arguments.removeprefix("use ").strip()
    if not name or name == "list":
        rows = [(spec.name, chat.words.said(spec.description)) for spec in chat.session.agents]
        table(chat, rows, chat.words("models.agent", name=chat.agent.name, model=chat.model))
        return
    from aicli import runtime

    chat.session.agent = await runtime.agent_named(chat.session, name)
    chat.show_model()
    chat.screen.dim(chat.words("models.agent", name=chat.agent.name, model=chat.model))


async def tools(chat: Chat, arguments: str) -> None:
    """What this agent may use; with a part of a name only those. Raises UsageError with the nearest name."""
    every = list(chat.agent.executor.tools)
    found = [tool for tool in every if arguments in tool.name]
    if not found:
        near = difflib.get_close_matches(arguments, [tool.name for tool in every], 1)
        hint = chat.words("chat.near", name=near[0]) if near else ""
        raise UsageError(chat.words("models.no_tool", name=arguments), hint=hint)
    said = chat.words.said
    kinds = [t.kind.value if isinstance(t.kind, ToolKind) else said("by call") for t in found]
    table(chat, [(t.name, kind, said(first_sentence(t.description))) for t, kind in zip(found, kinds, strict=True)])
