"""The person's own editor on a text, with the terminal lent to it meanwhile."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from aicli.ui.stage import Stage


def editor_command(environ: Mapping[str, str] | None = None) -> list[str]:
    environ = os.environ if environ is None else environ
    said = environ.get("VISUAL") or environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    return shlex.split(said)


def edit_text(stage: Stage, text: str, suffix: str = ".md") -> str | None:
    """The text as the editor left it; None when the editor failed or could not be started. Blocks until it ends."""
    with tempfile.TemporaryDirectory(prefix="aicli-") as folder:
        file = Path(folder) / f"text{suffix}"
        file.write_text(text, "utf-8")
        stage.screen.close()
        stage.terminal.close()
        try:
            code = subprocess.call([*editor_command(), str(file)])
            edited = file.read_text("utf-8", "replace") if code == 0 else None
        except OSError as e:
            stage.transcript.note(f"{editor_command()[0]}: {e.strerror or e}")
            edited = None
        finally:
            stage.terminal.open()
            stage.redraw()
    if edited is not None and not text.endswith("\n"):
        edited = edited.removesuffix("\n")
    return edited
