"""Check what a run needs: settings, keys, proxy, certificates, terminal, sandbox, model."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="MODEL", help="Probe this one: a role or provider:name.")
    ] = "fast",
    no_probe: Annotated[bool, typer.Option("--no-probe", help="Ask no model anything.")] = False,
    screen: Annotated[str, typer.Option(hidden=True)] = "",
) -> int:
    """Check what a run needs: settings, keys, proxy, certificates, terminal, sandbox, model.

    Ends with 1 when something is broken. The probe asks the model for a call and, unless it is the embedded one, gives
    it a long prompt.
    """
    import asyncio

    from aicli.clean import json_text
    from aicli.commands._checks import Check, check_all
    from aicli.ui.cells import pad_right
    from aicli.ui.console import Console
    from aicli.ui.translate import said

    console = Console()

    async def look() -> list[Check]:
        checks = []
        async for check in check_all("" if no_probe else model, screen):
            checks.append(check)
            if not as_json:
                hint = f"\n{'':19}{said(check.hint)}" if check.hint else ""
                head = f"{pad_right(said(check.status), 5)} {pad_right(said(check.name), 12)}"
                console.out_text(f"{head} {said(check.detail)}{hint}")
        return checks

    checks = asyncio.run(look())
    if as_json:
        console.out_exact(json_text([check.__dict__ for check in checks]))
    return 1 if any(check.status == "FAIL" for check in checks) else 0
