"""The real program in a pty, talking to the scripted model server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.model_server import ModelServer
from tests.support.screen import Tty

ROOT = Path(__file__).parents[2]


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
    return Tty(argv, columns=columns, rows=rows, env=environ, typed=typed)


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
