"""Runs task folders over models: a scratch copy each, the real agent in it, and a check of what came out."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

from aicli import runtime
from aicli.commands._eval_report import Outcome, markdown, report
from aicli.commands._listing import dumped
from aicli.content.run_result import RunResult
from aicli.content.value import Misfit, Value, field
from aicli.errors import AicliError, InputError, UsageError
from aicli.late import dataclass
from aicli.runtime import RunOptions
from aicli.safety.secrets import child_environ
from aicli.sessions.log import RunLogger
from aicli.tools.host import HeadlessHost
from aicli.tools.launch import Command
from aicli.tools.process import run
from aicli.ui.cells import pad_right
from aicli.ui.console import Console
from aicli.ui.translate import said

CHECK_SECONDS = 60.0
ANSWER = "AICLI_ANSWER"
"""The check finds the answer's text in the file that this variable names."""


class TaskFile(Value):
    """task.toml. `check` is a shell line run in the copy; `answer` a regular expression; `timeout` in seconds."""

    prompt: str = field(min_length=1)
    check: str = ""
    answer: str = ""
    timeout: float = field(default=120, gt=0)
    max_turns: int = field(default=15, ge=1)


@dataclass(frozen=True)
class Task:
    name: str
    folder: Path
    file: TaskFile


@dataclass(frozen=True)
class Wanted:
    """What to measure: `models` empty means the agent's own; `need` is the share of runs that must pass."""

    models: tuple[str, ...] = ()
    agent: str = "general"
    parallel: int = 1
    runs: int = 1
    need: float = 1.0
    base_url: str = ""


def evaluate_folder(folder: Path, wanted: Wanted, *, output: Path | None, as_json: bool, quiet: bool) -> int:
    """Runs all and prints the report. Raises UsageError for a folder without tasks, InputError for a broken task."""
    tasks = tasks_in(folder)
    if output is not None:
        _writable(output)
    console = Console(quiet=quiet)
    asyncio.run(_ready(wanted))
    outcomes = asyncio.run(measure(tasks, wanted, console.err, output / "runs" if output else None))
    found = report(outcomes)
    if output is not None:
        (output / "report.json").write_text(dumped(found), encoding="utf-8")
        (output / "report.md").write_text(markdown(outcomes), encoding="utf-8")
    console.out_exact(dumped(found)) if as_json else console.out_text(markdown(outcomes, said))
    return 0 if found["pass_rate"] >= wanted.need else 1


async def _ready(wanted: Wanted) -> None:
    """Raises why no run could begin, where that is so for every model: one line instead of one for each task."""
    errors: list[AicliError] = []
    models = wanted.models or ("",)
    with tempfile.TemporaryDirectory(prefix="aicli-eval-") as scratch:
        for model in models:
            options = RunOptions(agent=wanted.agent, cwd=Path(scratch), model=model, ephemeral=True)
            flags: dict[str, object] = {"permissions.mode": "bypass", "base_url": wanted.base_url or None}
            try:
                session = await runtime.build(runtime.load(flags, options), HeadlessHost(), options)
                try:
                    await session.agent.models()
                finally:
                    await session.close()
            except AicliError as e:
                errors.append(e)
    if len(errors) == len(models):
        raise errors[0]


def _writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InputError(f"{folder} can't be written: {e.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"{folder} can't be written")


def tasks_in(folder: Path) -> list[Task]:
    """The tasks under a folder, by name. Raises UsageError when there are none, InputError for a broken one."""
    if not folder.is_dir():
        raise UsageError(f"there is no folder {str(folder)!r}")
    files = sorted(f for f in folder.rglob("task.toml") if "workspace" not in f.relative_to(folder).parts)
    if not files:
        raise UsageError(f"{folder} holds no task.toml", hint="A task folder has task.toml and workspace/.")
    return [_task(file, folder) for file in files]


def _task(file: Path, top: Path) -> Task:
    try:
        found = TaskFile.from_data(tomllib.loads(file.read_text("utf-8")))
        re.compile(found.answer)
    except Misfit as e:
        raise InputError(f"{file}: {e}") from None
    except re.error as e:
        raise InputError(f"{file}: answer is no valid pattern: {e}") from None
    except (OSError, ValueError) as e:
        raise InputError(f"{file}: {e}") from None
    if not found.check and not found.answer:
        raise InputError(f"{file}: it has neither check nor answer, so nothing could fail")
    name = file.parent.relative_to(top).as_posix()
    return Task(name if name != "." else file.parent.resolve().name, file.parent, found)


async def measure(
    tasks: list[Task], wanted: Wanted, say: Callable[[str], None], keep: Path | None = None
) -> list[Outcome]:
    """One outcome for each task, model and run, in that order; at most `parallel` at a time. May be cancelled.

    The events of each run are written to a file in the folder `keep`.
    """
    gate = asyncio.Semaphore(wanted.parallel)
    jobs = [(t, m, n) for m in wanted.models or ("",) for t in tasks for n in range(wanted.runs)]

    async def one(task: Task, model: str, number: int) -> Outcome:
        async with gate:
            kept = keep / _file_name(task, model, number, wanted) if keep else None
            outcome = await _attempt(task, model, wanted, kept)
        mark = pad_right(said("ok" if outcome.passed else "fail"), 5)
        say(f"{mark} {task.name}  {outcome.model}  {outcome.seconds:.1f} s  {said(outcome.why)}".rstrip())
        return outcome

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(*job)) for job in jobs]
    return [task.result() for task in running]


