"""The main job from nothing: fetch the embedded model, give it a task, show the work live, check the resulting file.

Run by `make demo` after the installation, with the standard library alone. Ends with 0 only if the file is right.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

TASK = "create hello.py that prints hello, then run it"
MODEL = "embedded:qwen2.5-coder-1.5b"
SCRATCH = Path(".demo")


def aicli() -> list[str]:
    """The program beside this interpreter, or the module where it isn't installed as a command."""
    found = shutil.which("aicli", path=os.path.dirname(sys.executable))
    return [found] if found else [sys.executable, "-m", "aicli"]


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


def fail(text: str) -> int:
    print(f"\ndemo: {text}", file=sys.stderr, flush=True)
    return 1


def check(file: Path) -> str:
    """What is wrong with the file; "" when running it prints hello."""
    if not file.is_file():
        return f"{file} was not made"
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=30)
    if ran.returncode or ran.stdout.strip().lower() != "hello":
        return f"{file} prints {ran.stdout.strip()!r} (exit {ran.returncode}), not hello"
    return ""


def main() -> int:
    command = aicli()
    say("The embedded model (fetched once, about 1.1 GB)")
    if subprocess.run([*command, "models", "pull", "embedded", "--allow-carriers"]).returncode:
        return fail("the embedded model's file can't be had here, so there is nothing to show. See the lines above.")
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir()
    task = ["agent", "run", "general", TASK, "-C", str(SCRATCH), "-m", MODEL, "--permission-mode", "bypass"]
    say(shlex.join(["aicli", *task]))
    begin = time.monotonic()
    code = subprocess.run([*command, *task]).returncode
    file = SCRATCH / "hello.py"
    if code:
        return fail(f"the run ended with exit code {code}")
    say(f"{file}, after {time.monotonic() - begin:.0f} s")
    wrong = check(file)
    if wrong:
        return fail(wrong)
    print(file.read_text("utf-8").rstrip(), flush=True)
    say("Running it prints hello: the demo is done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
