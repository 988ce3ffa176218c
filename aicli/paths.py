"""Where aicli keeps things: config, state, cache and project folders, judged anew at each call."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import platformdirs

APP = "aicli"
PROJECT = ".aicli"


def config_folder() -> Path:
    """Settings, credentials, the user's own agents and tools. Not created here."""
    return Path(platformdirs.user_config_dir(APP, appauthor=False))


def state_folder() -> Path:
    """Sessions, checkpoints, trust. Not created here."""
    return Path(platformdirs.user_state_dir(APP, appauthor=False))


def cache_folder() -> Path:
    """What can be fetched or made again: models, probes. Not created here."""
    return Path(platformdirs.user_cache_dir(APP, appauthor=False))


def data_folder() -> Path:
    """Facts the user asked to be remembered. Not created here."""
    return Path(platformdirs.user_data_dir(APP, appauthor=False))


def project_folder(root: Path) -> Path:
    """The project's own settings, agents and tools: inert until the folder is trusted."""
    return root / PROJECT


def private_folder(path: Path) -> Path:
    """The folder, made if missing and closed to others (0700, whatever the umask), parents too if made here.

    Raises OSError when it can't be made; blocks on the disk only.
    """
    missing = []
    here = path
    while not here.exists():
        missing.append(here)
        here = here.parent
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
    found = path.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{path} is not a folder")
    if hasattr(os, "geteuid") and found.st_uid == os.geteuid() and found.st_mode & 0o077:
        os.chmod(path, 0o700)
    return path
