"""Show what a run changed in files."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def diff(
    run: Annotated[str, typer.Option("--run", metavar="ID", help="The run; without it the last one here.")] = "",
    stat: Annotated[bool, typer.Option("--stat", help="Only the files and their counts of lines.")] = False,
) -> int:
    """Show what a run changed in files, as a unified diff. What was undone is left out."""
    from aicli.commands._history import open_history
    from aicli.ui.console import Console, is_terminal

    console = Console()
    history, chosen = open_history(run)
    found = history.diff(chosen.id) if chosen else []
    for one in found:
        if one.note:
            console.remark(f"{one.path}: {one.note}")
    if stat:
        text = "".join(f"{one.path} +{one.diff.added} -{one.diff.removed}\n" for one in found)
    else:
        text = "".join(one.diff.text for one in found)
    if not found:
        console.remark("Nothing was changed here." if chosen is None else f"Run {chosen.id} left no change.")
    elif text and is_terminal(console.stdout):
        console.out_text(text)
    elif text:
        console.out_exact(text)
    return 0
