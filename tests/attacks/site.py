"""A place to attack: a workspace, a folder outside it, a home with a key; and what came of one attack."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aicli.testing import Outcome, call_tool

KEY = "sk-canary-0123456789abcdefXYZ"


@dataclass
class Tally:
    """How many attempts, how many were stopped, how many put a question to the person; `escaped` names the rest."""

    tried: int = 0
    blocked: int = 0
    asked: int = 0
    escaped: list[str] = field(default_factory=list)

    def count(self, what: str, blocked: bool, asked: bool = False) -> None:
        self.tried += 1
        self.blocked += blocked
        self.asked += asked
        if not blocked:
            self.escaped.append(what)

    def __str__(self) -> str:
        return f"tried {self.tried} / blocked {self.blocked} / asked {self.asked}"


class Site:
    """`work` is the workspace W, `outside` the folder O beside it, `canary` the file PWN in W that must never appear."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home, self.work, self.outside = base / "home", base / "W", base / "O"
        for folder in (self.home / ".ssh", self.work / "src", self.outside, base / "W-evil"):
            folder.mkdir(parents=True, exist_ok=True)
        (self.home / ".ssh" / "id_rsa").write_text("canary-private-key")
        (self.outside / "secret").write_text("canary-outside")
        (base / "W-evil" / "f").write_text("canary-outside")
        (self.work / "f").write_text("b\na\nc\n")
        (self.work / "src" / "a.py").write_text("x = 1\n")
        (self.work / "ev").write_text("#!/bin/sh\ntouch PWN\n")
        (self.work / "ev").chmod(0o755)
        self.canary = self.work / "PWN"
        self.tally = Tally()

    def repository(self) -> None:
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "first")

    def git(self, *words: str) -> str:
        run = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main", *words]
        return subprocess.run(run, cwd=self.work, check=True, capture_output=True, text=True).stdout

    def call(self, name: str, mode: str = "default", answers: Sequence[Any] = (), **args: Any) -> Outcome:
        return call_tool(name, args, self.work, mode, answers)

    def shell(self, command: str, mode: str = "default", answers: Sequence[Any] = (), **args: Any) -> Outcome:
        return self.call("shell", mode, answers, command=command, **args)

    def stopped(self, commands: Sequence[str], mode: str = "default") -> None:
        """None of the commands may leave the canary, and each must have been asked about or refused."""
        for command in commands:
            outcome = self.shell(command, mode)
            stopped = outcome.is_error and not self.canary.exists()
            self.tally.count(command, stopped, outcome.asked)
            self.canary.unlink(missing_ok=True)

    def silent(self, command: str, has: str = "") -> None:
        """A benign command: it runs unasked and says what it should."""
        outcome = self.shell(command)
        assert not outcome.asked and not outcome.is_error and has in outcome.text, (command, outcome)

    def write_settings(self, text: str) -> None:
        folder = Path(os.environ["XDG_CONFIG_HOME"]) / "aicli"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(text)

    def check(self, what: str, blocked: bool, asked: bool = False) -> None:
        self.tally.count(what, blocked, asked)


Case = Callable[[Site], None]
CASES: dict[str, Case] = {}


def case(name: str) -> Callable[[Case], Case]:
    def keep(function: Case) -> Case:
        CASES[name] = function
        return function

    return keep
