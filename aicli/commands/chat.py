"""Chat: talk with a model that can read, change and run things here."""

from __future__ import annotations

from typing import Annotated

import typer

from aicli.commands._chat_flags import Plain, with_chat_flags
from aicli.commands._options import RunFlags

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
@with_chat_flags
def chat(
    words: Annotated[list[str] | None, typer.Argument(metavar="[TEXT…]", help="The first message.")] = None,
    agent: Annotated[str, typer.Option("--agent", "-a", metavar="NAME", help="Which agent talks.")] = "general",
    plain: Plain = False,
    *,
    flags: RunFlags,
) -> int:
    """Talk with a model that can read, change and run things here.

    Off a terminal each line of stdin is one message. /help lists what else can be typed.
    """
    from aicli.commands._open import open_chat

    return open_chat(flags, agent=agent, first=" ".join(words or ()), plain=plain)
