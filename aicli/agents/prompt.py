"""System text, frozen at session start so that its bytes stay stable; and the workspace snapshot of the first message."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from aicli.agents.context import tokens
from aicli.agents.spec import AgentSpec
from aicli.late import dataclass
from aicli.workspace.protected import is_protected

CONTEXT_NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules")
SNAPSHOT_ENTRIES = 60
MOST_INSTRUCTIONS = 240
"""Tokens of an agent's instructions that a small window takes whole."""


@dataclass(frozen=True)
class ContextFile:
    """A file with the project's own words for agents. `path` as shown to the person."""

    path: str
    text: str


def context_files(root: Path, folder: Path | None = None) -> list[ContextFile]:
    """From `root` down to `folder`: in each folder AGENTS.md, or the first of its kin when it is absent."""
    chain = [root]
    if folder and folder != root and folder.is_relative_to(root):
        for part in folder.relative_to(root).parts:
            chain.append(chain[-1] / part)
    found = []
    for place in chain:
        for name in CONTEXT_NAMES:
            file = place / name
            if not file.is_file() or file.is_symlink():
                continue
            try:
                text = file.read_bytes()[:200_000].decode("utf-8", "replace").removeprefix("\ufeff")
            except OSError:
                continue
            if text.strip():
                found.append(ContextFile(str(file.relative_to(root)), text))
            break
    return found


def system_text(
    spec: AgentSpec,
    *,
    cwd: str,
    profile: str = "full",
    files: Sequence[ContextFile] = (),
    memory: str = "",
    files_budget: int = 4_000,
) -> str:
    """The whole system text. Context files are cut to `files_budget` tokens, with a note that says so."""
    name = "base.md" if profile == "full" else "compact.md"
    frame = Path(__file__).with_name(name).read_text("utf-8")
    instructions = spec.instructions if profile == "full" else _first_lines(spec.instructions)
    text = frame.format(
        cwd=cwd,
        system=f"{platform.system()} {platform.machine()}",
        date=datetime.date.today().isoformat(),
        instructions=instructions,
    ).strip()
    left = files_budget if profile == "full" else files_budget // 4
    for file in files:
        body, left = _within(file.text.strip(), left)
        if body:
            text += f"\n\n# From {file.path}\n\n{body}"
    if memory.strip():
        text += f"\n\n# Remembered facts\n\n{memory.strip()}"
    return text


def _within(text: str, budget: int) -> tuple[str, int]:
    cost = tokens(text)
    if cost <= budget:
        return text, budget - cost
    if budget < 50:
        return "", 0
    kept = text[: len(text) * budget // cost]
    return f"{kept}\n[… cut here: read the file for the rest]", 0


def _first_lines(text: str) -> str:
    """What a small window has room for: the whole where it is short, else the opening paragraph and the first rules."""
    return text.strip() if tokens(text) <= MOST_INSTRUCTIONS else "\n".join(text.strip().splitlines()[:4])


def _mask(entry: os.DirEntry[str]) -> bool:
    """Is it an empty folder such as a sandbox puts in the place of a protected name while a command runs?"""
    if not is_protected(entry.name) or not entry.is_dir(follow_symlinks=False):
        return False
    with os.scandir(entry.path) as inner:
        return next(inner, None) is None


def snapshot(root: Path) -> str:
    """A short listing of the folder's top level; "" when it can't be listed. Reads at most 400 names, walks nothing."""
    try:
        with os.scandir(root) as entries:
            some = list(islice(entries, 400))
        names = sorted(f"{e.name}/" if e.is_dir(follow_symlinks=False) else e.name for e in some if not _mask(e))
    except OSError:
        return ""
    shown = [ascii(n) if any(not c.isprintable() for c in n) else n for n in names if n != ".git/"]
    listing = "\n".join(shown[:SNAPSHOT_ENTRIES])
    if len(shown) > SNAPSHOT_ENTRIES:
        listing += "\n… and more"
    return f"Files here:\n{listing}\n" if listing else "The folder is empty.\n"
