"""RunState: what the tools of one run share. Built by `runtime`, or bare by a library user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from aicli.content.results import Task
from aicli.late import dataclass
from aicli.settings import ShellSettings, WebSettings

if TYPE_CHECKING:
    from aicli.safety.sandbox import Sandbox
    from aicli.tools.jobs import Jobs
    from aicli.workspace.checkpoints import Checkpoints
    from aicli.workspace.memory import MemoryStore
    from aicli.workspace.root import FileVersion, Workspace


@dataclass
class RunState:
    """`seen` holds the version of each file as this run last read or wrote it, by display path; `misses` counts edits
    of a file that found nothing, in a row. `untrusted` is set once text from outside (web) was read.
    `sandbox` None means that commands run unconfined. `workspace` None: a run without files. `may_read(path)` is False
    where a rule denies it: for tools that come upon files by themselves. `only_reads` holds the ids of calls that were
    permitted for the sole reason that they read, and may do nothing else.
    """

    workspace: Workspace | None = None
    checkpoints: Checkpoints | None = None
    memory: MemoryStore | None = None
    sandbox: Sandbox | None = None
    jobs: Jobs | None = None
    shell: ShellSettings = ShellSettings()
    web: WebSettings = WebSettings()
    session_id: str = ""
    images: bool = False
    headless: bool = True
    offline: bool = False
    untrusted: bool = False
    shell_cwd: str = ""
    turn: int = 0
    seen: dict[str, FileVersion] = field(default_factory=dict)
    misses: dict[str, int] = field(default_factory=dict)
    only_reads: set[str] = field(default_factory=set)
    tasks: tuple[Task, ...] = ()
    environ: dict[str, str] | None = None
    may_read: Callable[[str], bool] = lambda path: True
    extra: dict[str, Any] = field(default_factory=dict)
