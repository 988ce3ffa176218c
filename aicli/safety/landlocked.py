"""The second choice on Linux: Landlock, a system call filter and a reaper, in a small process per command."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from aicli.safety import landlock
from aicli.safety.confined import Confined, Status
from aicli.safety.sandbox_paths import View, network_files, within
from aicli.safety.seccomp import filter_bytes

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")


class Landlocked:
    """Status reduced: what it does not keep is named in `missing`."""

    status: Status = "reduced"
    missing = (
        "mode and times of files outside can be changed",
        "git hooks, settings of the folder and shell start files can be changed",
        "other processes can be seen, and as root their environment read",
    )
    kind = "landlock"

    def __init__(self, seen: View) -> None:
        self._view = seen
        self._temporary = tempfile.mkdtemp(prefix="aicli-")
        weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)

    def confine(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], writable: bool = True, network: bool = False
    ) -> Confined:
        """Looks at the top folders anew each time. `network` leaves IP sockets open, never UNIX sockets."""
        kept = [*self._view.writable, self._temporary]
        words = [sys.executable, "-I", "-S", landlock.__file__, "net" if network else "none"]
        words.append(filter_bytes(sockets=network).hex() or "-")
        for path in (*self._readable(), *(network_files(env, self._hidden) if network else ())):
            words += ["r", path]
        for path in kept if writable else [self._temporary]:
            words += ["w", path]
        for path in self._view.writable if not writable else ():
            words += ["r", path]
        for name in _DEVICES:
            if os.path.exists(f"/dev/{name}"):
                words += ["w", f"/dev/{name}"]
        words += ["cwd", str(cwd), "--", *argv]
        return Confined(words, {**env, "TMPDIR": self._temporary}, close=self._ended)

    def _ended(self) -> None:
        """Nothing to undo; as a bound method it keeps the temporary folder while a command runs."""

    @property
    def _hidden(self) -> list[str]:
        return [*self._view.hidden, "/tmp", *self._view.hidden_inside]

    def _readable(self) -> list[str]:
        hidden = self._hidden
        if os.geteuid() == 0:
            hidden += [p for p in ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/gshadow-") if os.path.exists(p)]
        return [*_all_but("/", hidden), *self._view.readable]


def _all_but(folder: str, hidden: Sequence[str]) -> list[str]:
    """The largest folders that together hold all but the hidden ones."""
    if not any(within(h, folder) for h in hidden):
        return [folder]
    if folder in hidden:
        return []
    out: list[str] = []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return out
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.islink(path):
            out += _all_but(path, hidden)
    return out
