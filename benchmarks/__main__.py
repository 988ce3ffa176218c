"""`python -m benchmarks`: every figure of the budget in one run, beside the floors, as a Markdown table."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.server import Bench

HERE = Path(__file__).parent
RUNS = int(os.environ.get("BENCH_RUNS", "7"))
TOKENS = 20_000


@dataclass
class Figure:
    wall: float
    cpu: float
    peak_mb: float
    first: float


def once(command: list[str], cwd: Path, server: Bench) -> Figure:
    env = {**os.environ, "HOME": str(cwd.parent), "XDG_STATE_HOME": str(cwd.parent / "state"), "OPENAI_API_KEY": "none"}
    begin = time.time()
    process = subprocess.Popen(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.time() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    first = server.requests[0][0] - begin if server.requests else 0.0
    return Figure(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, first)


def measured(command: list[str], cwd: Path, server: Bench, runs: int = RUNS, **job: int) -> Figure:
    figures = []
    for n in range(runs + 1):
        server.reset(**job)
        figure = once(command, cwd, server)
        if n:  # the first warms caches
            figures.append(figure)
    return Figure(*(median(getattr(f, name) for f in figures) for name in ("wall", "cpu", "peak_mb", "first")))


def programs(url: str) -> dict[str, list[str]]:
    python = sys.executable
    ask = [python, "-m", "aicli", "agent", "run", "general", "hi", "-m", "openai:bench", "--base-url", url]
    return {
        "floor, standard library": [python, str(HERE / "floor_stdlib.py"), url],
        "floor, httpx": [python, str(HERE / "floor_httpx.py"), url],
        "aicli": [*ask, "--max-turns", "1000"],
    }


def row(name: str, command: list[str], cwd: Path, server: Bench) -> tuple[str, dict[str, float]]:
    one = measured(command, cwd, server)
    size = server.requests[0][1] / 1000
    twenty = measured(command, cwd, server, turns=20)
    stream = measured(command, cwd, server, runs=3, stream=TOKENS)
    per_turn = (twenty.wall - one.wall) / 20 * 1000
    token = (stream.cpu - one.cpu) / TOKENS * 1e6
    cells = (
        f"{one.first:.2f} / {one.wall:.2f} / {one.peak_mb:.0f}",
        f"{twenty.wall:.2f} / {per_turn:.1f} / {twenty.peak_mb:.0f}",
        f"{token:.1f}",
        f"{size:.1f}",
    )
    figures = {"first": one.first, "turn": per_turn, "token": token}
    return f"| {name} | " + " | ".join(cells) + " |", figures


def main() -> None:
    resource.getrusage(resource.RUSAGE_CHILDREN)
    server = Bench()
    with tempfile.TemporaryDirectory() as folder:
        cwd = Path(folder) / "work"
        cwd.mkdir()
        for n in range(1, 21):
            (cwd / f"f{n}.txt").write_text(f"{n}\n")
        start = {
            words: measured([sys.executable, "-m", "aicli", words], cwd, server).wall
            for words in ("--version", "--help")
        }
        bare = measured([sys.executable, "-c", "pass"], cwd, server).wall
        lines = [
            "| program | first request s / whole s / peak MB | 20 turns: whole s / ms a turn / peak MB "
            "| µs CPU a token | first request KB |",
            "|---|---|---|---|---|",
        ]
        found = {}
        for name, command in programs(server.url).items():
            line, found[name] = row(name, command, cwd, server)
            lines.append(line)
        floor, ours = found["floor, httpx"], found["aicli"]
        lines += [
            "",
            f"Start: bare Python {bare:.3f} s, `--version` {start['--version']:.3f} s, `--help` {start['--help']:.3f} s.",
            f"Against the httpx floor: first request {ours['first'] / floor['first']:.2f} times, "
            f"a token {ours['token'] / floor['token']:.2f} times, a turn {ours['turn'] - floor['turn']:.1f} ms more.",
        ]
    sys.stdout.write("\n".join(lines) + "\n")


main()
