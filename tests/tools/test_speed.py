"""How long searches and commands take beside the plain tools, measured side by side in a long run; never a limit."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from aicli.safety.sandbox import detect
from aicli.tools.builtin.glob import glob
from aicli.tools.builtin.grep import grep
from aicli.tools.builtin.read_many_files import read_many_files
from aicli.tools.builtin.shell import shell
from aicli.tools.state import RunState
from tests.support.counts import soaking
from tests.support.figures import figure
from tests.tools.calling import acall, call, state_in

pytestmark = [
    pytest.mark.skipif(not soaking(), reason="measured in long runs only"),
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX only"),
]
WORDS = ["alpha", "beta", "gamma", "delta", "return", "import", "class", "def", "self", "value", "index", "token"]


def used() -> float:
    """Seconds of processor time, with those of children that were waited for."""
    import resource  # not on Windows

    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def in_turns(
    rounds: int, clock: Callable[[], float] = time.perf_counter, **ways: Callable[[], object]
) -> dict[str, float]:
    """Seconds (median) of each way, taken in turns so that a busy machine is the same to all."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = clock()
            way()
            taken[name].append(clock() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def _tree(files: int) -> None:
    rng = random.Random(1)
    Path(".gitignore").write_text("*.o\nbuild/\n__pycache__/\n/dist\n")
    for n in range(files):
        folder = Path(f"d{n // 500}", f"s{n // 50 % 10}")
        folder.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(rng.choices(WORDS, k=rng.randrange(1, 9))) for _ in range(rng.randrange(5, 60))]
        (folder / f"f{n}.py").write_text("\n".join([*lines, "a needle_here 42\n"] if n % 1000 == 7 else [*lines, ""]))


def _log(size: int) -> None:
    rng = random.Random(2)
    with open("big.log", "w") as file:
        while file.tell() < size:
            for n in range(20_000):
                file.write(
                    f"2026-01-07 12:{n % 60:02d}:00 INFO server.request id={rng.randrange(10**9)} ms={n % 997} ok\n"
                )
            file.write("ERROR needle_here 42\n")


@pytest.mark.parametrize("kind", ["tree", "log"])
def test_searching(isolated: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    program, path = shutil.which("rg"), os.environ["PATH"]
    if program is None:
        pytest.skip("ripgrep is not installed")
    _tree(50_000) if kind == "tree" else _log(500_000_000)
    state = state_in(isolated)
    told = []
    for pattern in ("needle_here", r"needle\w+ \d+$") if kind == "log" else ("needle_here", r"\d+$"):
        argv = [program, "--no-config", "--no-require-git", "-n", "-e", pattern, "."]
        hits = subprocess.run(argv, capture_output=True, check=True).stdout.count(b"\n")

        def ours(path: str, pattern: str = pattern, hits: int = hits) -> None:
            monkeypatch.setenv("PATH", path)
            assert call(grep, state, pattern=pattern, limit=2_000).data["hits"] == hits

        taken = in_turns(
            5,
            theirs=lambda argv=argv: subprocess.run(argv, capture_output=True, check=True),  # type: ignore[misc]
            beside=lambda: ours(path),
            alone=lambda: ours("/nowhere"),
        )
        beside, alone = taken["beside"] / taken["theirs"], taken["alone"] / taken["theirs"]
        busy = in_turns(
            3,
            used,
            theirs=lambda argv=argv: subprocess.run(argv, capture_output=True, check=True),  # type: ignore[misc]
            alone=lambda: ours("/nowhere"),
        )
        processor = busy["alone"] / busy["theirs"]
        told.append(f"`{pattern}` {beside:.1f} with it, {alone:.1f} without ({processor:.1f} of its processor time)")
    figure(f"search-{kind}", f"times as long as ripgrep ({_load()}): {'; '.join(told)}")


def test_listing(isolated: Path) -> None:
    program = shutil.which("rg")
    if program is None:
        pytest.skip("ripgrep is not installed")
    _tree(50_000)
    state = state_in(isolated)
    base = [program, "--no-config", "--no-require-git", "--files"]
    taken = in_turns(
        5,
        theirs=lambda: subprocess.run([*base, "."], capture_output=True, check=True),
        newest=lambda: subprocess.run([*base, "--sortr=modified", "."], capture_output=True, check=True),
        few=lambda: call(glob, state, pattern="**/f7*7.py"),
        everything=lambda: call(glob, state, pattern="**/*"),
        many=lambda: call(read_many_files, state, paths=["**/f7.py"]),
    )
    few, many = taken["few"] / taken["theirs"], taken["many"] / taken["theirs"]
    figure(
        "listing",
        f"50,000 files, times as long as ripgrep --files ({_load()}): glob for a few {few:.1f}, read_many_files "
        f"{many:.1f}; glob for all, by age, {taken['everything'] / taken['newest']:.1f} of ripgrep sorting by age",
    )


def test_a_command(isolated: Path) -> None:
    plain = state_in(isolated)
    confined = state_in(isolated, sandbox=detect("auto", isolated))
    assert confined.sandbox is not None

    with asyncio.Runner() as runner:

        def tool(state: RunState) -> None:
            result = runner.run(acall(shell, state, command="exit 0"))
            assert not result.is_error, result.text

        tool(plain)  # starts what is started once
        ways: dict[str, Callable[[], object]] = {
            "bare": lambda: subprocess.run(
                ["/bin/bash", "-c", "exit 0"], stdin=subprocess.DEVNULL, capture_output=True
            ),
            "alone": lambda: tool(plain),
            "boxed": lambda: tool(confined),
        }
        taken, processor = in_turns(30, **ways), in_turns(30, used, **ways)
    alone, boxed = (1000 * (taken[name] - taken["bare"]) for name in ("alone", "boxed"))
    busy = 1000 * (processor["boxed"] - processor["bare"])
    figure(
        "shell",
        f"a whole call adds {boxed:.1f} ms, {busy:.1f} ms of them processor time, confined "
        f"({confined.sandbox.status}); {alone:.1f} ms unconfined ({_load()})",
    )


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
