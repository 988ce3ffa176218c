"""What start-up may import: `--version` and `--help` stay light, a one-shot run loads nothing it does not use."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("httpx", "pydantic", "rich", "prompt_toolkit", "questionary", "asyncio")


def modules_after(*args: str) -> set[str]:
    code = (
        f"import sys\nsys.argv = ['aicli', *{list(args)!r}]\nfrom aicli.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write('\\n'.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    return {name.split(".")[0] for name in done.stderr.split()}


def test_version_imports_next_to_nothing() -> None:
    loaded = modules_after("--version")
    assert not loaded & {*HEAVY, "typer"}


def test_help_imports_no_heavy_library() -> None:
    assert not modules_after("--help") & set(HEAVY)


def test_importing_the_package_costs_nothing() -> None:
    code = "import sys, aicli; sys.stdout.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert not {n.split(".")[0] for n in done.stdout.split()} & {*HEAVY, "typer"}
