"""Slash commands of a conversation: one table, each an async function of the conversation and its arguments."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from aicli import paths
from aicli.errors import AicliError, UsageError
from aicli.workspace.faults import WorkspaceError

if TYPE_CHECKING:
    from aicli.commands._chat_types import Chat
    from aicli.runtime import Session
    from aicli.ui.words import Words

Run = Callable[["Chat", str], Awaitable[None]]


@dataclass(frozen=True)
class Slash:
    """`module` holds the function of the command's name; its help is the word slash.NAME."""

    name: str
    module: str
    aliases: tuple[str, ...] = ()

    @property
    def run(self) -> Run:
        function: Run = getattr(import_module(f"aicli.commands._slash.{self.module}"), self.name)
        return function


TABLE = (
    Slash("help", "talk", ("h", "?")),
    Slash("clear", "talk", ("cls", "new")),
    Slash("quit", "talk", ("exit", "q")),
    Slash("model", "models"),
    Slash("role", "models"),
    Slash("mode", "models"),
    Slash("permissions", "models"),
    Slash("agents", "models", ("agent",)),
    Slash("history", "talk"),
    Slash("stats", "talk", ("cost",)),
    Slash("compact", "talk", ("compress",)),
    Slash("context", "talk"),
    Slash("copy", "talk"),
    Slash("tools", "models"),
    Slash("memory", "files"),
    Slash("undo", "files"),
    Slash("diff", "files"),
    Slash("rewind", "files"),
    Slash("sessions", "sessions"),
    Slash("resume", "sessions"),
    Slash("fork", "sessions"),
    Slash("rename", "sessions"),
    Slash("export", "sessions"),
    Slash("plan", "planning"),
    Slash("config", "sessions"),
    Slash("doctor", "sessions"),
)
_BY_NAME = {name: slash for slash in TABLE for name in (slash.name, *slash.aliases)}


def parse(text: str) -> tuple[str, str] | None:
    """(name, arguments) of a command line; None for a message: also where the first word is a path."""
    line = text.strip()
    word, _, rest = line.partition(" ") if "\n" not in line.split(" ", 1)[0] else line.partition("\n")
    if line in ("exit", "quit"):
        return "quit", ""
    if not line.startswith("/") or len(word) < 2 or "/" in word[1:] or Path(word).exists():
        return None
    return word[1:].lower(), rest.strip()


def custom(session: Session | None) -> dict[str, Path]:
    """Commands as Markdown files: the person's own, and the project's when the folder is trusted."""
    from aicli import runtime

    folders = [paths.config_folder() / "commands"]
    if session is not None and runtime.trusted(session.workspace.root, session.options.trust):
        folders.append(paths.project_folder(session.workspace.root) / "commands")
    return {f.stem.lower(): f for folder in folders if folder.is_dir() for f in sorted(folder.glob("*.md"))}


def names(words: Words, session: Session | None) -> list[tuple[str, str]]:
    """(name, help) for completion, the person's own commands last."""
    own = [(slash.name, words(f"slash.{slash.name}")) for slash in TABLE]
    if session is None:
        return own
    return [*own, *((name, described(file)) for name, file in custom(session).items() if name not in _BY_NAME)]


def described(file: Path) -> str:
    """The description in the front matter, else the first line."""
    try:
        text = file.read_text("utf-8", "replace")
    except OSError:
        return ""
    found = re.search(r"^description\s*[=:]\s*\"?(.*?)\"?\s*$", text[:2000], re.MULTILINE)
    body = _body(text)
    return (found[1] if found else body.strip().split("\n")[0])[:80]


def _body(text: str) -> str:
    for fence in ("+++", "---"):
        if text.startswith(fence):
            return text.split(f"\n{fence}", 1)[-1].partition("\n")[2]
    return text


def filled(text: str, arguments: str) -> str:
    """The command's text with $ARGUMENTS and $1 … $9 put in; arguments that it has no place for stand at the end."""
    body = _body(text).strip()
    parts = arguments.split()
    had = "$ARGUMENTS" in body or re.search(r"\$[1-9]", body)
    body = re.sub(r"\$([1-9])", lambda m: parts[int(m[1]) - 1] if int(m[1]) <= len(parts) else "", body)
    body = body.replace("$ARGUMENTS", arguments)
    return body if had or not arguments else f"{body}\n\n{arguments}"


def unknown(words: Words, name: str, own: Iterable[str]) -> UsageError:
    """The error for a command that is not there; it names the nearest one."""
    near = difflib.get_close_matches(name, [*_BY_NAME, *own], 1, 0.5)
    hint = words("chat.near", name="/" + near[0]) if near else words("chat.see_help")
    return UsageError(words("chat.unknown", name=name), hint=hint)


async def run(chat: Chat, name: str, arguments: str) -> None:
    """Carries out one command; its errors are lines, never the end of the conversation."""
    slash = _BY_NAME.get(name)
    try:
        if slash is not None:
            await slash.run(chat, arguments)
            return
        own = custom(chat.session)
        if name in own:
            text = own[name].read_text("utf-8", "replace")
            await chat.turn(filled(text, arguments), shown="")
            return
        raise unknown(chat.words, name, own)
    except AicliError as error:
        chat.screen.error(str(error), error.hint)
    except (OSError, WorkspaceError) as error:
        chat.screen.error(str(error))
