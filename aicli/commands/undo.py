"""Take back what a run changed in files, turn by turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from aicli.workspace.history import Undone
    from aicli.workspace.journal import Group

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def undo(
    turns: Annotated[
        int | None, typer.Argument(metavar="N", min=1, help="How many turns; 1, or with --run all of them.")
    ] = None,
    run: Annotated[str, typer.Option("--run", metavar="ID", help="Of this run only; the id may be shortened.")] = "",
    show: Annotated[
        bool, typer.Option("--list", "-l", help="List the turns that changed files, newest first.")
    ] = False,
    again: Annotated[bool, typer.Option("--redo", help="Take back the last undo.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite what was changed since, too.")] = False,
) -> int:
    """Take back what a run changed in files, turn by turn.

    Changes that somebody made since are never overwritten without --force. An undo can itself be taken back by --redo.
    """
    from aicli.commands._history import open_history
    from aicli.errors import AicliError
    from aicli.ui.console import Console
    from aicli.workspace.history import NothingToUndo, UndoRefused

    console = Console()
    history, newest = open_history(run)
    chosen = newest.id if run and newest else None
    if show:
        history.reconcile()
        groups = history.groups(chosen)
        console.tell("\n".join(_line(g) for g in groups) if groups else "No run changed files here.")
        return 0
    try:
        if again:
            done = history.redo(run=chosen, force=force)
        else:
            done = history.undo(turns or (None if run else 1), run=chosen, force=force)
    except NothingToUndo as error:
        raise AicliError(str(error).rstrip("."), hint="aicli undo --list shows what was changed") from error
    except UndoRefused as error:
        why = "; ".join(f"{path}: {reason}" for path, reason in error.conflicts.items())
        raise AicliError(f"nothing was undone: {why}", hint="--force undoes what can be undone all the same") from error
    console.tell(_told(done, "redone" if again else "undone"))
    return 1 if done.left else 0


def _told(done: Undone, verb: str) -> str:
    lines = [f"{_count(done.turns, 'turn')} {verb}:"]
    lines += [f"  removed: {path}" if path in done.removed else f"  put back: {path}" for path in done.restored]
    lines += [f"  not {verb}: {path}: {why}" for path, why in done.left.items()]
    return "\n".join(lines)


def _line(group: Group) -> str:
    from aicli.ui.translate import said

    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(group.at))
    what = "undo" if group.id.startswith("undo-") else "redo" if group.id.startswith("redo-") else f"turn {group.turn}"
    mark = f"  ({said('undone')})" if group.undone else ""
    text = f"{when}  {group.run}  {said(what)}{mark}"
    for path in group.paths:
        text += f"\n    {said(_change(group, path))}"
        if any(c.unsure for c in group.changes if c.path == path):
            text += f"  ({said('not sure: a command was cut off')})"
    if group.skipped:
        more = f" and {group.skipped_more} more" if group.skipped_more else ""
        text += f"\n    not covered: {', '.join(group.skipped)}{more}"
    return text


def _change(group: Group, path: str) -> str:
    own = [c for c in group.changes if c.path == path]
    before, after = own[0].before, own[-1].after
    path += "/" if "dir" in (before.source, after.source) and (before.absent or after.absent) else ""
    if before.source in ("unknown", "lost"):
        return f"changed  {path}  (old content not kept)"
    if before.absent:
        return f"created  {path}"
    return f"deleted  {path}" if after.absent else f"changed  {path}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
