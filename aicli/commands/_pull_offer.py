"""A session, with the offer to fetch the embedded model first where that is all that is missing and somebody can say yes."""

from __future__ import annotations

import asyncio
import sys

from aicli import runtime
from aicli.errors import ConfigError
from aicli.models.embedded.cache import PULL
from aicli.runtime import RunOptions, Session
from aicli.settings_load import Loaded
from aicli.tools.host import Host
from aicli.ui.console import Console, is_terminal
from aicli.ui.translate import said


async def built(loaded: Loaded, host: Host, options: RunOptions) -> Session:
    """As `runtime.build`. On a terminal a missing embedded model is asked about, with its size, before the error stands.

    Raises what `runtime.build` raises; ConnectFailed or ConfigError when the pull fails.
    """
    try:
        return await runtime.build(loaded, host, options)
    except ConfigError as e:
        if PULL not in e.line or not host.present or not await asyncio.to_thread(_wanted):
            raise
        from aicli.commands import _models  # the pull brings what a run does not need

        progress = _models.Progress(Console(), live=True)
        await asyncio.to_thread(_models.fetch, loaded.settings, progress)
        return await runtime.build(loaded, host, options)


def _wanted() -> bool:
    """Asks on the terminal; anything but a yes is a no. Blocks."""
    from aicli.models.embedded.cache import pinned

    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return False
    sys.stderr.write(said(f"No model is set up. Fetch the embedded one now ({pinned().gigabytes})? [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes", "是", "好")
