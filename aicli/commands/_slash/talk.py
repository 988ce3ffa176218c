"""Slash commands about the conversation itself."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aicli.agents.context import message_tokens, specs_tokens, tokens
from aicli.ui import amounts
from aicli.ui.cells import Line, cut_text, pad_right
from aicli.ui.theme import BOLD, DIM

if TYPE_CHECKING:
    from aicli.commands._chat_types import Chat

_COPIERS = (("wl-copy",), ("pbcopy",), ("xclip", "-selection", "clipboard"), ("xsel", "-ib"), ("clip.exe",))


def table(chat: Chat, rows: Sequence[tuple[str, ...]], head: str = "") -> None:
    """Columns, the first one bold."""
    if not rows:
        return
    wide = [max(len(r[i]) if r[i].isascii() else 2 * len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines: list[Line] = [((head, BOLD),)] if head else []
    for row in rows:
        cells = [pad_right(cell, min(w, 40)) for cell, w in zip(row, wide, strict=True)]
        lines.append((("  " + cells[0], BOLD), ("  " + "  ".join(cells[1:]).rstrip(), DIM)))
    chat.screen.stage.transcript.fitted(lines)
    chat.screen.stage.frames.changed(at_once=True)


async def help(chat: Chat, arguments: str) -> None:
    from aicli.commands import _slash

    words = chat.words
    rows = [
        ("/" + slash.name, words(f"slash.{slash.name}"), " ".join("/" + a for a in slash.aliases))
        for slash in _slash.TABLE
        if not arguments or arguments.lstrip("/").lower() in (slash.name, *slash.aliases)
    ]
    own = _slash.custom(chat.session)
    rows += [("/" + name, _slash.described(file), "") for name, file in own.items() if not arguments]
    table(chat, rows)
    if not arguments:
        chat.screen.say(words("help.keys"))


async def clear(chat: Chat, arguments: str) -> None:
    chat.agent.clear()
    chat.turns.clear()
    chat.tasks.clear()
    chat.told.clear()
    chat.screen.footer.used = chat.screen.footer.turn = 0
    chat.screen.dim(chat.words("talk.cleared"))


async def quit(chat: Chat, arguments: str) -> None:
    chat.quit()


async def history(chat: Chat, arguments: str) -> None:
    rows = []
    for n, message in enumerate(chat.agent.history, 1):
        said = message.text or ", ".join(c.name for c in message.calls) or ", ".join(r.name for r in message.responses)
        rows.append((str(n), message.role, cut_text(" ".join(said.split()), 60), f"{message_tokens(message)}"))
    table(chat, rows[-40:], chat.words("talk.messages", n=len(rows)))


async def stats(chat: Chat, arguments: str) -> None:
    result, words = chat.total.result(), chat.words
    rows = [
        (words("stats.turns"), str(len(chat.turns))),
        (words("stats.messages"), str(len(chat.agent.history))),
        (words("stats.requests"), str(result.turns)),
        (words("stats.calls"), f"{result.tool_calls} ({words('run.calls_failed', n=result.failed_calls)})"),
        (words("stats.input"), f"{result.usage.input_tokens:,}"),
        (words("stats.cached"), f"{result.usage.cache_read_input_tokens:,}"),
        (words("stats.output"), f"{result.usage.output_tokens:,}"),
        (words("stats.time"), amounts.seconds(chat.screen.footer.seconds)),
        (words("stats.api"), amounts.seconds(result.api_seconds)),
        (words("stats.cost"), amounts.money(result.cost_usd) if result.cost_usd is not None else "?"),
    ]
    table(chat, rows)


async def compact(chat: Chat, arguments: str) -> None:
    """Older turns give way to a summary; tokens before and after are shown."""
    chat.screen.working(chat.words("talk.compacting"))
    try:
        event = await chat.agent.compact()
        chat.screen.footer.used = event.after
        chat.turns.clear()
        before, after = amounts.tokens(event.before), amounts.tokens(event.after)
        chat.screen.dim(chat.words("run.compacted", before=before, after=after))
    finally:
        chat.screen.end()


async def context(chat: Chat, arguments: str) -> None:
    """What is loaded, from where, at what cost."""
    session, agent, words = chat.session, chat.agent, chat.words
    files = [(words("context.file"), f.path, f"{tokens(f.text):,}") for f in session.context]
    specs = [t.spec() for t in agent.executor.tools]
    talk = sum(message_tokens(m) for m in agent.history)
    memory = (
        session.state.memory.for_prompt(session.loaded.settings.context.memory_tokens) if session.state.memory else ""
    )
    system = tokens(agent.instructions)
    known = sum(tokens(f.text) for f in session.context) + tokens(memory)
    rows = [
        (words("context.system"), agent.name, f"{max(0, system - known):,}"),
        *files,
        (words("context.memory"), "", f"{tokens(memory):,}"),
        (words("context.tools"), str(len(specs)), f"{specs_tokens(specs):,}"),
        (words("context.talk"), str(len(agent.history)), f"{talk:,}"),
        (words("context.total"), "", f"{system + specs_tokens(specs) + talk:,} / {chat.screen.footer.window or '?'}"),
    ]
    table(chat, rows)


async def copy(chat: Chat, arguments: str) -> None:
    """The last answer, as it was written, to the clipboard."""
    answers = [m.text for m in chat.agent.history if m.role == "model" and m.text.strip()]
    if not answers:
        chat.screen.note(chat.words("talk.nothing_to_copy"))
        return
    for argv in _COPIERS:
        if shutil.which(argv[0]):
            done = await asyncio.to_thread(
                subprocess.run, argv, input=answers[-1].encode(), capture_output=True, timeout=5, check=False
            )
            if done.returncode == 0:
                chat.screen.dim(chat.words("talk.copied", n=len(answers[-1])))
                return
    chat.screen.note(chat.words("talk.no_clipboard"))
