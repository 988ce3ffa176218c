"""Sessions: list, show, search, export, fork, delete, prune."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from aicli.sessions.store import SessionStore, Summary
    from aicli.ui.console import Console

app = typer.Typer(
    help="Sessions: list, show, search, export, fork, delete, prune. Ids may be shortened.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
)
Id = Annotated[str, typer.Argument(metavar="ID", help="The session, or the first letters of its id.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def _store() -> SessionStore:
    from aicli import paths
    from aicli.sessions.store import SessionStore

    return SessionStore(paths.state_folder() / "sessions")


def _console() -> Console:
    from aicli.ui.console import Console

    return Console()


@app.callback()
def sessions(ctx: typer.Context) -> int | None:
    """Sessions: list, show, search, export, fork, delete, prune. Ids may be shortened."""
    return list_sessions() if ctx.invoked_subcommand is None else None


@app.command("list")
def list_sessions(
    here: Annotated[bool, typer.Option("--here", help="Only those of this folder.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 30,
    every: Annotated[bool, typer.Option("--all", "-a", help="All of them.")] = False,
    as_json: AsJson = False,
) -> int:
    """The kept sessions, last used first."""
    store = _store()
    most = None if every else limit
    found = store.list(None if here else most)
    total = len(store.ids())
    if here:
        found = [one for one in found if one.cwd == str(Path.cwd())]
        total, found = len(found), found[:most]
    if as_json:
        _dump([vars_of(one) for one in found])
    elif not found:
        _console().remark("There are no sessions yet.")
    else:
        columns = _columns()
        _console().out_text("\n".join(_line(one, columns) for one in found))
        if most is not None and len(found) == most < total:
            _console().remark(f"{len(found)} of {total} sessions; all of them: --all")
    return 0


@app.command()
def show(session_id: Id) -> int:
    """The conversation of a session, as Markdown."""
    from aicli.sessions.export import as_markdown
    from aicli.ui.translate import said

    store = _store()
    restored = store.load(session_id)
    summary = store.summary(restored.id)
    assert summary is not None
    _console().out_text(as_markdown(restored, summary, said))
    if restored.skipped:
        _console().remark(f"{restored.skipped} unreadable lines were skipped")
    return 0


@app.command()
def search(words: Annotated[list[str], typer.Argument(metavar="TEXT…")], as_json: AsJson = False) -> int:
    """The sessions in which somebody said this text."""
    found = list(_store().search(" ".join(words)))
    if as_json:
        _dump([{**vars_of(one), "said": said} for one, said in found])
    elif not found:
        _console().remark("No session says that.")
    else:
        columns = _columns()
        _console().out_text("\n".join(f"{_line(one, columns)}\n         … {said} …" for one, said in found))
    return 0


@app.command()
def export(
    session_id: Id,
    format: Annotated[
        str, typer.Option("--format", "-f", metavar="md|html|json", help="Else as FILE's name ends, or md.")
    ] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Else to stdout.")] = None,
) -> int:
    """Write a session down as Markdown, HTML or JSON."""
    from aicli.clean import escape_json
    from aicli.commands._answer_file import AnswerFile
    from aicli.errors import UsageError
    from aicli.sessions import export as documents
    from aicli.ui.console import is_terminal
    from aicli.ui.translate import said

    ending = output.suffix.lower().lstrip(".") if output is not None else ""
    format = format or {"htm": "html", "html": "html", "json": "json"}.get(ending, "md")
    if format not in ("md", "html", "json"):
        raise UsageError(f"--format {format!r}: it is md, html or json")
    store = _store()
    restored = store.load(session_id)
    summary = store.summary(restored.id)
    assert summary is not None
    if format == "json":
        text = escape_json(documents.as_json(restored))
    else:
        text = (documents.as_markdown if format == "md" else documents.as_html)(restored, summary, said)
    if output is None:
        console = _console()
        if format != "json" and is_terminal(console.stdout):
            console.out_text(text)
        else:
            console.out_exact(text)
        return 0
    file = AnswerFile(output)
    try:
        file.write(text)
    finally:
        file.close()
    return 0


@app.command()
def fork(session_id: Id) -> int:
    """Copy a session; prints the copy's id."""
    from aicli.errors import InputError

    try:
        _console().out_text(_store().fork(session_id))
    except OSError as e:
        raise InputError(f"the session can't be copied: {e.strerror or e}") from e
    return 0


