"""Carries out one task from the command line: settings, session, signals, output, exit code."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from aicli import paths, runtime
from aicli.commands._answer_file import AnswerFile
from aicli.commands._options import RunFlags, run_options, schema_of, settings_flags
from aicli.commands._output import Output
from aicli.commands._pull_offer import built
from aicli.commands._signals import Signals, Stopped
from aicli.commands._task import task_text
from aicli.content.run_result import RunResult
from aicli.errors import AicliError, InputError, UsageError
from aicli.late import dataclass
from aicli.safety import trust
from aicli.sessions.log import new_id, valid_id
from aicli.sessions.store import SessionStore
from aicli.settings import UiSettings
from aicli.tools.host import HeadlessHost, Host
from aicli.ui.console import is_terminal


@dataclass
class Job:
    """What one command asks for; `more` are further RunOptions. `progress`: calls are shown as they end."""

    agent: str
    words: Sequence[str]
    flags: RunFlags
    progress: bool = True
    more: dict[str, Any] = field(default_factory=dict)


def perform(job: Job) -> int:
    """Runs the job; returns the exit code. The result is said in every case, last."""
    flags = job.flags
    session_id = flags.session_id or new_id()
    output = Output(flags, session_id, job.agent, progress=job.progress)
    signals = Signals(say=output.last_words)
    with signals.taken():
        try:
            return _said(output, *_ended(job, session_id, output, signals))
        finally:
            output.close()


def _ended(job: Job, session_id: str, output: Output, signals: Signals) -> tuple[RunResult | None, AicliError | int]:
    """The run's result, or the error or exit code with which it ended without one. No signal raises from then on."""
    try:
        try:
            with _stdout_kept(job.flags):
                result = asyncio.run(_drive(job, session_id, output, signals))
            signals.over = True
            return result, 0
        except AicliError as e:
            signals.over = True
            return None, e
    except Stopped as e:
        signals.over = True
        return None, e.code
    except KeyboardInterrupt:
        signals.over = True
        return None, 130


def _said(output: Output, result: RunResult | None, otherwise: AicliError | int) -> int:
    if result is not None:
        return output.finish(result)
    return output.failed(otherwise) if isinstance(otherwise, AicliError) else output.cancelled(otherwise)


@contextlib.contextmanager
def _stdout_kept(flags: RunFlags) -> Iterator[None]:
    """What a tool prints goes to stderr: stdout carries the chosen format alone."""
    if not headless(flags) or sys.stdout is None or sys.stderr is None:
        yield
        return
    with contextlib.redirect_stdout(sys.stderr):
        yield


async def _drive(job: Job, session_id: str, output: Output, signals: Signals) -> RunResult:
    signals.listen()
    output.on_gone = signals.stop
    try:
        return await _run(job, session_id, output, signals)
    except asyncio.CancelledError:
        if signals.abrupt:  # the loop is coming down already, and would print another exception as unhandled
            raise
        raise Stopped(signals.code - 128 if signals.code else signal.SIGINT) from None


async def _run(job: Job, session_id: str, output: Output, signals: Signals) -> RunResult:
    flags = job.flags
    output.open_file()
    schema = schema_of(flags)
    task, warning = task_text(job.words, flags.prompt)
    if warning:
        output.console.err(output.words.said(f"warn  {warning}"))
    _check_files(flags)
    options = run_options(flags, _free_id(flags, session_id), agent=job.agent, **job.more)
    loaded = runtime.load(settings_flags(flags), options)
    output.words.use(loaded.settings.ui.language)
    if not flags.bare and not flags.trust and (said := trust.notice(options.cwd)):
        output.console.err(output.words.said(f"note  {said}"))
    with contextlib.ExitStack() as at_end:
        host = _host(flags, loaded.settings.ui, output, signals, at_end)
        session = await built(loaded, host, options)
        try:
            _adopt(session, flags, output)
            signals.cancel = session.agent.cancel
            return await session.agent.run(task, output=schema, on_event=output.event)
        finally:
            signals.over = True
            await session.close()


def _check_files(flags: RunFlags) -> None:
    """Logs that can't be written and a recording that isn't there, before anything is spent. Raises InputError."""
    for path in (flags.log_http, flags.record):
        if path is not None:
            AnswerFile(path).close()
    if flags.replay is not None and not os.path.isfile(flags.replay):
        raise InputError(f"there is no recording {flags.replay}")


def _adopt(session: runtime.Session, flags: RunFlags, output: Output) -> None:
    """What the output needs of the session, and what the person should know of it."""
    output.use(session.redact)
    log = session.log
    if log is not None:
        output.log_failed = lambda: log.failed
    if flags.continue_ and session.restored is None:
        output.console.err(output.words.said("note  there is no earlier session in this folder: this is a new one"))
    if session.restored is not None and session.restored.skipped:
        skipped = f"warn  {session.restored.skipped} unreadable lines of the session were skipped"
        output.console.err(output.words.said(skipped))


def _host(flags: RunFlags, ui: UiSettings, output: Output, signals: Signals, at_end: contextlib.ExitStack) -> Host:
    """The terminal, if there is one to show the run on and to ask at; else nobody."""
    if headless(flags) or flags.verbose or flags.no_markdown or ui.plain or not is_terminal(sys.stdout):
        return HeadlessHost() if headless(flags) else _asking(ui, output)
    from aicli.ui.live import LiveTaskListRenderer

    if not LiveTaskListRenderer.usable():
        return _asking(ui, output)
    stop = functools.partial(signals, signal.SIGINT)
    live = LiveTaskListRenderer(language=ui.language, bell=ui.bell, on_stop=stop)
    at_end.callback(live.stage.close)
    output.show_on(live.feed, live.close)
    return live.host


def _asking(ui: UiSettings, output: Output) -> Host:
    """Questions as lines on stderr, on a terminal that can't or shan't be drawn on."""
    from aicli.commands._lines import LineHost, LineReader
    from aicli.ui.words import Words

    return LineHost(LineReader(sys.stdin.fileno()), output.console, Words(ui.language))


def _free_id(flags: RunFlags, session_id: str) -> str:
    """Raises UsageError for an id that can't be a file's name or is taken."""
    if not flags.session_id:
        return session_id
    if not valid_id(session_id):
        raise UsageError(f"{session_id!r} can't be a session's id", hint="Use letters, digits, - and _, at most 64.")
    store = SessionStore(paths.state_folder() / "sessions")
    if store.path(session_id).exists():
        raise UsageError(f"there is a session {session_id} already", hint=f"Go on with it: --resume {session_id}")
    return session_id


def headless(flags: RunFlags) -> bool:
    """Nobody can be asked: stdin or stderr is no terminal, or the output is for a program."""
    return not (is_terminal(sys.stdin) and is_terminal(sys.stderr)) or flags.format != "text" or flags.quiet
