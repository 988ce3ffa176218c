"""Tools: list what agents may use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def tools(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="One tool, with its parameters.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Tools: list what agents may use, with kind, description and aliases."""
    from aicli.commands._listing import show_tools

    return show_tools(Path.cwd(), name, as_json)
