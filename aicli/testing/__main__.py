"""`python -m aicli.testing [FILE]`: serves the replies of a JSON file, or of stdin, and says its URL on stdout."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from aicli.testing.server import ModelServer
from aicli.testing.steps import Step, from_json

_FORM = """The script is a JSON list of replies, each a list of steps, or a text for a reply that is only text:

  [[{"call": {"name": "ls", "args": {"path": "."}}}, {"usage": {"input": 900, "output": 9}}], "Two files."]

Steps: text, think, call {name, args, id}, usage {input, output, cached}, error {status, message, headers}, raw,
finish, hang, cut, end_early. Each request takes the next reply. It serves until it is interrupted.
"""


def main() -> None:
    """Blocks until it is interrupted. Ends with 2 and one line where the script can't be read."""
    parser = argparse.ArgumentParser(
        prog="python -m aicli.testing",
        description="A scripted model server on loopback that speaks five wire formats; says its URL on stdout.",
        epilog=_FORM,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("script", nargs="?", metavar="FILE", help="JSON; without it, or for -, it is read from stdin")
    try:
        with ModelServer(_replies(parser, parser.parse_args().script or "-")) as server:
            sys.stdout.write(server.url + "\n")
            sys.stdout.flush()
            server.stopped.wait()
    except KeyboardInterrupt:
        pass


def _replies(parser: argparse.ArgumentParser, name: str) -> list[list[Step]]:
    where = "stdin" if name == "-" else name
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    except OSError as e:
        parser.error(f"{where} can't be read: {e.strerror or e}")
    except UnicodeDecodeError:
        parser.error(f"{where} is not UTF-8 text")
    try:
        return from_json(text)
    except ValueError as e:
        parser.error(f"{where}: {e}")


if __name__ == "__main__":
    main()
