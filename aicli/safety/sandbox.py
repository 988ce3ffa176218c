"""Finds the sandbox that this machine offers, and proves it by trying to escape. Says loudly when there is none."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from aicli.content.kinds import PermissionMode
from aicli.errors import SandboxError
from aicli.safety import bubblewrap, landlock
from aicli.safety.confined import Confined, Sandbox, Status, Unconfined
from aicli.safety.landlocked import Landlocked
from aicli.safety.sandbox_paths import view

__all__ = ["ALL_PROMISES", "Confined", "Sandbox", "Status", "Unconfined", "check_bypass", "detect", "say"]

ALL_PROMISES = (
    "files outside the workspace can't be changed",
    "home folders and keys can't be read",
    "no network",
    "git hooks, settings of the folder and shell start files can't be changed",
    "processes outside can't be seen or signalled",
)
_HOW = "Install bubblewrap (apt install bubblewrap, dnf install bubblewrap)"


def detect(
    mode: str, workspace_root: Path, read: Sequence[str] = (), extra: Sequence[Path] = (), held: Sequence[str] = ()
) -> Sandbox:
    """The best sandbox for `mode` auto, required or off. Runs bubblewrap once; some milliseconds.

    `read` are more folders that commands may read, `extra` more roots that they may change, `held` paths in the roots
    that they may not change (bubblewrap alone keeps those). Raises SandboxError when it is required and there is none.
    """
    if mode == "off":
        return Unconfined("off", ALL_PROMISES)
    if sys.platform == "linux":
        program = bubblewrap.find()
        if program and bubblewrap.works(program):
            return bubblewrap.Bubblewrap(program, view(workspace_root, extra, read, os.environ, held))
        if landlock.version() >= landlock.LEAST:
            return Landlocked(view(workspace_root, extra, read, os.environ))
    if mode == "required":
        why = _HOW if sys.platform == "linux" else "Only Linux has one so far; start with --sandbox off to go without"
        raise SandboxError("a sandbox is required and none is available", hint=why)
    return Unconfined("none", ALL_PROMISES)


def say(sandbox: Sandbox) -> str:
    """One line for start and status; "" when all is well."""
    match sandbox.status:
        case "reduced":
            return f"sandbox reduced ({sandbox.kind}); not kept: {'; '.join(sandbox.missing)}. {_HOW} for all of it"
        case "none":
            how = _HOW if sys.platform == "linux" else "None is built for macOS and Windows yet"
            return f"no sandbox: every command is asked about, and refused where nobody can answer. {how}"
        case "off":
            return "sandbox off: commands can change and read everything that you can"
    return ""


def check_bypass(mode: PermissionMode, sandbox: Sandbox) -> None:
    """Mode bypass as root needs a sandbox, or the word of the person that there shall be none. Raises SandboxError."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if mode is PermissionMode.BYPASS and root and sandbox.status == "none":
        raise SandboxError(
            "mode bypass as root needs a sandbox and none is available",
            hint=f"{_HOW}, or start with --sandbox off if this machine may be lost",
        )
