"""The program's entry: `--version` is answered before anything else is imported."""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Runs the command line and ends the process with the documented exit code."""
    if sys.argv[1:] in (["--version"], ["-V"], ["version"]):
        from aicli import __version__

        sys.stdout.write(f"aicli {__version__}\n")
        return
    # other programs' plug-ins have no business in our values, and to look for some reads every installed package
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(100_000, 20, 50)  # what is built at start stays: looking through it over and over frees nothing
    from aicli.cli import run

    code = run(sys.argv[1:])
    _flush()
    gc.freeze()  # the process ends: nothing has to be looked through once more
    sys.exit(code)


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
