"""Agents: list them, show one, give one a task, or work with one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aicli.commands._chat_flags import Plain, with_chat_flags
from aicli.commands._options import RunFlags, signals_held, with_flags

app = typer.Typer(
    help="Agents: list them, show one, give one a task, or work with one.",
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
)


@app.command("list")
def list_agents(json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> int:
    """The agents there are."""
    from aicli.commands._listing import show_agents

    return show_agents(Path.cwd(), json)


@app.command("show")
@app.command("info", hidden=True)
def show(name: str, json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> int:
    """What an agent is for, what it may use and what it is told."""
    from aicli.commands._listing import show_agent

    return show_agent(Path.cwd(), name, json)


@app.command()
@with_flags
def run(
    kind: Annotated[str, typer.Argument(metavar="AGENT", help="Which agent: see agent list.")],
    words: Annotated[list[str] | None, typer.Argument(metavar="TASK…", help="The task; - reads it from stdin.")] = None,
    *,
    flags: RunFlags,
) -> int:
    """Give an agent a task and see it through."""
    with signals_held():
        from aicli.commands._run import Job, perform

        return perform(Job(kind, words or [], flags))


@app.command()
@with_chat_flags
def interactive(
    kind: Annotated[str, typer.Argument(metavar="[AGENT]", help="Which agent.")] = "general",
    plain: Plain = False,
    *,
    flags: RunFlags,
) -> int:
    """Work with an agent task by task; it remembers the earlier ones until /clear."""
    from aicli.commands._open import open_chat

    return open_chat(flags, agent=kind, plain=plain)
