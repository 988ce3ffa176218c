"""The menu's screen: folders to choose from, letters that act when they stand alone, a line to ask straight away."""

from __future__ import annotations

import asyncio
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from aicli import __version__, paths
from aicli.clean import sanitise
from aicli.late import dataclass
from aicli.ui import amounts
from aicli.ui.cells import Line, cut, cut_middle, cut_text, pad_right, sides, width
from aicli.ui.chat_screen import Calls, ChatScreen
from aicli.ui.interrupts import Interrupts
from aicli.ui.keys import Key
from aicli.ui.listing import listed
from aicli.ui.lone import LoneKey
from aicli.ui.theme import BOLD, CYAN, DIM
from aicli.ui.words import Words

MOST_FOLDERS = 6
LETTERS = "aplrsq?"


@dataclass(frozen=True)
class Choice:
    """`what` is chat, agent, prompt, plan or settings; the rest says where and with which words."""

    what: str
    folder: Path
    text: str = ""
    agent: str = ""
    session: str = ""


@dataclass(frozen=True)
class Folder:
    path: Path
    state: str = ""
    last: str = ""
    when: str = ""


async def choose(here: Path) -> Choice | None:
    """What the person wants, None for leaving."""
    menu = _Menu(here)
    with Interrupts(menu.leave, menu.screen.stage.restore):
        try:
            menu.screen.stage.open()
            return await menu.run()
        finally:
            menu.screen.stage.close()


