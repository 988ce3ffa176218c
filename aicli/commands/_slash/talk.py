"""Slash commands about the conversation itself."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aicli.agents.context import message_tokens, request_tokens, specs_tokens, tokens
from aicli.commands._mentions import typed
from aicli.errors import ContextTooLong
from aicli.ui import amounts
from aicli.ui.cells import cut_text, wrap
from aicli.ui.listing import listed
from aicli.ui.theme import BOLD

if TYPE_CHECKING:
    from aicli.commands._chat_types import Chat
    from aicli.commands._slash import Slash
    from aicli.content.run_result import RunResult
    from aicli.ui.words import Words

_COPIERS = (("wl-copy",), ("pbcopy",), ("xclip", "-selection", "clipboard"), ("xsel", "-ib"), ("clip.exe",))


def table(chat: Chat, rows: Sequence[tuple[str, ...]], head: str = "") -> None:
    """Columns, the first one bold."""
    stage = chat.screen.stage
    columns, blank = stage.screen.width, (("  ", ""),)
    lines = wrap(((head, BOLD),), columns, first=blank, rest=blank) if head else []
    stage.print([*lines, *listed(rows, columns)])


async def help(chat: Chat, arguments: str) -> None:
    """All commands, or one with its other names. Raises UsageError with the nearest name."""
    from aicli.commands import _slash

    words, wanted = chat.words, arguments.lstrip("/").lower()
    rows = [
        ("/" + slash.name, described(words, slash))
        for slash in _slash.TABLE
        if not wanted or wanted in (slash.name, *slash.aliases)
    ]
    own = _slash.custom(chat.session)
    rows += [("/" + name, _slash.described(file)) for name, file in own.items() if wanted in ("", name)]
    if not rows:
        raise _slash.unknown(words, wanted, own)
    table(chat, rows)
    if not wanted:
        chat.screen.say(words("help.keys"))


def described(words: Words, slash: Slash) -> str:
    """What it does, and its other names."""
    others = ", ".join("/" + alias for alias in slash.aliases)
    return words(f"slash.{slash.name}") + (words("slash.also", names=others) if others else "")


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
        names = [c.name for c in message.calls] or [r.name for r in message.responses]
        said = typed(message) or ", ".join(names)
        who = chat.words(f"history.{message.role}")
        tokens_of = chat.words("run.tokens", n=f"{message_tokens(message):,}")
        rows.append((str(n), who, tokens_of, cut_text(" ".join(said.split()), 60)))
    table(chat, rows[-40:], chat.words("talk.messages", n=len(rows)))


async def stats(chat: Chat, arguments: str) -> None:
    result, words = chat.total.result(), chat.words
    rows = [
        (words("stats.turns"), str(len(chat.turns))),
        (words("stats.messages"), str(len(chat.agent.history))),
        (words("stats.requests"), str(result.turns)),
        (words("stats.calls"), _calls(result, words)),
        (words("stats.input"), f"{result.usage.input_tokens:,}"),
        (words("stats.cached"), f"{result.usage.cache_read_input_tokens:,}"),
        (words("stats.output"), f"{result.usage.output_tokens:,}"),
        (words("stats.time"), amounts.seconds(chat.screen.footer.seconds)),
        (words("stats.api"), amounts.seconds(result.api_seconds)),
        (words("stats.cost"), amounts.money(result.cost_usd) if result.cost_usd is not None else "?"),
    ]
    table(chat, rows)


def _calls(result: RunResult, words: Words) -> str:
    failed = words("run.calls_failed", n=result.failed_calls)
    return f"{result.tool_calls}{words('plain.joint')}{failed}" if result.failed_calls else f"{result.tool_calls}"


async def compact(chat: Chat, arguments: str) -> None:
    """Older turns give way to a summary; tokens before and after are shown."""
    chat.screen.working(chat.words("talk.compacting"))
    try:
        if not chat.agent.history:
            chat.screen.dim(chat.words("talk.nothing_to_compact"))
            return
        event = await chat.agent.compact()
        chat.screen.footer.used = event.after
        chat.turns.clear()
        before, after = amounts.tokens(event.before), amounts.tokens(event.after)
        chat.screen.dim(chat.words("run.compacted", before=before, after=after))
    except ContextTooLong:
        chat.screen.dim(chat.words("talk.nothing_to_compact"))
    finally:
        chat.screen.end()


async def context(chat: Chat, arguments: str) -> None:
    """What is loaded, from where, at what cost."""
    session, agent, words = chat.session, chat.agent, chat.words
    files = [(words("context.file"), f"{tokens(f.text):,}", f.path) for f in session.context]
    specs = [t.spec() for t in agent.executor.tools]
    talk = sum(message_tokens(m) for m in agent.history)
    total = request_tokens(agent.instructions, specs, agent.history)
    memory = (
        session.state.memory.for_prompt(session.loaded.settings.context.memory_tokens) if session.state.memory else ""
    )
    system = tokens(agent.instructions)
    window = f"{chat.screen.footer.window:,}" if chat.screen.footer.window else "?"
    known = sum(tokens(f.text) for f in session.context) + tokens(memory)
    rows = [
        (words("context.system"), f"{max(0, system - known):,}", agent.name),
        *files,
        (words("context.memory"), f"{tokens(memory):,}", ""),
        (words("context.tools"), f"{specs_tokens(specs):,}", words("context.specs", n=len(specs))),
        (words("context.talk"), f"{talk:,}", words("talk.messages", n=len(agent.history))),
        (words("context.total"), f"{total:,}", words("context.of", window=window)),
    ]
    digits = max(len(number) for _, number, _ in rows)
    table(chat, [(what, number.rjust(digits), source) for what, number, source in rows])


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
