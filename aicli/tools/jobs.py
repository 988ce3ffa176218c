"""Background commands of one run, and the whole output of foreground ones that was too long: listed, read, stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
import uuid
import weakref
from pathlib import Path

from aicli.late import dataclass
from aicli.paths import state_folder
from aicli.tools.capture import Capture
from aicli.tools.launch import Command
from aicli.tools.process import Running

_KEEP_DAYS = 7
_MOST = 16
"""Jobs that may run at the same time."""
_KEPT = 20
"""Ended jobs and long outputs that can still be read; older ones go."""


@dataclass
class Job:
    """`running` is None for the kept output of a foreground command. `read_to` is the byte up to which it was read."""

    id: str
    command: str
    capture: Capture
    running: Running | None = None
    read_to: int = 0
    ending: str = ""

    @property
    def active(self) -> bool:
        return self.running is not None and not self.running.ended.is_set()

    @property
    def state(self) -> str:
        """ "running 12 s", "exit code 0 after 3 s", "SIGKILL after 4 s", "stopped after 4 s"."""
        if self.running is None:
            return self.ending
        if self.active:
            return f"running {time.monotonic() - self.running.started:.0f} s"
        how = self.ending or self.running.signal or f"exit code {self.running.exit_code}"
        return f"{how} after {self.running.seconds:.0f} s"


class TooManyJobs(Exception):
    """The cap on jobs at the same time is reached."""


class Jobs:
    """All are ended by `close()`, at the exit of the program, and when the program is killed (Linux).

    `folder` holds the outputs (0600, removed by `close`); None: a folder of its own in the state folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._jobs: dict[str, Job] = {}
        self._next = 1
        self._at_exit = weakref.finalize(self, _end_all, self._jobs)

    def output_file(self) -> Path:
        """A new name for one command's output; nothing is made yet but old left-overs are removed."""
        if self._folder is None:
            outputs = state_folder() / "outputs"
            _prune(outputs)
            self._folder = outputs / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        return self._folder / f"{uuid.uuid4().hex[:12]}.txt"

    def start(self, command: Command, line: str) -> Job:
        """Starts it and returns at once. Raises OSError, TooManyJobs."""
        if sum(job.active for job in self._jobs.values()) >= _MOST:
            raise TooManyJobs(f"{_MOST} jobs are running already")
        capture = Capture(self.output_file(), always=True)
        running = Running(command, capture)
        running.when_ended(capture.close)
        return self._add(Job("", line, capture, running))

    def keep(self, line: str, capture: Capture, ending: str) -> Job:
        """Makes a finished command's whole output readable by id."""
        return self._add(Job("", line, capture, None, ending=ending))

    def _add(self, job: Job) -> Job:
        job.id = str(self._next)
        self._next += 1
        self._jobs[job.id] = job
        for old in [j for j in self._jobs.values() if not j.active][:-_KEPT]:
            old.capture.discard()
            del self._jobs[old.id]
        return job

    def list(self) -> tuple[Job, ...]:
        return tuple(self._jobs.values())

    def get(self, id: str) -> Job | None:
        return self._jobs.get(id.strip().lstrip("#"))

    def stop(self, job: Job) -> None:
        """Ends the job's whole tree; blocks until it is gone, some seconds at most."""
        if job.running is not None and job.active:
            job.ending = "stopped"
            job.running.end()
            job.running.ended.wait(8)

    def close(self) -> None:
        """Ends every job and removes the outputs; blocks some seconds at most."""
        _end_all(self._jobs)
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._folder.rmdir()


def _end_all(jobs: dict[str, Job]) -> None:
    for job in jobs.values():
        if job.running is not None and job.active:
            job.running.end()
    for job in jobs.values():
        if job.running is not None:
            job.running.ended.wait(8)
        job.capture.discard()
    jobs.clear()


def _prune(outputs: Path) -> None:
    """Removes what programs that were killed left behind some days ago."""
    old = time.time() - _KEEP_DAYS * 86_400
    with contextlib.suppress(OSError):
        for folder in list(os.scandir(outputs)):
            if folder.is_dir(follow_symlinks=False) and folder.stat(follow_symlinks=False).st_mtime < old:
                shutil.rmtree(folder.path, ignore_errors=True)
