"""The program's entry: `--version` is answered before anything else is imported."""

from __future__ import annotations

import _signal  # without the enumerations of `signal`, which take longer to load than all else here
import gc
import os
import sys

_NUMBERS = [getattr(_signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(_signal, name)]
_LEAVING = 2
"""Seconds that the end of the process may take once a signal came."""


def main() -> None:
    """Runs the command line and ends the process with the documented exit code."""
    try:
        _main()
    except KeyboardInterrupt:
        sys.exit(130)


def _main() -> None:
    if sys.argv[1:2] == ["prompt"] or sys.argv[1:3] == ["agent", "run"]:
        _hold()
    if sys.argv[1:] in (["--version"], ["-V"], ["version"]):
        from aicli import __version__

        sys.stdout.write(f"aicli {__version__}\n")
        return
    # other programs' plug-ins have no business in our values, and to look for some reads every installed package
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(100_000, 20, 50)  # what is built at start stays: looking through it over and over frees nothing
    from aicli.cli import run

    code = run(sys.argv[1:])
    _keep(code)
    _flush()
    gc.freeze()  # the process ends: nothing has to be looked through once more
    sys.exit(code)


def _hold() -> None:
    """Signals wait while the program is being loaded, so that a run that is ended then has its result line too."""
    if hasattr(_signal, "pthread_sigmask"):
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _NUMBERS)


def _keep(code: int) -> None:
    """All is said, so the code stays what it is: a signal only bounds how long the end may take."""
    if not hasattr(_signal, "pthread_sigmask"):
        return

    def came(number: int, frame: object) -> None:
        _signal.signal(_signal.SIGALRM, lambda number, frame: os._exit(code))
        _signal.alarm(_LEAVING)

    for number in _NUMBERS:
        if _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, came)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, _NUMBERS)


def _flush() -> None:
    """What can't be written any more is let go, or the interpreter would end with a code of its own (120)."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except AttributeError:
            pass  # closed from the start


if __name__ == "__main__":
    main()
