"""Every module can be imported where fcntl, termios, resource and pty are absent, as on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import importlib, pkgutil, sys
for name in ("fcntl", "termios", "resource", "pty", "tty", "pwd", "grp", "readline"):
    sys.modules[name] = None
import aicli
bad = []
for found in pkgutil.walk_packages(aicli.__path__, "aicli."):
    if found.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(found.name)
    except ImportError as e:
        bad.append(f"{found.name}: {e}")
print("\\n".join(bad))
"""


def test_no_module_needs_posix_to_be_imported() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=env, timeout=100)
    assert done.returncode == 0, done.stderr
    missing_extras = ("xllamacpp", "pypdf", "ddgs", "keyring")
    bad = [line for line in done.stdout.splitlines() if line and not any(name in line for name in missing_extras)]
    assert bad == []


def test_the_shell_tool_says_so_on_windows() -> None:
    program = (
        "import asyncio, sys\n"
        "from aicli.tools.builtin import shell\n"
        "from aicli.tools.base import ToolContext, ToolFailed\n"
        "from aicli.tools.state import RunState\n"
        "sys.platform = 'win32'\n"
        "try:\n"
        "    asyncio.run(shell.shell.run(ToolContext(state=RunState()), 'dir'))\n"
        "except ToolFailed as e:\n"
        "    print(e)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=60)
    assert "does not support Windows yet" in done.stdout
