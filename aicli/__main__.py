"""The program's entry: `--version` is answered before anything else is imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line and ends the process with the documented exit code."""
    if sys.argv[1:] in (["--version"], ["-V"], ["version"]):
        from aicli import __version__

        sys.stdout.write(f"aicli {__version__}\n")
        return
    from aicli.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
