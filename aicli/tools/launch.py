"""What to run and how confined; and the programs of a pipeline that feed the one whose end counts."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from aicli.late import dataclass
from aicli.safety.confined import Confined, Sandbox


@dataclass(frozen=True)
class Command:
    """An argv (never a string), where, with exactly which environment, and how confined.

    `feeds` are the argvs before it in a pipeline, each one's output the next one's input.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    sandbox: Sandbox | None = None
    writable: bool = True
    network: bool = False
    feeds: tuple[tuple[str, ...], ...] = ()

    def confined(self, argv: tuple[str, ...]) -> Confined:
        """This argv, confined as the command is."""
        if self.sandbox is None:
            return Confined(list(argv), dict(self.env))
        return self.sandbox.confine(argv, cwd=self.cwd, env=self.env, writable=self.writable, network=self.network)


class Upstream:
    """The started feeds of a command. `output` is what the command reads, to be closed by whoever starts it."""

    def __init__(self, command: Command, errors: int) -> None:
        self._started: list[subprocess.Popen[bytes]] = []
        self._release: list[Callable[[], None]] = []
        self.output = os.open(os.devnull, os.O_RDONLY)
        try:
            for argv in command.feeds:
                self._start(command, command.confined(argv), errors)
        except BaseException:
            os.close(self.output)
            self.close()
            raise

    def _start(self, command: Command, confined: Confined, errors: int) -> None:
        self._release.append(confined.close)
        read, write = os.pipe()
        try:
            child = subprocess.Popen(
                confined.argv,
                cwd=command.cwd,
                env=confined.env,
                stdin=self.output,
                stdout=write,
                stderr=errors,
                start_new_session=True,
                pass_fds=confined.pass_fds,
            )
        except BaseException:
            os.close(read)
            raise
        finally:
            os.close(write)
        self._started.append(child)
        os.close(self.output)
        self.output = read

    def close(self) -> None:
        """Ends what still runs (its reader is gone) and frees all, each whatever another raises."""
        with contextlib.ExitStack() as steps:
            for release in self._release:
                steps.callback(release)
            for child in self._started:
                steps.callback(child.wait)
                steps.callback(kill_group, child)


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kills the session that the child leads; after its end only stray members of it are left."""
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
