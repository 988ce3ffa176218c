"""Show a kept session again, as it happened."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from aicli.content.events import AgentEvent

app = typer.Typer(rich_markup_mode=None, add_completion=False)
LONGEST = 3.0
"""Seconds that a pause of the session takes at most when it is shown with its own times."""


@app.command()
def replay(
    session_id: Annotated[
        str, typer.Argument(metavar="ID", help="The session, the first letters of its id, or a file.")
    ],
    speed: Annotated[
        float, typer.Option(min=0, metavar="N", help="1: with its own pauses; 2: twice as fast; 0: at once.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The lines of stream-json instead.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Thinking and turns too.")] = False,
) -> int:
    """Show a kept session again, as it happened."""
    from aicli.content.events import RunFinished, RunStarted
    from aicli.content.run_result import ResultFold
    from aicli.sessions.store import when
    from aicli.ui.console import Console
    from aicli.ui.language import spoken
    from aicli.ui.plain import PlainRenderer, closing
    from aicli.ui.stream_json import StreamJson, line, result_object
    from aicli.ui.words import Words

    console, words = Console(), Words(spoken())
    plain = PlainRenderer(console.out_text, verbose=verbose, words=words)
    stream = StreamJson(lambda value: console.out_exact(line(value)))
    before = None
    started = None
    fold = ResultFold()
    for stamp, event in _events(session_id):
        now = when(stamp)
        if speed and now and before and (pause := (now - before).total_seconds()) > 0:
            time.sleep(min(pause, LONGEST) / speed)
        before = now or before
        if isinstance(event, RunStarted):
            fold, started = ResultFold(), now
            if not as_json:
                console.out_text(f"> {event.task}")
        fold.feed(event)
        (stream if as_json else plain)(event)
        if isinstance(event, RunFinished):
            result = fold.result((now - started).total_seconds() if now and started else 0.0)
            if as_json:
                console.out_exact(line(result_object(result)))
            else:
                console.out_text(closing(result, words) + (f"\n{result.text}" if result.text else ""))
    return 0


def _events(name: str) -> Iterator[tuple[str, AgentEvent]]:
    """(time, event) of a kept session, or of the file that `aicli eval -o` wrote. Raises InputError."""
    from aicli import paths
    from aicli.errors import InputError
    from aicli.sessions.log import SUFFIX
    from aicli.sessions.store import Reading, SessionStore, event_of

    if not name.endswith(SUFFIX):
        yield from SessionStore(paths.state_folder() / "sessions").events(name)
        return
    found = False
    try:
        for record in Reading(Path(name)):
            event = event_of(record) if record.event is not None else None
            if event is not None:
                found = True
                yield record.time, event
    except OSError as e:
        raise InputError(f"{name} can't be read: {e.strerror}") from None
    if not found:
        raise InputError(f"{name} holds no session")
