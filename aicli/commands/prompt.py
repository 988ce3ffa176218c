"""Ask one thing and get the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aicli.commands._options import RunFlags, signals_held, with_flags

app = typer.Typer(rich_markup_mode=None, add_completion=False)
READING = ("kind:read", "kind:search")


@app.command()
@with_flags
def prompt(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORDS…", help="The question; - reads it from stdin.")
    ] = None,
    tools: Annotated[str, typer.Option(metavar="read|all|none|NAME,…", help="What it may use.")] = "read",
    *,
    flags: RunFlags,
) -> int:
    """Ask one thing and get the answer. A pipe with data adds to the question, or is the question."""
    return answer(words or [], flags, tools)


def answer(words: list[str], flags: RunFlags, tools: str = "read") -> int:
    """The command's body; returns the exit code."""
    with signals_held():
        from aicli.agents.spec import AgentSpec
        from aicli.commands._run import Job, perform

        instructions = Path(__file__).with_name("prompt.md").read_text("utf-8")
        spec = AgentSpec(name="prompt", model="fast", tools=chosen(tools), instructions=instructions)
        return perform(Job("prompt", words, flags, progress=False, more={"spec": spec}))


def chosen(tools: str) -> tuple[str, ...]:
    """The patterns of tools that a word or a list of names stands for."""
    if tools == "read":
        return READING
    if tools == "all":
        return ("*",)
    return () if tools in ("none", "") else tuple(name.strip() for name in tools.split(",") if name.strip())
