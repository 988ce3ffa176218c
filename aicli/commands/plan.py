"""Plan: explore, write a plan, and carry it out once you approved it."""

from __future__ import annotations

from typing import Annotated

import typer

from aicli.commands._chat_flags import with_chat_flags
from aicli.commands._options import RunFlags

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
@with_chat_flags
def plan(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[enter] TASK… | list | show NAME | exit [NAME]", help="What to plan, or what to do."),
    ] = None,
    *,
    flags: RunFlags,
) -> int:
    """Explore, write a plan, and carry it out once you approved it.

    `plan TASK` and `plan enter TASK` make a plan and ask; without a terminal the plan is printed.
    `plan list` and `plan show NAME` tell of saved plans; `plan exit NAME` carries one out.
    """
    from aicli.commands._planning import plan_command

    return plan_command(list(words or ()), flags)
