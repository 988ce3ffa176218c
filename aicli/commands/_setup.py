"""Gets a conversation ready: settings, trust, the first choice of a model, the session."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from aicli import settings_file, settings_load
from aicli.clean import sanitise
from aicli.commands._slash.sessions import run_command
from aicli.errors import ConfigError, UsageError
from aicli.late import dataclass
from aicli.ui.cells import Line, pad_right, sides, width, wrap
from aicli.ui.listing import listed
from aicli.ui.prompts import asked
from aicli.ui.theme import BOLD, DIM

if TYPE_CHECKING:
    from aicli.commands._chat_types import Chat
    from aicli.runtime import RunOptions, Session
    from aicli.settings_load import Loaded
    from aicli.ui.words import Words


async def prepare(chat: Chat) -> Session:
    """The session. Asks what must be asked; what is typed meanwhile stays in the line. Raises AicliError."""
    await asyncio.to_thread(_import_runtime)
    from aicli import runtime

    options: RunOptions = chat.options()
    loaded = runtime.load(chat.settings(), options)
    chat.words.use(loaded.settings.ui.language)
    chat.screen.stage.bell = loaded.settings.ui.bell
    if not options.bare and not options.trust and await ask_trust(chat, options):
        loaded = runtime.load(chat.settings(), options)
    if needs_choice(chat, loaded):
        await first_run(chat, loaded)
        loaded = runtime.load(chat.settings(), options)
    return await runtime.build(loaded, chat.host, options)


def _import_runtime() -> None:
    """The heavy part of the start, in a thread, so that keys are taken meanwhile."""
    import aicli.runtime  # noqa: F401


async def ask_trust(chat: Chat, options: RunOptions) -> bool:
    """Only if the folder brings something that acts, each named; nothing is preselected. True when it was given."""
    from aicli.safety import trust

    if trust.trusted(options.cwd):
        return False
    changes = await asyncio.to_thread(trust.changes, options.cwd)
    if not changes:
        return False
    words = chat.words
    head: list[Line] = [asked(words("trust.changed" if trust.known(options.cwd) else "trust.head"))]
    rows = [(sanitise(c.item.path), words.said(sanitise(c.item.summary, keep_newlines=False))) for c in changes[:6]]
    head += listed(rows, chat.screen.stage.screen.width)
    if len(changes) > 6:
        head.append((("  " + words("fold.more", n=len(changes) - 6), DIM),))
    letter = await chat.host.pick(head, [("y", words("trust.yes")), ("n", words("trust.no"))])
    if letter == "y":
        trust.grant(options.cwd)
        chat.screen.dim(words("trust.used"))
        return True
    chat.screen.dim(words("trust.unused"))
    return False


@dataclass(frozen=True)
class Found:
    """A way to a model: what to show and what to save. `save` None: the person must say more."""

    name: str
    model: str
    note: str
    cost: str
    save: dict[str, Any] | None
    act: Callable[[], Awaitable[None]] | None = None
    short: str = ""


def needs_choice(chat: Chat, loaded: Loaded) -> bool:
    """Nothing says which model: no flag, no setting, no choice made before."""
    s = loaded.settings
    chosen = chat.flags.model not in ("", "fast", "thinking") or s.provider or s.base_url or s.models.fast
    return not (chosen or s.api_key or s.use_local_generator or chat.flags.resume or chat.flags.continue_)


async def first_run(chat: Chat, loaded: Loaded) -> None:
    """One key and you are in. Nothing is sent to a paid or remote service. Raises ConfigError when nothing was chosen."""
    words, screen = chat.words, chat.screen
    found = await look(chat, loaded)
    screen.stage.print(offered(words, found, screen.stage.screen.width))
    while True:
        text = await screen.read(allow_empty=True)
        number = int(text) if text.strip().isdigit() else 1
        if not 1 <= number <= len(found):
            continue
        if text.strip() and not text.strip().isdigit():
            if chat.first:
                screen.to_draft([text])  # the task that led here comes first
            else:
                chat.first = text
        way = found[number - 1]
        if way.save is None:
            screen.dim(words("first.type"))
            name = (await screen.read()).strip()
            way = Found(name, name, "", "", {"models.fast": name})
        if way.act is not None:
            await way.act()
        if way.save:
            save(way.save)
            screen.dim(words("first.saved", file=_home(str(settings_load.user_file()))))
        return


def offered(words: Words, found: Sequence[Found], columns: int) -> list[Line]:
    """The ways as lines: number, name, model, note, and at the right the cost; the note goes first where it is narrow."""
    lines: list[Line] = [(), ((words("first.head"), BOLD),)]
    named = [w for w in found if w.model] or found
    names, models = max(width(w.name) for w in named), max(width(w.model) for w in named)
    for n, way in enumerate(found, 1):
        right: Line = ((way.cost, DIM),) if way.cost else ()
        left: Line = ((f"  {n} ", BOLD), (f"{way.short or way.name} {way.model}", ""))
        if columns >= 60:
            text = f"{pad_right(way.name, names)}  {pad_right(way.model, min(models, 24))}  "
            left = ((f"  {n}  ", BOLD), (text, ""), (way.note, DIM))
        lines.append(sides(left, right, columns))
    enter: Line = ((words("first.enter", name=found[0].name), DIM),)
    return [*lines, *wrap(enter, columns, first=(("  ", ""),), rest=(("  ", ""),))]


async def look(chat: Chat, loaded: Loaded) -> list[Found]:
    """What is there: a running Ollama's models, keys in the environment (not tried), the built-in model."""
    from aicli.models import registry
    from aicli.models.orchestrator import MultiModelOrchestrator
    from aicli.models.places import base_url, listens

    words, found = chat.words, []
    ollama = registry.provider("ollama")
    if ollama is not None and await listens(base_url(ollama, os.environ)):
        orchestrator = MultiModelOrchestrator(loaded.settings, lambda provider, url: None)
        try:
            model = await orchestrator.resolve("fast")
            if model.info.provider == "ollama":
                window = f"{model.info.window // 1000}k" if model.info.window else "?"
                note = words("first.tools") if model.info.tools == "native" else words("first.text_tools")
                found.append(
                    Found(
                        words("first.ollama"),
                        model.info.name,
                        f"{note} {window}",
                        words("first.free"),
                        {"models.fast": model.info.id},
                        short="Ollama",
                    )
                )
        finally:
            await orchestrator.close()
    for name in ("anthropic", "openai", "deepseek", "gemini"):
        provider = registry.provider(name)
        key = next((k for k in provider.key_names if os.environ.get(k)), "") if provider else ""
        if provider is not None and key and not loaded.settings.offline:
            found.append(
                Found(
                    key, provider.roles.get("fast", ""), words("first.remote"), words("first.paid"), {"provider": name}
                )
            )
    found.append(await _built_in(chat))
    found.append(Found(words("first.other"), "", "", "", None))
    return found


async def _built_in(chat: Chat) -> Found:
    from aicli import paths
    from aicli.models.providers.embedded import absent

    words = chat.words
    why = absent(paths.cache_folder())
    note = words("first.slow") if not why else words("first.fetch")

    async def fetch() -> None:
        if why and await run_command(chat, ["models", "pull", "embedded"]):
            raise ConfigError(why)

    return Found(words("first.built_in"), "1.5B", note, words("first.free"), {"provider": "embedded"}, fetch)


def save(values: dict[str, Any]) -> None:
    """Into the person's own settings. Raises ConfigError."""
    file = settings_load.user_file()
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        text = ""
    except OSError as e:
        raise UsageError(f"{file} can't be read: {e.strerror}") from e
    for key, value in values.items():
        text = settings_file.with_value(text, key, value)
    settings_file.write(file, text)


def _home(path: str) -> str:
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path
