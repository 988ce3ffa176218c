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
    no_args_is_help=True,
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


@app.command("list")
def list_sessions(
    here: Annotated[bool, typer.Option("--here", help="Only those of this folder.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 30,
    as_json: AsJson = False,
) -> int:
    """The kept sessions, last used first."""
    found = _store().list(None if here else limit)
    if here:
        found = [one for one in found if one.cwd == str(Path.cwd())][:limit]
    if as_json:
        _dump([vars_of(one) for one in found])
    elif not found:
        _console().remark("There are no sessions yet.")
    else:
        _console().out_text("\n".join(map(_line, found)))
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
        _console().out_text("\n".join(f"{_line(one)}\n         … {said} …" for one, said in found))
    return 0


@app.command()
def export(
    session_id: Id,
    format: Annotated[str, typer.Option("--format", "-f", metavar="md|html|json")] = "md",
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Else to stdout.")] = None,
) -> int:
    """Write a session down as Markdown, HTML or JSON."""
    from aicli.clean import escape_json
    from aicli.commands._answer_file import AnswerFile
    from aicli.errors import UsageError
    from aicli.sessions import export as documents
    from aicli.ui.console import is_terminal
    from aicli.ui.translate import said

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
) -> int:
    """Delete the sessions that were not used for a long time."""
    from aicli.errors import InputError
    from aicli.settings_load import load

    if days is None:
        days = load(cwd=Path.cwd()).settings.sessions.keep_days
    try:
        gone = _store().prune(days)
    except OSError as e:
        raise InputError(f"sessions can't be deleted: {e.strerror or e}") from e
    _console().remark(f"deleted {len(gone)} session{'' if len(gone) == 1 else 's'}")
    return 0


def vars_of(one: Summary) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(one)


def _line(one: Summary) -> str:
    import time

    from aicli.ui.amounts import ago
    from aicli.ui.cells import cut_text, pad_left, pad_right
    from aicli.ui.language import spoken
    from aicli.ui.words import Words

    words = Words(spoken())
    age = time.time() - one.used
    key, n = ago(age)
    used = words(key, n=n) if age < 86_400 else time.strftime("%Y-%m-%d", time.localtime(one.used))
    task = cut_text(" ".join(one.task.split()), 60)
    turns = words("chat.turns", n=one.turns)
    return f"{one.id[:8]}  {pad_left(used, 10)}  {pad_left(turns, 8)}  {pad_right(task, 60)}  {one.cwd}"


def _dump(value: object) -> None:
    from aicli.clean import json_text

    _console().out_exact(json_text(value))
