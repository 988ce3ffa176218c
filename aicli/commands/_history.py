"""Which workspace and runs the undo and diff commands speak of."""

from __future__ import annotations

from pathlib import Path

from aicli import paths
from aicli.errors import UsageError
from aicli.workspace.history import History, load_all
from aicli.workspace.journal import Run
from aicli.workspace.root import Workspace


def open_history(run: str = "") -> tuple[History, Run | None]:
    """The history of the workspace around the current folder, or of the run whose id begins with `run`.

    Without `run` the second value is the newest run of that workspace, None if there is none. Raises UsageError.
    """
    folder = paths.state_folder() / "checkpoints"
    runs = load_all(folder)
    if run:
        found = [r for r in runs if r.id == run] or [r for r in runs if r.id.startswith(run)]
        if not found:
            raise UsageError(
                f"no run {run!r} has changed files", hint="aicli undo --list shows the runs of this folder"
            )
        if len(found) > 1:
            raise UsageError(f"{run!r} could be {', '.join(r.id for r in found[:5])}", hint="Give more of the id")
        chosen = found[0]
        return _of(folder, chosen.root, [chosen]), chosen
    here = Path.cwd()
    for place in (here, *here.parents):
        own = [r for r in runs if r.root == str(place)]
        if own:
            return _of(folder, str(place), own), own[-1]
    return _of(folder, str(here), []), None


def _of(folder: Path, root: str, runs: list[Run]) -> History:
    extra = dict.fromkeys(Path(e) for r in runs for e in r.extra)
    return History(folder, Workspace(Path(root), tuple(extra)))
