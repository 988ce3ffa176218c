"""What start-up and a turn cost, in what can't be noisy: modules, requests, bytes, writes, system calls, memory."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, TextPart
from aicli.content.request import ModelRequest
from aicli.models.base import ModelInfo
from aicli.models.chat_messages import Kept
from aicli.models.profiles import PROFILES
from aicli.models.providers import openai
from benchmarks.server import Bench
from tests.support.counts import count

ROOT = Path(__file__).parents[1]
STRACE = shutil.which("strace")
traced = pytest.mark.skipif(
    STRACE is None or subprocess.run([STRACE, "true"], capture_output=True).returncode != 0,
    reason="strace is not here, or not allowed to trace",
)


@pytest.fixture(scope="module")
def server() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.shutdown()
    bench.server_close()


ENTRY = (
    "import sys\nfrom aicli.__main__ import main\ntry:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
)


def run(server: Bench, *flags: str, before: tuple[str, ...] = (), entry: tuple[str, ...] = ("-m", "aicli")) -> str:
    """One task in the current folder; returns stderr."""
    command = [*before, sys.executable, *entry, "agent", "run", "general", "hi"]
    command += ["-m", "openai:bench", "--base-url", server.url, "--max-turns", "1000", *flags]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none"}
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    return done.stderr


def files(number: int) -> None:
    for n in range(1, number + 1):
        Path(f"f{n}.txt").write_text(f"{n}\n")


NOT_FOR_ONE_ANSWER = (
    *("prompt_toolkit", "questionary", "rich", "pygments", "markdown_it", "markdownify", "bs4", "html.parser"),
    *("pydantic", "pydantic_core", "annotated_types", "importlib.metadata"),
    *("httpx", "httpcore", "h11", "anyio", "http.client", "urllib.request", "pathspec", "jsonschema", "mcp", "numpy"),
    *(
        "aicli.models.dialects",
        "aicli.models.embedded.engine",
        "aicli.ui.live",
        "aicli.ui.markdown",
        "aicli.ui.prompts",
    ),
    *("aicli.commands.chat", "aicli.commands.menu", "aicli.commands.eval", "aicli.testing", "aicli.evaluate"),
    *("aicli.models.providers.ollama", "aicli.models.providers.anthropic", "aicli.models.providers.gemini"),
    *("aicli.models.providers.responses", "aicli.models.providers.embedded"),
)


def test_one_answer_loads_only_what_it_needs(server: Bench) -> None:
    server.reset()
    run(server)  # makes the caches
    loaded = set(run(server, entry=("-c", ENTRY)).splitlines()[-1].split())
    assert {"asyncio", "aicli.models.providers.openai"} <= loaded
    assert sorted(name for name in NOT_FOR_ONE_ANSWER if name in loaded) == []
    assert len(loaded) < 450


def test_calls_that_fit_as_they_stand_need_no_pydantic(server: Bench) -> None:
    files(3)
    server.reset(turns=3)
    loaded = set(run(server, "-q", entry=("-c", ENTRY)).splitlines()[-1].split())
    assert len(server.requests) == 4
    assert {"pydantic", "pydantic_core"} & loaded == set()


def test_a_start_makes_few_classes_and_patterns() -> None:
    """Most are made at their first use; this many are used by one answer."""
    code = (
        "import re, sys\nfrom aicli import late, runtime\n"
        "sys.stdout.write(f'{len(late.waiting)} ')\n"
        "sys.stdout.write(str(sum(type(v) is late.regex and 'search' not in vars(v)\n"
        "  for m in list(sys.modules.values()) if m.__name__.startswith('aicli') for v in vars(m).values())))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    classes, patterns = map(int, done.stdout.split())
    assert classes > 90
    assert patterns > 20


def test_one_answer_is_one_request_of_few_bytes(server: Bench) -> None:
    server.reset()
    run(server)
    full = [size for _, size in server.requests]
    server.reset()
    run(server, "--num-ctx", "8192")
    compact = [size for _, size in server.requests]
    assert len(full) == len(compact) == 1
    assert full[0] <= 8_000
    assert compact[0] <= 4_000


@traced
def test_a_turn_writes_and_syncs_its_log_a_fixed_number_of_times(server: Bench) -> None:
    files(13)

    def calls(turns: int) -> tuple[int, int]:
        server.reset(turns=turns)
        trace = Path(f"trace{turns}")
        flags = ("-f", "-y", "-qq", "-e", "trace=write,writev,pwrite64,fsync,fdatasync", "-o", str(trace))
        run(server, before=(str(STRACE), *flags))
        lines = [line for line in trace.read_text(errors="replace").splitlines() if "/sessions/" in line]
        syncs = sum("sync(" in line for line in lines)
        return len(lines) - syncs, syncs

    few, many = calls(3), calls(13)
    assert (many[0] - few[0]) / 10 <= 6, "writes of the log a turn"
    assert (many[1] - few[1]) / 10 <= 1, "syncs of the log a turn"


@traced
def test_a_large_folder_is_not_scanned_before_the_first_request(server: Bench, isolated: Path) -> None:
    """The first request leaves after as many system calls in a folder of many files as in one of few."""

    def calls(folder: Path) -> dict[str, int]:
        os.chdir(folder)
        server.reset()
        trace = isolated / "trace"
        flags = ("-f", "-qq", "-e", "trace=openat,getdents64,newfstatat,lstat,stat,statx,sendto", "-o", str(trace))
        run(server, before=(str(STRACE), *flags))
        lines = trace.read_text(errors="replace").splitlines()
        sent = next(n for n, line in enumerate(lines) if "POST " in line)
        names = [match[1] for line in lines[:sent] if (match := re.match(r"\d+ +(\w+)\(", line))]
        return {name: names.count(name) for name in set(names)}

    small, large = isolated / "small", isolated / "large"
    for folder, number in ((small, 20), (large, count(2_000, 50_000))):
        for n in range(20):
            (folder / f"part{n}").mkdir(parents=True)
        for n in range(number):
            (folder / f"part{n % 20}" / f"f{n}.txt").write_text("x")
    calls(small)  # makes the caches
    few, many = calls(small), calls(large)
    assert {name: many[name] for name in many if abs(many[name] - few.get(name, 0)) > 10} == {}


PEAK = (
    "import sys\nfrom aicli.__main__ import main\ntry:\n    main()\nfinally:\n"
    "    print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0], file=sys.stderr)"
)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell a process's own peak")
def test_memory_stays_flat_over_many_turns(server: Bench) -> None:
    turns = count(60, 500)
    files(turns)

    def peak(turns: int) -> float:
        server.reset(turns=turns)
        found = int(run(server, "-q", entry=("-c", PEAK)).splitlines()[-1]) / 1024
        assert len(server.requests) == turns + 1
        return found

    few = peak(3)
    assert few < 65, "MB of a short run"
    assert peak(turns) - few < 20, "MB more after many turns"


def test_a_message_is_encoded_once() -> None:
    profile = next(p for p in PROFILES if p.name == "openai")
    info = ModelInfo(provider="openai", name="bench")
    history = [Message.user("hi")]
    kept: Kept = {}
    bodies = []
    for n in range(3):
        call = FunctionCallPart(id=f"c{n}", name="ls", args={"path": "."})
        answer = FunctionResponsePart(id=f"c{n}", name="ls", content=(TextPart(text="a"),))
        history += [Message(role="model", parts=(call,)), Message(role="tool", parts=(answer,))]
        request = ModelRequest(system="s", messages=tuple(history))
        body = openai.encode(request, info, frozenset(), profile, kept)
        assert body == openai.encode(request, info, frozenset(), profile)
        bodies.append(body["messages"])
    assert all(a is b for a, b in zip(bodies[0][1:], bodies[2][1:], strict=False))
