"""Opens a conversation: on the screen where there is a terminal, line by line where there is none."""

from __future__ import annotations

import asyncio
import os
import sys

from aicli.commands._options import RunFlags
from aicli.ui.terminal import interactive


def open_chat(flags: RunFlags, *, agent: str = "general", first: str = "", plain: bool = False) -> int:
    """Returns the exit code. Raises AicliError for what can't be started."""
    plain = plain or os.environ.get("AICLI_UI__PLAIN", "").lower() in ("1", "true", "yes")
    if not interactive(plain=plain):
        from aicli.commands._lines import chat_by_lines

        code: int = asyncio.run(chat_by_lines(flags, agent, first, sys.stdin))
        return code
    from aicli.commands._conversation import Conversation

    return asyncio.run(Conversation(flags, agent, first).run())