class _Menu:
    def __init__(self, here: Path) -> None:
        self.words = Words()
        self.screen = ChatScreen(self.words, history=paths.state_folder() / "history.jsonl")
        self.screen.calls = Calls(submit=self._submit, quit=lambda: self.leave(0))
        self.screen.state.ready = True
        self.folders = [Folder(here)]
        self.at = 0
        self.model = ""
        self._help = False
        self._asking = ""
        self._lone = LoneKey(-1.0)
        self._timer: asyncio.TimerHandle | None = None
        self._chosen: asyncio.Future[Choice | None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        stage = self.screen.stage
        self._line_key = stage.on_key
        stage.on_key = self._key
        stage.bottom = self._lines

    async def run(self) -> Choice | None:
        looking = asyncio.create_task(self._look())
        try:
            return await self._chosen
        finally:
            looking.cancel()
            if self._task is not None:
                self._task.cancel()

    def leave(self, code: int) -> None:
        if not self._chosen.done():
            self._chosen.set_result(None)

    def _take(self, choice: Choice) -> None:
        if not self._chosen.done():
            self._chosen.set_result(choice)

    # -- what is there

    async def _look(self) -> None:
        found, self.model = await asyncio.to_thread(_recent, self.folders[0].path, self.words)
        self.folders = found
        self.screen.stage.frames.changed(at_once=True)

    # -- keys

    def _key(self, key: Key) -> None:
        now = self.screen.stage.now
        if self._asking:
            if key.name in ("esc", "ctrl-c") and self._task is not None:
                self._task.cancel()
            else:
                self._line_key(key)
            return
        held = ""
        if key.name == "char" and self.screen.editor.empty:
            digits = "".join(str(n) for n in range(1, len(self.folders) + 2))
            held = self._lone.press(key.text, LETTERS + digits, now)
            if self._lone.candidate:
                self._watch()
                return
            self._line_key(Key("char", held))
            return
        held = self._lone.other(now)
        if held:
            self._line_key(Key("char", held))
        if key.name in ("esc", "ctrl-c") and self.screen.editor.empty:
            self.leave(0)
        elif key.name in ("up", "down", "tab") and self.screen.editor.empty:
            self.at = (self.at + (-1 if key.name == "up" else 1)) % len(self.folders)
        elif key.name == "enter" and self.screen.editor.empty:
            self._take(Choice("chat", self.folders[self.at].path))
        else:
            self._line_key(key)

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        deadline = self._lone.deadline
        if deadline is not None:
            self._timer = asyncio.get_running_loop().call_at(deadline + 0.001, self._due)

    def _due(self) -> None:
        letter = self._lone.due(self.screen.stage.now)
        if letter.isdigit() and int(letter) <= len(self.folders):
            self.at = int(letter) - 1
        elif letter.isdigit():
            self._ask(self._other_folder())
        elif letter == "q":
            self.leave(0)
        elif letter == "s":
            self._take(Choice("settings", self.folders[self.at].path))
        elif letter == "?":
            self._help = not self._help
        elif letter:
            self._ask(getattr(self, {"a": "_agent", "p": "_prompt", "l": "_plan", "r": "_resume"}[letter])())
        self.screen.stage.frames.changed(at_once=True)

    def _ask(self, work: object) -> None:
        self._task = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._task.add_done_callback(self._asked)

    def _asked(self, task: asyncio.Task[None]) -> None:
        self._task, self._asking = None, ""
        self.screen.editor.clear()
        if not task.cancelled() and (error := task.exception()) and not self._chosen.done():
            self._chosen.set_exception(error)
        self.screen.stage.frames.changed(at_once=True)

    def _submit(self, text: str) -> None:
        self._take(Choice("chat", self.folders[self.at].path, text))

    async def _read(self, question: str, *, empty: bool = False) -> str:
        self._asking = question
        self.screen.stage.frames.changed(at_once=True)
        return (await self.screen.read(allow_empty=empty)).strip()

    async def _other_folder(self) -> None:
        said = await self._read(self.words("menu.folder"))
        path = (self.folders[0].path / Path(said).expanduser()).resolve()
        if path.is_dir():
            self.folders = [_described(Folder(path), self.words), *self.folders]
            self.at = 0
        else:
            self.screen.note(self.words("menu.no_folder", path=said))

    async def _agent(self) -> None:
        from aicli.commands._listing import agents_of

        stage, said = self.screen.stage, self.words.said
        specs = await asyncio.to_thread(lambda: list(agents_of(self._here)))
        rows = [(spec.name, said(sanitise(spec.description, keep_newlines=False))) for spec in specs]
        stage.print(listed(rows, stage.screen.width))
        name = await self._read(self.words("menu.agent"), empty=True) or "general"
        self._take(Choice("agent", self._here, await self._read(self.words("menu.task")), agent=name))

    async def _prompt(self) -> None:
        self._take(Choice("prompt", self._here, await self._read(self.words("menu.question"))))

    async def _plan(self) -> None:
        self._take(Choice("plan", self._here, await self._read(self.words("menu.task"))))

    async def _resume(self) -> None:
        from aicli.sessions.store import SessionStore

        store = SessionStore(paths.state_folder() / "sessions")
        found = [s for s in await asyncio.to_thread(store.list, 200) if s.cwd == str(self._here)][:8]
        if not found:
            self.screen.note(self.words("sessions.none"))
            return
        for n, one in enumerate(found, 1):
            key, count = amounts.ago(time.time() - one.used)
            task = sanitise(one.name or " ".join(one.task.split()), keep_newlines=False)
            right: Line = ((self.words(key, n=count), DIM),)
            self.screen.stage.print([sides(((f"  {n}  ", BOLD), (task, "")), right, self.screen.stage.screen.width)])
        said = await self._read(self.words("menu.resume"), empty=True)
        at = int(said) - 1 if said.isdigit() else 0
        if 0 <= at < len(found):
            self._take(Choice("chat", self._here, session=found[at].id))

    @property
    def _here(self) -> Path:
        return self.folders[self.at].path

    # -- lines

    def _lines(self, columns: int, limit: int) -> tuple[list[Line], tuple[int, int] | None]:
        words = self.words
        parts = [f"aicli {__version__}", self.model, words("menu.ready") if self.model else ""]
        head: list[Line] = [cut(((" · ".join(p for p in parts if p), BOLD),), columns)]
        if self._asking:
            line, caret = self.screen.editor.view(columns, 3)
            where = cut_middle(_home(self._here), max(8, columns - 4))
            rows = [*head, ((f"  {where}", CYAN),), cut(((f"? {self._asking}", "1;33"),), columns)]
            return [*rows, *line], (len(rows) + caret[0], caret[1])
        room = max(1, limit - 4)
        start = max(0, min(self.at, len(self.folders) - room))
        for i, folder in enumerate(self.folders[start : start + room], start):
            style = BOLD + ";" + CYAN if i == self.at else ""
            left: Line = (
                (f"  {i + 1}  " if columns >= 60 else f"  {i + 1} ", BOLD),
                (pad_right(cut_middle(_home(folder.path), 22), 22 if columns >= 60 else 0), style),
                (("  " + folder.state) if columns >= 60 else "", DIM),
            )
            last = folder.last if columns >= 60 else folder.when
            head.append(sides(left, ((last, DIM),) if last else (), columns))
        head.append(((f"  {len(self.folders) + 1}  " if columns >= 60 else f"  {len(self.folders) + 1} ", BOLD),
                     (words("menu.other"), "")))  # fmt: skip
        keys = (
            words("menu.keys") if columns >= width(words("menu.keys")) + 2 or self._help else words("menu.keys_short")
        )
        head += _unbroken(keys, columns)
        line, caret = self.screen.editor.view(columns, 3)
        if self.screen.editor.empty and columns >= 60:
            line = [(*line[0], (words("menu.filter"), DIM)), *line[1:]]
        lines = [*head, *line][-limit:]
        return lines, (len(lines) - len(line) + caret[0], caret[1])


def _recent(here: Path, words: Words) -> tuple[list[Folder], str]:
    """This folder and those of earlier sessions, last used first; and the model that is set."""
    from aicli.errors import AicliError
    from aicli.sessions.store import SessionStore
    from aicli.settings_load import load

    found = {here: Folder(here)}
    for one in SessionStore(paths.state_folder() / "sessions").list(100):
        path = Path(one.cwd)
        if not one.cwd or not path.is_dir() or len(found) >= MOST_FOLDERS:
            continue
        known = found.get(path, Folder(path))
        if not known.last:
            key, n = amounts.ago(time.time() - one.used)
            task = cut_text(sanitise(one.name or " ".join(one.task.split()), keep_newlines=False), 24)
            when = words(key, n=n)
            found[path] = replace(known, last=words("menu.last", task=task, when=when), when=when)
    try:
        settings = load(cwd=here).settings
        model = settings.models.fast or settings.provider
        words.use(settings.ui.language)
    except AicliError:
        model = ""
    return [_described(f, words) for f in found.values()], model


def _described(folder: Folder, words: Words) -> Folder:
    """With its branch and the number of changed files, where git tells within a moment."""
    if not any((p / ".git").exists() for p in (folder.path, *folder.path.parents)):
        return replace(folder, state=words("menu.no_repository"))
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "--no-optional-locks", "status", "--porcelain", "--branch"],
            cwd=folder.path, capture_output=True, text=True, errors="replace", timeout=1, stdin=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return folder
    rows = done.stdout.splitlines()
    head = rows[0].removeprefix("## ").removeprefix("No commits yet on ").split("...")[0] if rows else ""
    branch = sanitise(head, keep_newlines=False)
    changed = len(rows) - 1
    key = "menu.changed" if changed > 0 else "menu.branch"
    return replace(folder, state=words(key, branch=branch, n=changed) if branch else "")


def _unbroken(keys: str, columns: int) -> list[Line]:
    """Wrapped between the entries only."""
    rows: list[str] = []
    for entry in keys.split("   "):
        if rows and width(rows[-1]) + 3 + width(entry) <= columns:
            rows[-1] += f"   {entry}"
        else:
            rows.append(f"  {entry}")
    return [((row, DIM),) for row in rows]


def _home(path: Path) -> str:
    try:
        return "~/" + path.relative_to(Path.home()).as_posix() if path != Path.home() else "~"
    except ValueError:
        return str(path)
