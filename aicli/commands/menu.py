"""The menu: a folder, then chat, an agent, one question, a plan, or an earlier session."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from aicli.commands._options import RunFlags

if TYPE_CHECKING:
    from aicli.commands._menu_screen import Choice


def open_menu() -> int:
    """Opens on a bare `aicli` at a terminal; returns the exit code of what was chosen, 0 for leaving."""
    from aicli.commands._open import open_chat, plain_wanted
    from aicli.ui.terminal import interactive

    if not interactive(plain=plain_wanted()):
        return open_chat(RunFlags())
    from aicli.commands._menu_screen import choose

    choice = asyncio.run(choose(Path.cwd()))
    while choice is not None and choice.what == "settings":
        from aicli.commands.config import show

        show()
        choice = asyncio.run(choose(choice.folder))
    return _open(choice) if choice is not None else 0


def _open(choice: Choice) -> int:
    """Carries out what was chosen, in its folder."""
    from aicli.commands._open import open_chat

    os.chdir(choice.folder)
    flags = RunFlags(cwd=choice.folder, resume=choice.session or None)
    if choice.what == "plan":
        from aicli.commands._planning import plan_command

        return plan_command(["enter", choice.text], flags)
    if choice.what == "agent":
        from aicli.commands._run import Job, perform

        return perform(Job(choice.agent, [choice.text], flags))
    if choice.what == "prompt":
        from aicli.commands.prompt import answer

        return answer([choice.text], flags)
    return open_chat(flags, first=choice.text)
