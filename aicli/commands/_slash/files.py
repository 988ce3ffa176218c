"""Slash commands about files and facts: memory, undo, diff, rewind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aicli.commands._mentions import typed
from aicli.errors import UsageError
from aicli.ui.cells import Line, cut_text
from aicli.ui.display import diff_lines
from aicli.ui.prompts import asked
from aicli.ui.theme import BOLD, DIM
from aicli.workspace.history import NothingToUndo

if TYPE_CHECKING:
    from aicli.commands._chat_types import Chat
    from aicli.workspace.checkpoints import Checkpoints


async def memory(chat: Chat, arguments: str) -> None:
    """/memory show, add TEXT, forget TEXT."""
    store, words = chat.session.state.memory, chat.words
    if store is None:
        raise UsageError(words("files.no_memory"))
    verb, _, rest = arguments.partition(" ")
    verb, rest = verb.lower(), rest.strip()
    if verb in ("add", "save") and rest:
        await asyncio.to_thread(store.save, rest, "user", "person")
        chat.screen.dim(words("files.remembered"))
    elif verb in ("forget", "remove") and rest:
        gone = await asyncio.to_thread(store.forget, rest)
        chat.screen.dim(words("files.forgotten" if gone else "files.not_found"))
    elif verb in ("", "show", "list"):
        text = store.for_prompt(100_000).strip()
        chat.screen.say(text or words("files.nothing_remembered"))
    else:
        raise UsageError("/memory  " + words("slash.memory"))


def _checkpoints(chat: Chat) -> Checkpoints:
    found = chat.session.state.checkpoints
    if found is None:
        raise UsageError(chat.words("files.no_checkpoints"))
    return found


async def undo(chat: Chat, arguments: str) -> None:
    """/undo, /undo N, /undo redo."""
    checkpoints = _checkpoints(chat)
    if arguments.lower() == "redo":
        said, done = "files.redone", await asyncio.to_thread(checkpoints.redo)
    else:
        said, done = "files.undone", await asyncio.to_thread(checkpoints.undo, _number(chat, arguments))
    chat.screen.dim(chat.words(said, n=done.turns, files=", ".join(done.restored) or "-"))
    for path, why in done.left.items():
        chat.screen.note(f"{path}: {why}")


def _number(chat: Chat, arguments: str) -> int:
    if arguments and not arguments.split()[0].isdigit():
        raise UsageError(chat.words("files.number", text=arguments))
    return max(1, int(arguments.split()[0])) if arguments else 1


async def diff(chat: Chat, arguments: str) -> None:
    """What this session changed, file by file."""
    found = [d for d in await asyncio.to_thread(_checkpoints(chat).diff) if arguments in d.path]
    if not found:
        chat.screen.dim(chat.words("files.unchanged_here" if arguments else "files.unchanged", path=arguments))
    columns = chat.screen.stage.screen.width
    for change in found:
        head: Line = ((f"  {change.path}", BOLD), (f"  +{change.diff.added} −{change.diff.removed}", DIM))
        chat.screen.stage.print([head, *diff_lines(change.diff.text, columns)])
        if change.note:
            chat.screen.note(change.note)


async def rewind(chat: Chat, arguments: str) -> None:
    """/rewind N goes back before the Nth last message, with or without the changes of files since."""
    words = chat.words
    if not chat.turns:
        raise UsageError(words("files.no_turns"))
    back = _number(chat, arguments)
    if back > len(chat.turns):
        raise UsageError(words("files.turns", n=len(chat.turns)))
    to = chat.turns[-back]
    said = typed(chat.agent.history[to]) if to < len(chat.agent.history) else ""
    head = [asked(words("files.rewind", text=cut_text(" ".join(said.split()), 50)))]
    choices = [("t", words("files.talk_only")), ("f", words("files.with_files"))]
    letter = await chat.host.pick(head, choices, wanted=True)
    if not letter:
        return
    if letter == "f":
        await _rewind_files(chat, back)
    chat.agent.rewind(to)
    del chat.turns[-back:]
    del chat.tasks[-back:]
    chat.screen.footer.turn = len(chat.turns)
    chat.screen.to_draft([said])
    chat.screen.dim(words("files.rewound"))


async def _rewind_files(chat: Chat, back: int) -> None:
    """Files changed in an earlier run of the session stay: `aicli undo` knows them."""
    task = chat.tasks[-back] if back <= len(chat.tasks) else ""
    try:
        done = await asyncio.to_thread(_checkpoints(chat).rewind, task)
    except NothingToUndo:
        chat.screen.dim(chat.words("files.unchanged"))
        return
    chat.screen.dim(chat.words("files.undone", n=done.turns, files=", ".join(done.restored) or "-"))
