"""`python -m aicli.testing [FILE]`: serves the replies of a JSON file, or of stdin, and says its URL on stdout."""

from __future__ import annotations

import sys
from pathlib import Path

from aicli.testing.server import ModelServer
from aicli.testing.steps import from_json


def main() -> None:
    """Blocks until it is interrupted. Raises ValueError for a script that can't be read."""
    script = Path(sys.argv[1]).read_text("utf-8") if len(sys.argv) > 1 else sys.stdin.read()
    with ModelServer(from_json(script)) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        try:
            server.stopped.wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