@app.command()
def delete(session_ids: Annotated[list[str], typer.Argument(metavar="ID…")]) -> int:
    """Delete sessions for good."""
    from aicli.errors import InputError

    store = _store()
    for name in [store.find(text) for text in session_ids]:
        try:
            store.delete(name)
        except OSError as e:
            raise InputError(f"session {name} can't be deleted: {e.strerror or e}") from e
        _console().remark(f"deleted {name}")
    return 0


@app.command()
def prune(
    days: Annotated[float | None, typer.Option(min=0, help="Older than this; unset: sessions.keep_days.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Without the question.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list them.")] = False,
) -> int:
    """Delete the sessions that were not used for a long time."""
    from aicli.errors import InputError
    from aicli.settings_load import load

    if days is None:
        days = load(cwd=Path.cwd()).settings.sessions.keep_days
    try:
        store = _store()
        old = store.unused(days)
        if dry_run:
            columns = _columns()
            shown = [_line(one, columns) for one in map(store.summary, old) if one is not None]
            if shown:
                _console().out_text("\n".join(shown))
            _console().remark(f"{len(old)} session{'' if len(old) == 1 else 's'} would be deleted")
            return 0
        if old and not yes and not _agreed(len(old), days):
            return 1
        gone = tuple(map(store.delete, old))
    except OSError as e:
        raise InputError(f"sessions can't be deleted: {e.strerror or e}") from e
    _console().remark(f"deleted {len(gone)} session{'' if len(gone) == 1 else 's'}")
    return 0


def _agreed(many: int, days: float) -> bool:
    """Asks on the terminal; anything but a yes is a no. Raises UsageError where nobody can be asked."""
    import sys

    from aicli.errors import UsageError
    from aicli.ui.console import is_terminal
    from aicli.ui.translate import said

    s = "" if many == 1 else "s"
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        why = f"{many} session{s} would be deleted, and nobody can be asked here"
        raise UsageError(why, hint="Say --yes, or --dry-run")
    return typer.confirm(said(f"Delete {many} session{s} not used for {days:g} days?"), default=False, err=True)


def vars_of(one: Summary) -> dict[str, object]:
    """Its fields, the times in one form."""
    from dataclasses import asdict
    from datetime import UTC, datetime

    used = datetime.fromtimestamp(one.used, UTC).isoformat(timespec="milliseconds")
    return {**asdict(one), "used": used}


def _columns() -> int | None:
    """The width of the terminal; None where the output goes elsewhere, and nothing need be cut to fit."""
    import os
    import sys

    from aicli.ui.console import is_terminal

    if not is_terminal(sys.stdout):
        return None
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None


def _line(one: Summary, columns: int | None = None) -> str:
    import time

    from aicli.ui.amounts import ago
    from aicli.ui.cells import cut_middle, cut_text, pad_left, pad_right
    from aicli.ui.language import spoken
    from aicli.ui.words import Words

    words = Words(spoken())
    age = time.time() - one.used
    key, n = ago(age)
    used = words(key, n=n) if age < 86_400 else time.strftime("%Y-%m-%d", time.localtime(one.used))
    task = " ".join(one.task.split())
    turns = words("chat.turns", n=one.turns)
    head = f"{one.id[:8]}  {pad_left(used, 10)}  {pad_left(turns, 8)}  "
    room = 62 + len(one.cwd) if columns is None else columns - 33
    wide = 60 if columns is None else min(60, max(room - 32, room * 3 // 5) - 2)
    if columns is not None and room < 40:
        return head + cut_text(task, max(room, 8))
    folder = one.cwd if columns is None else cut_middle(one.cwd, room - wide - 2)
    return f"{head}{pad_right(cut_text(task, wide), wide)}  {folder}"


def _dump(value: object) -> None:
    from aicli.clean import json_text

    _console().out_exact(json_text(value))
