"""Measure models on folders of tasks, each checked by its effect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command("eval")
def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A task folder, or a folder of such.")],
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", metavar="MODEL", help="provider:name or a role; repeatable.")
    ] = None,
    base_url: Annotated[
        str, typer.Option("--base-url", metavar="URL", help="The model server, as with the other commands.")
    ] = "",
    agent: Annotated[str, typer.Option(metavar="NAME", help="The agent that works.")] = "general",
    parallel: Annotated[int, typer.Option(min=1, max=64, metavar="N", help="Tasks at the same time.")] = 1,
    runs: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="How often each task is run.")] = 1,
    need: Annotated[float, typer.Option(min=0, max=1, metavar="SHARE", help="Share that must pass for exit 0.")] = 1.0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write report.json, report.md and each run there."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The JSON report on stdout instead of Markdown.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line for each task on stderr.")] = False,
) -> int:
    """Measure models on folders of tasks, each checked by its effect.

    A task folder holds task.toml (prompt; check: a command that must end with 0; answer: a pattern that the answer must
    match; timeout: seconds) and workspace/, of which each run gets a copy of its own. Ends with 0 when enough pass.
    With -o every run is kept as runs/TASK.jsonl: `aicli replay FILE` shows what the model did.
    """
    from aicli.commands._eval import Wanted, evaluate_folder

    wanted = Wanted(tuple(model or ()), agent, parallel, runs, need, base_url)
    return evaluate_folder(folder, wanted, output=output, as_json=as_json, quiet=quiet)
