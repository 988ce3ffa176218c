"""Slash commands about sessions and settings."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aicli import paths
from aicli.commands._slash.talk import table
from aicli.errors import UsageError
from aicli.sessions.store import SessionStore
from aicli.ui import amounts
from aicli.ui.cells import cut_text

if TYPE_CHECKING:
    from aicli.commands._chat_types import Chat


def _store() -> SessionStore:
    return SessionStore(paths.state_folder() / "sessions")


async def sessions(chat: Chat, arguments: str) -> None:
    rows = []
    for one in await asyncio.to_thread(_store().list, 200):
        if arguments != "all" and one.cwd != str(chat.session.workspace.root):
            continue
        key, n = amounts.ago(time.time() - one.used)
        said = cut_text(one.name or " ".join(one.task.split()), 60)
        here = chat.words("sessions.this") if one.id == chat.session.state.session_id else ""
        rows.append((one.id[:8], chat.words(key, n=n), said + here))
    if rows:
        table(chat, rows[:20])
    else:
        chat.screen.dim(chat.words("sessions.none"))


async def resume(chat: Chat, arguments: str) -> None:
    """/resume ID goes on with that session; without an id the last other one of this folder."""
    wanted = arguments
    if not wanted:
        here = [
            s.id
            for s in await asyncio.to_thread(_store().list, 200)
            if s.cwd == str(chat.session.workspace.root) and s.id != chat.session.state.session_id
        ]
        if not here:
            raise UsageError(chat.words("sessions.none"))
        wanted = here[0]
    await chat.reopen(resume=_store().find(wanted))


async def fork(chat: Chat, arguments: str) -> None:
    """Goes on in a copy; the session so far stays as it is."""
    if chat.session.log is None:
        raise UsageError(chat.words("sessions.unkept"))
    chat.session.log.sync()
    await chat.reopen(resume=chat.session.state.session_id, fork=True)
    chat.screen.dim(chat.words("sessions.forked", id=chat.session.state.session_id))


async def rename(chat: Chat, arguments: str) -> None:
    if not arguments:
        raise UsageError("/rename  " + chat.words("slash.rename"))
    if chat.session.log is None:
        raise UsageError(chat.words("sessions.unkept"))
    _store().rename(chat.session.state.session_id, arguments)
    chat.screen.dim(chat.words("sessions.renamed", name=arguments))


async def export(chat: Chat, arguments: str) -> None:
    """/export FILE.md, .html or .json."""
    from aicli.sessions import export as documents

    if chat.session.log is None:
        raise UsageError(chat.words("sessions.unkept"))
    chat.session.log.sync()
    store = _store()
    restored = store.load(chat.session.state.session_id)
    summary = store.summary(restored.id)
    if summary is None:
        raise UsageError(chat.words("sessions.none"))
    file = Path(arguments or f"aicli-{restored.id[:8]}.md").expanduser()
    shown = str(file)
    file = file if file.is_absolute() else chat.session.workspace.root / file
    if file.exists():
        raise UsageError(chat.words("sessions.exists", file=shown), hint=chat.words("sessions.other_name"))
    if file.suffix == ".json":
        text = documents.as_json(restored)
    else:
        text = (documents.as_html if file.suffix == ".html" else documents.as_markdown)(
            restored, summary, chat.words.said
        )
    await asyncio.to_thread(file.write_text, text, "utf-8")
    chat.screen.dim(chat.words("sessions.exported", file=shown))


async def config(chat: Chat, arguments: str) -> None:
    """The same as `aicli config …`."""
    await run_command(chat, ["config", *(arguments.split() or ["show"])])


async def doctor(chat: Chat, arguments: str) -> None:
    """The same as `aicli doctor`, which is told of this terminal: it sees only a pipe."""
    terminal = chat.screen.stage.terminal.size
    loaded = chat.session.loaded
    given = loaded.settings.base_url if loaded.origin.get("base_url") == "flags" else ""
    there = {"AICLI_BASE_URL": given, "AICLI_PROVIDER": chat.model.partition(":")[0]} if given else {}
    await run_command(chat, ["doctor", "--screen", f"{terminal[0]}x{terminal[1]}", "--model", chat.model], there)


async def run_command(chat: Chat, argv: list[str], more: Mapping[str, str] | None = None) -> int:
    """A command of the program itself, its output shown; returns its exit code. Cancelling ends it.

    `more` is added to its environment.
    """
    chat.screen.working(" ".join(itertools.takewhile(lambda word: word[0] != "-", argv)))
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "aicli", *argv,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            cwd=chat.flags.cwd, env={**os.environ, **(more or {})},
        )  # fmt: skip
        try:
            assert process.stdout is not None
            async for line in process.stdout:
                chat.screen.raw(line.decode("utf-8", "replace"))
            return await process.wait()
        except BaseException:
            process.kill()
            await process.wait()
            raise
    finally:
        chat.screen.end()
