"""What the process table holds."""

from __future__ import annotations

import os


def alive(line: str) -> list[int]:
    """Processes with exactly this command line that are not yet dead."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                dead = file.read().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            continue
        if words == line and not dead:
            found.append(int(name))
    return found


def alive_with(part: str, parent: int) -> list[int]:
    """Children of a process that have the text in their command line."""
    found = []
    for task in os.listdir(f"/proc/{parent}/task"):
        with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as file:
            for word in file.read().split():
                try:
                    with open(f"/proc/{word}/cmdline", "rb") as line:
                        if part.encode() in line.read():
                            found.append(int(word))
                except OSError:
                    continue
    return found
