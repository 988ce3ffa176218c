"""`python -m benchmarks`: every figure of the budget in one run, beside two floors, as Markdown tables.

`--write` puts them into docs/figures.md.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.server import Bench

HERE = Path(__file__).parent
FIGURES = HERE.parent / "docs" / "figures.md"
SPEED = "\n## Speed\n"
RUNS = int(os.environ.get("BENCH_RUNS", "7"))
TOKENS = 20_000
TURNS = 20
MANY = int(os.environ.get("BENCH_TURNS", "300"))


@dataclass
class Figure:
    """One process. Seconds, megabytes; `turns` are the seconds between its requests, `screen` the bytes it wrote."""

    wall: float
    cpu: float
    peak_mb: float
    first: float
    screen: int
    turns: list[float]


def once(command: list[str], cwd: Path, server: Bench) -> Figure:
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env |= {"HOME": str(cwd.parent), "XDG_STATE_HOME": str(cwd.parent / "state"), "OPENAI_API_KEY": "none"}
    begin = time.time()
    with tempfile.TemporaryFile() as screen:
        process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=screen, stderr=screen)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.time() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        size = screen.tell()
        if process.returncode:
            screen.seek(0)
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {screen.read(2_000).decode()}")
    times = [at for at, _ in server.requests]
    turns = [b - a for a, b in itertools.pairwise(times)]
    first = times[0] - begin if times else 0.0
    return Figure(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, first, size, turns)


def measured(
    commands: dict[str, list[str]], cwd: Path, server: Bench, runs: int = RUNS, **job: int
) -> dict[str, Figure]:
    """Medians. The commands take turns, so that what else the machine does touches them alike."""
    found: dict[str, list[Figure]] = {name: [] for name in commands}
    for n in range(runs + 1):
        for name, command in commands.items():
            server.reset(**job)
            figure = once(command, cwd, server)
            if n:  # the first warms caches
                found[name].append(figure)
    return {name: middle(figures) for name, figures in found.items()}


def middle(figures: list[Figure]) -> Figure:
    wall, cpu, peak, first = (median(getattr(f, name) for f in figures) for name in ("wall", "cpu", "peak_mb", "first"))
    return Figure(wall, cpu, peak, first, figures[-1].screen, figures[-1].turns)


def programs(url: str) -> dict[str, list[str]]:
    python = sys.executable
    ask = [python, "-m", "aicli", "agent", "run", "general", "hi", "-m", "openai:bench", "--base-url", url]
    return {
        "floor, standard library": [python, str(HERE / "floor_stdlib.py"), url],
        "floor, httpx": [python, str(HERE / "floor_httpx.py"), url],
        "aicli": [*ask, "--max-turns", "1000"],
    }


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def starts(cwd: Path, server: Bench) -> list[str]:
    python = sys.executable
    found = measured(
        {
            "bare Python": [python, "-c", "pass"],
            "`aicli --version`": [python, "-m", "aicli", "--version"],
            "`aicli --help`": [python, "-m", "aicli", "--help"],
        },
        cwd,
        server,
    )
    rows = [[name, f"{f.wall:.3f}", f"{f.cpu:.3f}", f"{f.peak_mb:.0f}"] for name, f in found.items()]
    return table(["start", "wall s", "CPU s", "peak MB"], rows)


def jobs(cwd: Path, server: Bench) -> list[str]:
    commands = programs(server.url)
    one = measured(commands, cwd, server)
    size = server.requests[0][1] / 1000
    twenty = measured(commands, cwd, server, turns=TURNS)
    stream = measured(commands, cwd, server, runs=3, stream=TOKENS)
    turn = {n: (twenty[n].wall - one[n].wall) / TURNS * 1000 for n in commands}
    token = {n: (stream[n].cpu - one[n].cpu) / TOKENS * 1e6 for n in commands}
    rows = [
        [
            name,
            f"{f.first:.2f} / {f.wall:.2f} / {f.cpu:.2f} / {f.peak_mb:.0f}",
            f"{twenty[name].wall:.2f} / {turn[name]:.1f} / {twenty[name].peak_mb:.0f}",
            f"{token[name]:.1f}",
            f"{f.screen}",
        ]
        for name, f in one.items()
    ]
    head = [
        "program",
        "one answer: first request s / whole s / CPU s / peak MB",
        f"{TURNS} turns: whole s / ms a turn / MB",
    ]
    ours, floor = one["aicli"], one["floor, httpx"]
    return [
        *table([*head, "µs CPU a token", "bytes written for one answer"], rows),
        f"aicli against the httpx floor: first request {ours.first / floor.first:.2f} times, whole "
        f"{ours.wall / floor.wall:.2f} times, CPU {ours.cpu / floor.cpu:.2f} times, a token "
        f"{token['aicli'] / token['floor, httpx']:.2f} times, a turn {turn['aicli'] - turn['floor, httpx']:.1f} ms more. "
        f"Its first request has {size:.1f} kB.",
        "",
    ]


def long_run(cwd: Path, server: Bench) -> list[str]:
    """Does a turn cost more after many others?"""
    few = measured({"aicli": programs(server.url)["aicli"]}, cwd, server, runs=1, turns=5)["aicli"]
    many = measured({"aicli": programs(server.url)["aicli"]}, cwd, server, runs=1, turns=MANY)["aicli"]
    early, late = median(many.turns[5:25]) * 1000, median(many.turns[-20:]) * 1000
    return [
        f"{MANY} turns in one run: {early:.1f} ms a turn at the start and {late:.1f} ms at the end, with the bytes of a "
        f"history that grows; peak memory {many.peak_mb - few.peak_mb:.1f} MB above that of 5 turns."
    ]


def main() -> None:
    server = Bench()
    with tempfile.TemporaryDirectory() as folder:
        cwd = Path(folder) / "work"
        cwd.mkdir()
        for n in range(1, MANY + 1):
            (cwd / f"f{n}.txt").write_text(f"{n}\n")
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        lines = [
            f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {load:.1f} at the start; medians of {RUNS}.",
            "",
            *starts(cwd, server),
            *jobs(cwd, server),
            *long_run(cwd, server),
        ]
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if "--write" in sys.argv:
        goals = FIGURES.read_text("utf-8").partition(SPEED)[0] if FIGURES.exists() else "# Figures\n"
        FIGURES.write_text(f"{goals}{SPEED}\nWritten by `python -m benchmarks --write`.\n\n{text}", "utf-8")


if __name__ == "__main__":
    main()