def _file_name(task: Task, model: str, number: int, wanted: Wanted) -> str:
    """A name for the run's file that tells the task, and the model and the number where there are several."""
    parts = [task.name, model if len(wanted.models) > 1 else "", str(number + 1) if wanted.runs > 1 else ""]
    return "_".join(re.sub(r"[^\w.-]", "-", part) for part in parts if part) + ".jsonl"


async def _attempt(task: Task, model: str, wanted: Wanted, kept: Path | None) -> Outcome:
    """One run in a copy that is gone afterwards. A run that can't even begin is a failure with its reason."""
    scratch = Path(tempfile.mkdtemp(prefix="aicli-eval-"))
    try:
        copy = scratch / "workspace"
        source = task.folder / "workspace"
        await asyncio.to_thread(_copied, source, copy)
        try:
            name, result = await _run_agent(task, copy, model, wanted, kept)
        except AicliError as e:
            return Outcome(task.name, model or wanted.agent, False, f"not run: {e.line}")
        why = await _wrong(task, result, copy, scratch / "answer.txt")
        return Outcome(task.name, name, not why, why, result)
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, True)


def _copied(source: Path, copy: Path) -> None:
    if not source.is_dir():
        copy.mkdir()
        return
    shutil.copytree(source, copy, symlinks=True)
    keep = copy / ".keep"  # only there so that version control keeps an empty folder
    if keep.is_file() and not keep.stat().st_size:
        keep.unlink()


async def _run_agent(task: Task, folder: Path, model: str, wanted: Wanted, kept: Path | None) -> tuple[str, RunResult]:
    options = RunOptions(agent=wanted.agent, cwd=folder, model=model, ephemeral=True)
    flags: dict[str, object] = {
        "permissions.mode": "bypass",
        "limits.max_turns": task.file.max_turns,
        "limits.max_wall_time": task.file.timeout,
    }
    if wanted.base_url:
        flags["base_url"] = wanted.base_url
    session = await runtime.build(runtime.load(flags, options), HeadlessHost(), options)
    if kept is not None:
        kept.unlink(missing_ok=True)
    log = RunLogger(kept.parent, kept.stem, session.redact, head={"cwd": str(folder)}) if kept else None
    try:
        if log is not None:
            session.agent.sinks.append(log.emit)
        models = await session.agent.models()
        return models[0].info.id, await session.agent.run(task.file.prompt)
    finally:
        await session.close()
        if log is not None:
            log.close()


async def _wrong(task: Task, result: RunResult, folder: Path, answer: Path) -> str:
    """Why the run does not count; "" when it does. What it says of itself decides only where it did not end well."""
    if result.status != "completed":
        return f"{result.status}: {result.error.message if result.error else result.reason}"
    if task.file.answer and not re.search(task.file.answer, result.text):
        return f"the answer does not match {task.file.answer}"
    if not task.file.check:
        return ""
    answer.write_text(result.text, encoding="utf-8")
    environ = {**child_environ(os.environ), ANSWER: str(answer)}
    shell = ("cmd", "/c", task.file.check) if sys.platform == "win32" else ("/bin/sh", "-c", task.file.check)
    ended = await run(Command(shell, folder, environ), timeout=CHECK_SECONDS)
    if ended.ok:
        return ""
    last = ended.output.strip().splitlines()[-1:] or [""]
    how = f"took over {CHECK_SECONDS:g} s" if ended.timed_out else f"ended with {ended.exit_code}"
    return f"the check {how}: {last[0]}".rstrip(": ")
