"""Opens a conversation: on the screen where there is a terminal, line by line where there is none."""

from __future__ import annotations

import asyncio
import os
import sys
import tomllib
from typing import TYPE_CHECKING

from aicli import paths
from aicli.ui.terminal import interactive

if TYPE_CHECKING:
    from aicli.commands._conversation import Conversation
    from aicli.commands._options import RunFlags


def open_chat(flags: RunFlags, *, agent: str = "general", first: str = "", plain: bool = False) -> int:
    """Returns the exit code. Raises AicliError for what can't be started."""
    if not interactive(plain=plain or plain_wanted()):
        from aicli.commands._lines import chat_by_lines

        code: int = asyncio.run(chat_by_lines(flags, agent, first, sys.stdin))
        return code
    return asyncio.run(_on_screen(flags, agent, first))


def plain_wanted() -> bool:
    """Does the environment or the person's own file ask for plain lines? A broken file is told of later."""
    said = os.environ.get("AICLI_UI__PLAIN", "").lower()
    if said:
        return said in ("1", "true", "yes", "on")
    try:
        settings = tomllib.loads((paths.config_folder() / "config.toml").read_text("utf-8-sig"))
        return settings.get("ui", {}).get("plain") is True
    except (OSError, ValueError, AttributeError):
        return False


async def _on_screen(flags: RunFlags, agent: str, first: str) -> int:
    """The input line first: it takes keys while everything else is imported."""
    from aicli.ui.chat_screen import Calls, ChatScreen
    from aicli.ui.interrupts import Interrupts
    from aicli.ui.words import Words

    screen = ChatScreen(Words(), history=paths.state_folder() / "history.jsonl")
    left: list[int] = []
    screen.calls = Calls(quit=lambda: left.append(0))
    with Interrupts(left.append, screen.stage.restore) as interrupts:
        try:
            screen.stage.open()
            made = await asyncio.to_thread(_conversation)
            if left:
                return left[0]
            return await made(flags, screen, interrupts, agent, first).run()
        finally:
            screen.stage.close()


def _conversation() -> type[Conversation]:
    """The heavy part of the start, in a thread."""
    from aicli.commands._conversation import Conversation

    return Conversation
