"""Runs attack cases: `python -m tests.attacks.run FOLDER [CASE…]` prints one line each, tried / blocked / asked."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

from tests.attacks import commands, confinement, files, sinks, trusting, web  # noqa: F401  (they add their cases)
from tests.attacks.site import CASES, Site


def run_case(name: str, base: Path) -> Site:
    """One case at a fresh site, with the site's home. Raises what the case raises."""
    site = Site(base)
    os.environ["HOME"] = str(site.home)
    for part in ("CONFIG", "STATE", "CACHE", "DATA"):
        os.environ[f"XDG_{part}_HOME"] = str(site.home / part.lower())
    os.chdir(site.work)
    CASES[name](site)
    return site


def main(folder: str, names: list[str]) -> int:
    results: dict[str, dict[str, object]] = {}
    for name in names or sorted(CASES):
        base = Path(tempfile.mkdtemp(dir=folder))
        try:
            site = run_case(name, base)
            results[name] = {"line": str(site.tally), "escaped": site.tally.escaped}
        except BaseException:
            results[name] = {"line": "failed", "escaped": [traceback.format_exc()]}
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
