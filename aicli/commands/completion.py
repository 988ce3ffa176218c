"""Print the completion script of a shell."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def completion(shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish|powershell")] = "bash") -> int:
    """Print the completion script of a shell, for example: eval "$(aicli completion bash)"."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    from aicli.errors import UsageError
    from aicli.ui.console import Console

    if shell not in ("bash", "zsh", "fish", "powershell"):
        raise UsageError(f"no completion for {shell!r}: bash, zsh, fish or powershell")
    Console().out_text(get_completion_script(prog_name="aicli", complete_var="_AICLI_COMPLETE", shell=shell))
    return 0
