"""The slash command /plan: a plan first, then the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aicli.commands._slash.models import say_mode
from aicli.content.kinds import PermissionMode

if TYPE_CHECKING:
    from aicli.commands._chat_types import Chat


async def plan(chat: Chat, arguments: str) -> None:
    """/plan TASK makes a plan and asks; /plan alone switches the plan mode on and off."""
    if not arguments:
        now = chat.session.policy.mode
        chat.set_mode(PermissionMode.DEFAULT if now is PermissionMode.PLAN else PermissionMode.PLAN)
        say_mode(chat)
        return
    from aicli.commands._planning import plan_in_chat

    await plan_in_chat(chat, arguments)
