"""Plans: made by the plan agent, saved in the project, approved, changed or refused, then carried out by code."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from aicli import paths
from aicli.commands._options import RunFlags
from aicli.errors import InputError, UsageError
from aicli.ui.console import Console
from aicli.ui.terminal import interactive

if TYPE_CHECKING:
    from aicli.commands._chat_types import Chat

VERBS = ("enter", "list", "show", "exit")
CARRY_OUT = "Carry out this plan, step by step. Keep a task list of its steps and tick each when it is done.\n\n{plan}"


def folder(root: Path) -> Path:
    return paths.project_folder(root) / "plans"


def saved(root: Path) -> list[Path]:
    """Newest first."""
    place = folder(root)
    return sorted(place.glob("*.md"), key=lambda f: f.name, reverse=True) if place.is_dir() else []


def title_of(text: str) -> str:
    found = re.search(r"^#\s*(?:Plan:\s*)?(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else " ".join(text.split()[:8])


def save(root: Path, text: str) -> Path:
    """A new file named by time and title. Raises InputError."""
    name = re.sub(r"[^\w]+", "-", title_of(text).lower(), flags=re.UNICODE).strip("-")[:40] or "plan"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    files = (folder(root) / f"{stamp}-{name}{more}.md" for more in ("", *(f"-{n}" for n in range(2, 100))))
    file = next(f for f in files if not f.exists())
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as out:
            out.write(text.rstrip() + "\n")
    except OSError as e:
        raise InputError(f"the plan can't be saved as {file}: {e.strerror or e}") from e
    return file


def find(root: Path, name: str) -> Path:
    """The plan whose file name holds `name`, the newest without one. Raises UsageError."""
    found = [f for f in saved(root) if name in f.stem]
    if not found:
        raise UsageError(
            f"there is no plan {name!r}" if name else "there is no plan here yet", hint="See: aicli plan list"
        )
    return found[0]


def _meant(root: Path, words: list[str]) -> tuple[str, list[str]]:
    """A verb and its words; all of it is a task where the words do not fit the verb: `plan list all endpoints`."""
    if not words or words[0] not in VERBS:
        return "enter", words
    verb, rest = words[0], words[1:]
    fits = {"enter": True, "list": not rest}.get(
        verb, len(rest) < 2 or any(" ".join(rest) in f.stem for f in saved(root))
    )
    return (verb, rest) if fits else ("enter", words)


def plan_command(words: list[str], flags: RunFlags) -> int:
    """The command's body; returns the exit code. Raises AicliError."""
    root = (flags.cwd or Path.cwd()).resolve()
    verb, rest = _meant(root, words)
    console = Console()
    if verb == "list":
        rows = [f"{f.stem}  {title_of(f.read_text('utf-8', 'replace'))}" for f in saved(root)]
        console.out_text("\n".join(rows)) if rows else console.remark("There are no plans here yet.")
        return 0
    if verb == "show":
        console.out_text(find(root, " ".join(rest)).read_text("utf-8", "replace"))
        return 0
    if verb == "exit":
        return _carry_out(find(root, " ".join(rest)).read_text("utf-8", "replace"), flags)
    if not rest:
        raise UsageError("there is no task to plan", hint='For example: aicli plan "add a --json flag"')
    if interactive():
        from aicli.commands._open import open_chat

        return open_chat(flags, agent="general", first="/plan " + " ".join(rest))
    return _print_plan(rest, flags)


def _print_plan(words: list[str], flags: RunFlags) -> int:
    """Nobody can approve: the plan is made and printed."""
    from aicli.commands._run import Job, perform

    return perform(Job("plan", words, flags))


def _carry_out(plan: str, flags: RunFlags) -> int:
    if interactive():
        from aicli.commands._open import open_chat

        return open_chat(flags, agent="code", first=CARRY_OUT.format(plan=plan))
    from aicli.commands._run import Job, perform

    return perform(Job("code", [CARRY_OUT.format(plan=plan)], flags))


async def plan_in_chat(chat: Chat, task: str) -> None:
    """Makes a plan with the plan agent; approved, saved and carried out by `code`; changed or refused with a reason."""
    from aicli import runtime
    from aicli.ui.external import edit_text
    from aicli.ui.prompts import asked

    words, session, talker, switch = chat.words, chat.session, chat.agent, chat.switch
    try:
        chat.switch = False  # each agent has a role of its own
        session.agent = await runtime.agent_named(session, "plan")
        chat.show_model()
        finished = await chat.turn(task, shown="")
        while finished is not None and finished.status == "completed" and finished.text.strip():
            plan = finished.text
            choices = [
                (k, words(f"plan.{name}")) for k, name in (("y", "yes"), ("e", "edit"), ("s", "save"), ("n", "no"))
            ]
            letter = await chat.host.pick([asked(words("plan.ask"))], choices)
            if letter == "e":
                edited = edit_text(chat.screen.stage, plan) or plan
                if edited != plan:
                    plan = edited
                    chat.screen.say(plan)
                letter = await chat.host.pick([asked(words("plan.ask"))], choices[:1] + choices[2:])
            if letter == "n":
                reason = await chat.screen.read_answer(words("plan.why"))
                if reason:
                    finished = await chat.turn(reason)
                    continue
                chat.screen.dim(words("plan.dropped"))
            elif letter in ("y", "s"):
                file = save(session.workspace.root, plan)
                chat.screen.dim(words("plan.saved", file=file.relative_to(session.workspace.root)))
                if letter == "y":
                    session.agent = await runtime.agent_named(session, "code")
                    chat.show_model()
                    await chat.turn(CARRY_OUT.format(plan=plan), shown=words("plan.go", title=title_of(plan)))
            return
    finally:
        talker.history = session.agent.history
        session.agent, chat.switch = talker, switch
        chat.show_model()
