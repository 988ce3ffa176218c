"""After files changed: find the project's own check, run it as an ordinary shell call, hand a failure back."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aicli.agents.loop import Executor
from aicli.content.events import AgentEvent, Outcome, ToolFinished
from aicli.content.parts import FunctionCallPart
from aicli.content.stream import new_id
from aicli.late import dataclass

LIMIT_SECONDS = 600


@dataclass(frozen=True)
class Check:
    """What a check showed: `passed` is None when it could not be run, and `note` says why; `absent`: there is none."""

    command: str
    passed: bool | None
    output: str = ""
    note: str = ""
    absent: bool = False

    @property
    def line(self) -> str:
        if self.passed is None:
            return f"not checked: {self.note}"
        return f"`{self.command}` {'passed' if self.passed else 'failed'}"


def find_check(root: Path) -> str:
    """The command by which this project checks itself, or "". Reads a few files of the root, runs nothing."""
    for find in (_make, _python, _node, _cargo, _go, _dotnet):
        command = find(root)
        if command:
            return command
    return ""


def _read(file: Path) -> str:
    try:
        return file.read_bytes()[:1_000_000].decode("utf-8", "replace")
    except OSError:
        return ""


def _make(root: Path) -> str:
    return "make test" if re.search(r"^(test|check)\s*:", _read(root / "Makefile"), re.M) else ""


def _python(root: Path) -> str:
    has_tests = any((root / "tests").rglob("test_*.py")) or any(root.glob("test_*.py")) or any(root.glob("*_test.py"))
    try:
        configured = "pytest" in tomllib.loads(_read(root / "pyproject.toml")).get("tool", {})
    except tomllib.TOMLDecodeError:
        configured = False
    configured = configured or (root / "pytest.ini").is_file() or "[tool:pytest]" in _read(root / "setup.cfg")
    if not (configured or has_tests):
        return ""
    runner = ".venv/bin/python" if (root / ".venv/bin/python").exists() else "python3"
    return f"{runner} -m pytest -q"


def _node(root: Path) -> str:
    try:
        scripts = json.loads(_read(root / "package.json") or "{}").get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return ""
    if not isinstance(scripts, dict) or "no test specified" in str(scripts.get("test", "no test specified")):
        return ""
    for lock, runner in (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun run")):
        if (root / lock).exists():
            return f"{runner} test"
    return "npm test --silent"


def _cargo(root: Path) -> str:
    return "cargo test --quiet" if (root / "Cargo.toml").is_file() else ""


def _go(root: Path) -> str:
    return "go test ./..." if (root / "go.mod").is_file() else ""


def _dotnet(root: Path) -> str:
    return "dotnet test" if any(root.glob("*.sln")) else ""


async def run_check(command: str, executor: Executor, emit: Callable[[AgentEvent], None]) -> Check:
    """Runs the check under the run's own policy and sandbox; a refusal is "not checked". May be cancelled."""
    seen: list[ToolFinished] = []

    def watch(event: AgentEvent) -> None:
        if isinstance(event, ToolFinished):
            seen.append(event)
        emit(event)

    call = FunctionCallPart(id=new_id(), name="shell", args={"command": command, "timeout": LIMIT_SECONDS})
    answers = await executor.execute_all([call], watch)
    outcome = seen[-1].outcome if seen else Outcome.FAILED
    output = answers[0].text
    if outcome is Outcome.DENIED:
        note = f"`{command}` was not permitted; allow it with --allowed-tools 'shell({command})'"
        return Check(command, None, output, note)
    if outcome is Outcome.TIMED_OUT:
        return Check(command, None, output, f"`{command}` took longer than {LIMIT_SECONDS} s")
    if outcome is not Outcome.OK and _missing(output):
        return Check(command, None, output, f"`{command}` can't be run here")
    if "no tests ran" in output and outcome is not Outcome.OK:
        return Check(command, None, output, "the project has no tests yet", absent=True)
    return Check(command, outcome is Outcome.OK, output)


async def verified(
    root: Path,
    rounds: int,
    executor: Executor,
    emit: Callable[[AgentEvent], None],
    mend: Callable[[str], Awaitable[Any]],
) -> Check:
    """The project's check after changes; `mend` gets the words on a failure, at most `rounds` times."""
    command = find_check(root)
    if not command:
        return Check("", None, note="no check of this project is known", absent=True)
    check = await run_check(command, executor, emit)
    for _ in range(rounds):
        if check.passed is not False:
            break
        await mend(f"The project's own check `{command}` fails:\n\n{check.output}\n\nMend the cause.")
        check = await run_check(command, executor, emit)
    return check


def _missing(output: str) -> bool:
    return bool(re.search(r"No module named pytest|command not found|: not found|exit code 127", output))
