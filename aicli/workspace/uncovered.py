"""What a command changed where nothing is kept: ignored folders, huge files. Told by times that no command can set."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable
from pathlib import Path

_MOST = 1_000
TICK_NS = 10_000_000
"""The system's own clock for files may be that far behind."""


def touched(root: Path, names: Iterable[str], before: Iterable[str], since_ns: int, doubtful: bool) -> list[str]:
    """Those of `names` (folders end in "/") that changed since, or went away though they were there `before`.

    Looks at 1,000 entries; what that does not decide counts if `doubtful`. Blocks; never raises.
    """
    were, since = set(before), since_ns - TICK_NS
    left = [_MOST]
    out = []
    for name in names:
        if name.startswith("…"):
            changed: bool | None = None
        elif not os.path.lexists(root / name):
            changed = name in were
        else:
            changed = _changed(os.path.join(root, name.rstrip("/")), since, left)
        if changed or (changed is None and doubtful):
            out.append(name)
    return out


def _changed(path: str, since: int, left: list[int]) -> bool | None:
    """None: there is too much in it to say."""
    try:
        status = os.lstat(path)
        if status.st_ctime_ns >= since and os.path.basename(path) != ".git":  # mounts come and go in that one
            return True
        folders = deque([path] if stat.S_ISDIR(status.st_mode) else [])
    except OSError:
        return None
    while folders:
        try:
            with os.scandir(folders.popleft()) as entries:
                for entry in entries:
                    left[0] -= 1
                    if left[0] < 0:
                        return None
                    if entry.stat(follow_symlinks=False).st_ctime_ns >= since:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:
            continue
    return False
