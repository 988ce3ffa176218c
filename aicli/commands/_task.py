"""The task's text: words, --prompt and stdin, without ever waiting for a pipe that says nothing."""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Sequence

from aicli.errors import InputError, UsageError

LIMIT = 10_000_000
"""Most bytes that are taken from stdin."""
BESIDE_WORDS, ALONE = 1.0, 10.0
"""Seconds until the first byte of a pipe: where words were given too, and where it is all there is."""


def task_text(words: Sequence[str], prompt: str = "") -> tuple[str, str]:
    """(task, warning). Raises UsageError when there is no task, InputError when stdin is no text."""
    dash = "-" in words
    said = " ".join([*([prompt] if prompt else []), *(w for w in words if w != "-")]).strip()
    data, warning = _stdin(dash, bool(said))
    if data is not None:
        try:
            piped = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            piped = data.decode(errors="replace")
        if "\0" in piped:
            raise InputError("stdin holds binary data, not text")
        piped = piped.strip("\r\n")
        if said and piped.strip():
            said = f"{said}\n\n<stdin>\n{piped}\n</stdin>"
        elif not said:
            said = piped.strip()
    if not said:
        raise UsageError(
            "there is no task" + (f" ({warning})" if warning else ""), hint="Give it as words, or by a pipe."
        )
    return said.encode("utf-8", "replace").decode(), warning


def _stdin(dash: bool, words: bool) -> tuple[bytes | None, str]:
    """What stdin holds, None where it is not to be read; and what the person should know."""
    try:
        fd = sys.stdin.fileno()
        mode = os.fstat(fd).st_mode
    except (AttributeError, OSError, ValueError):
        if dash:
            raise InputError("'-' was given, and stdin is closed") from None
        return None, ""
    if os.isatty(fd):
        return (_read(fd), "") if dash else (None, "")
    if stat.S_ISDIR(mode):
        raise InputError("stdin is a folder")
    piped = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    if piped and not dash and not _speaks(fd, BESIDE_WORDS if words else ALONE):
        return None, "stdin is a pipe in which nothing came: not read; give '-' to wait for it"
    if not (dash or piped or stat.S_ISREG(mode)):
        return None, ""
    return _read(fd), ""


def _speaks(fd: int, seconds: float) -> bool:
    """Is there data, or the end, within the time?"""
    try:
        return bool(select.select([fd], [], [], seconds)[0])
    except (OSError, ValueError):
        return True  # Windows can't wait for a pipe


def _read(fd: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        while chunk := os.read(fd, 1 << 16):
            parts.append(chunk)
            size += len(chunk)
            if size > LIMIT:
                raise InputError(f"stdin holds more than {LIMIT // 1_000_000} MB")
    except OSError as e:
        raise InputError(f"stdin can't be read: {e.strerror or e}") from e
    return b"".join(parts)
