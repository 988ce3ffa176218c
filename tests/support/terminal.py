"""The real program in a pty, talking to the scripted model server."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.model_server import ModelServer
from tests.support.screen import Tty

ROOT = Path(__file__).parents[2]
TICK = 1 / os.sysconf("SC_CLK_TCK")
"""Seconds by which the processor's time is told."""


def aicli(
    *arguments: str,
    server: ModelServer | None = None,
    columns: int = 80,
    rows: int = 24,
    env: dict[str, str] | None = None,
    typed: str = "",
) -> Tty:
    """`python -m aicli ARGUMENTS` in a pty of that size, its only model the server's."""
    environ = {"PYTHONPATH": str(ROOT), "AICLI_SANDBOX__MODE": "off", **(env or {})}
    if server is not None:
        environ |= {"AICLI_BASE_URL": server.url + "/v1", "AICLI_MODELS__FAST": "openai:m", "AICLI_PROVIDER": "openai"}
        environ |= {"AICLI_MODELS__THINKING": "openai:thinker"}
    argv: Sequence[str] = [sys.executable, "-m", "aicli", *arguments]
    return Strict(argv, columns=columns, rows=rows, env=environ, typed=typed)


class Strict(Tty):
    """Whatever a test does with it: no screen is wiped, no other mode is used, each frame is one synchronized write."""

    def close(self) -> None:
        super().close()
        assert self.modes_used <= {"25", "2004", "2026", "1004"}, self.modes_used
        assert not any(bad in self.raw for bad in (b"\x1b[2J", b"\x1b[3J", b"\x1b]52", b"\x1bc"))
        assert self.raw.count(b"\x1b[?2026h") <= self.raw.count(b"\x1b[?2026l") + (self.exit_code != 0)


def prompt(tty: Tty) -> None:
    """Waits until a message can be sent."""
    tty.until(lambda: "/help" in tty.text and " · " in tty.text)


def children_of(pid: int) -> list[int]:
    """All living descendants."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z" and int(fields[1]) in (pid, *found):
                found.append(int(entry.name))
    return found


def cpu(tty: Tty) -> float:
    """Seconds of the processor that the program has used."""
    fields = Path(f"/proc/{tty.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def status(tty: Tty, field: str) -> int:
    """A number of the program's /proc status, such as VmRSS in kB."""
    rows = Path(f"/proc/{tty.pid}/status").read_text().split("\n")
    return next(int(row.split()[1]) for row in rows if row.startswith(field + ":"))


def wakeups(tty: Tty) -> int:
    """How often a thread of the program waited for something: it stands still while nothing is done."""
    found = 0
    for thread in Path(f"/proc/{tty.pid}/task").iterdir():
        rows = (thread / "status").read_text().split("\n")
        found += next(int(row.split()[1]) for row in rows if row.startswith("voluntary"))
    return found
