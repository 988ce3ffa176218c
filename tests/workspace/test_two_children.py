"""A search by two children finds what one finds, in the same order, whatever they share out; nothing of them stays."""

from __future__ import annotations

import copy
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

import aicli
from aicli.workspace.crew import PROGRAM
from aicli.workspace.found import Found, Gathering, Task
from aicli.workspace.search import request, search
from aicli.workspace.searchfile import BLOCK, PART, Stretch
from tests.support.counts import within
from tests.tools.processes import alive_with

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX only")


@pytest.fixture(autouse=True)
def no_ripgrep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")


def both(root: Path, pattern: str, names: list[str], **more: object) -> Found:
    one, two = (search(request(root, pattern, **more), names, children=n) for n in (1, 2))  # type: ignore[arg-type]
    assert one == two
    return two


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    root, rng = tmp_path_factory.mktemp("tree"), random.Random(3)
    words = ["alpha", "beta", "x1", "naïve", "你好", "gamma 7", ""]
    names = []
    for n in range(1_100):
        folder = root / f"d{n // 97}"
        folder.mkdir(exist_ok=True)
        lines = [" ".join(rng.choices(words, k=3)) for _ in range(rng.randrange(8))]
        data = rng.choice(["\n", "\r\n", "\r"]).join(lines).encode(rng.choice(["utf-8"] * 30 + ["gb18030", "utf-16"]))
        (folder / f"f{n}").write_bytes(data if n % 50 else b"\0\1alpha 7" + data)
        names.append(f"d{n // 97}/f{n}")
    names[700] = "d0/gone"
    return root, names


@pytest.mark.parametrize("pattern", ["alpha beta", r"\d$", "你好 ?x"])
def test_a_tree(tree: tuple[Path, list[str]], pattern: str) -> None:
    root, names = tree
    found = both(root, pattern, names, limit=100_000)
    assert found.complete and found.lines and ("d0/gone", "No such file or directory") in found.skipped
    at = {name: i for i, name in enumerate(names)}
    assert [line.path for line in found.lines] == sorted((line.path for line in found.lines), key=at.__getitem__)
    for more in ({"context": 1}, {"mode": "files"}, {"mode": "count"}, {}):
        part = both(root, pattern, names, limit=len(found.counts) - 1, **more)
        assert not part.complete and sum(line.matched for line in part.lines) in (0, len(found.counts) - 1)
    exact = both(root, pattern, names, limit=sum(line.matched for line in found.lines))
    assert exact == found


def _log(size: int, seed: int) -> bytes:
    rng, line = random.Random(seed), b"2026-01-07 12:00:00 INFO id=%d ok\n"
    block = b"".join(line % rng.randrange(10**9) for _ in range(4_000))
    return (block * (size // len(block) + 1))[:size]


def test_a_large_file(tmp_path: Path) -> None:
    data = bytearray(_log(2 * PART, 1) + _log(PART + 777, 6).replace(b"\n", b"\r\n"))
    for at in (0, PART - 3, PART, 2 * PART - 1, 2 * PART + 5, len(data) - 8):
        data[at : at + 6] = b"needle"
    data[PART + BLOCK : PART + 3 * BLOCK] = b"y" * (2 * BLOCK)  # one line over two blocks
    data[2 * PART - 5 * BLOCK // 2 : 2 * PART + BLOCK] = b"z" * (7 * BLOCK // 2)  # and one over the end of a part
    (tmp_path / "log").write_bytes(data)
    (tmp_path / "b").write_text("needle\n")
    for pattern in (r"needle.*\d", "z{90}"):
        both(tmp_path, pattern, ["b", "log", "b"], limit=100_000)
    numbers = [line.number for line in both(tmp_path, "needle", ["log"]).lines]
    assert numbers == [n for n, line in enumerate(bytes(data).split(b"\n"), 1) if b"needle" in line]
    both(tmp_path, "needle", ["log"], limit=2)
    both(tmp_path, "ok", ["log", "b"], limit=7)
    assert both(tmp_path, "ok", ["log"], mode="count").counts == {"log": bytes(data).count(b"ok")}


def test_a_hit_far_behind_is_numbered(tmp_path: Path) -> None:
    data = _log(3 * PART, 2) + b"a needle"
    (tmp_path / "log").write_bytes(data)
    assert both(tmp_path, "needle", ["log"]).lines[0].number == data.count(b"\n") + 1


def test_a_large_file_of_another_encoding_is_read_as_a_whole(tmp_path: Path) -> None:
    line = "hi 你好，世界很大，我们都在这里\n".encode("gbk")
    data = _log(PART, 3) + line + _log(PART, 4) + b"needle caf\xe9\n" + line + _log(PART, 5) + b"a needle\n"
    (tmp_path / "log").write_bytes(data)
    assert len(both(tmp_path, "needle", ["log"]).lines) == 2
    assert both(tmp_path, "hi 你好", ["log"]).lines[0].text.endswith("hi 你好，世界很大，我们都在这里")


def test_stretches_share_out_a_file(tmp_path: Path) -> None:
    rng = random.Random(9)
    for trial in range(20):
        ends = [b"\n"] * rng.randrange(9)
        data = b"".join(b"x" * rng.randrange(3 * BLOCK) + end for end in ends) + b"x" * rng.randrange(2) * BLOCK
        (tmp_path / "f").write_bytes(data)
        size = BLOCK * rng.randrange(1, 4)
        fd = os.open(tmp_path / "f", os.O_RDONLY)
        try:
            whole, lines = b"", 0
            for start in range(0, len(data), size):
                stretch = Stretch(fd, start, start + size if start + size < len(data) else -1)
                assert stretch.start == len(whole) or stretch.start >= len(data), trial
                while block := stretch.read():
                    whole += block
                assert whole.endswith(b"\n") or len(whole) in (0, len(data))
                lines += Stretch(fd, start, start + size if start + size < len(data) else -1).lines()
            assert whole == data and lines == data.count(b"\n")
        finally:
            os.close(fd)


def test_two_that_hang_are_ended(tmp_path: Path) -> None:
    names = [f"f{n}" for n in range(1_200)]
    for name in names:
        (tmp_path / name).write_text("a" * 40 + "!\n")
    stop, seen = threading.Event(), []

    def given() -> Iterator[str]:
        yield from names
        while len(alive_with("searcher", os.getpid())) < 2:
            time.sleep(0.01)
        seen.append(2)
        stop.set()

    start = time.monotonic()
    found = search(request(tmp_path, r"(a+)+$"), given(), stop=stop, limit=60, children=2)
    assert seen == [2] and not found.complete and not found.timed_out
    assert time.monotonic() - start < 30 and not alive_with("searcher", os.getpid())


def test_what_was_found_out_of_order_counts_at_the_end() -> None:
    """The first child hangs in its second file, the second one has done all but a count in a large file."""
    order = deque([Task("names"), Task("names"), Task("names")])
    gathering = Gathering(9)
    order[0].take(["h", "a", 1, "x", True])
    parts = order[1].take(["large", "log", 3 * PART])
    order[1].take(["done", True, None])
    for n, part in enumerate(parts):
        for record in [["h", "log", 5, "x", True]] * (n != 1):
            part.take(record)
        part.take(["done", True, 7 if n != 1 else None])
    assert not gathering.add(order) and not gathering.found.lines
    order[0].take(["done", True, None])
    (count,) = gathering.add(order)
    assert count.head == ["count", 0, "log", PART, 2 * PART] and not gathering.add(order)
    assert [(line.path, line.number) for line in gathering.found.lines] == [("a", 1)]
    order[1].take(["skip", "b", "gone"])
    for known, numbers in ((False, [1, 5]), (True, [1, 5, 112])):
        if known:
            count.take(["done", True, 100])
        late = copy.deepcopy((gathering, order))
        late[0].add(late[1], final=True)
        assert [line.number for line in late[0].found.lines] == numbers and late[0].found.skipped == [("b", "gone")]


def test_a_part_that_can_not_be_read_leads_to_the_whole_file() -> None:
    order, gathering = deque([Task("names")]), Gathering(9)
    parts = order[0].take(["large", "log", 2 * PART])
    for record in (["done", True, None], ["skip", "b", "gone"]):
        order[0].take(record)
    for part in parts:
        part.take(["again"])
        part.take(["done", True, None])
    (whole,) = gathering.add(order)
    assert whole.head == ["whole", 0, "log"]
    for record in (["skip", "log", "gone"], ["done", True, None]):
        whole.take(record)
    assert not gathering.add(order) and not order
    assert gathering.found.skipped == [("log", "gone"), ("b", "gone")]


def test_a_listing_that_takes_its_time_can_be_cancelled(tmp_path: Path) -> None:
    stop, go_on = threading.Event(), threading.Event()

    def names() -> Iterator[str]:
        stop.set()
        go_on.wait(30)
        yield "a"

    start = time.monotonic()
    assert not search(request(tmp_path, "x"), names(), stop=stop).complete
    assert time.monotonic() - start < 15
    go_on.set()


def test_a_child_that_nobody_ends_ends_itself(tmp_path: Path) -> None:
    """The program that started it may be killed at any time."""
    (tmp_path / "a").write_text("a" * 40 + "!\n")
    ask = {**vars(request(tmp_path, r"(a+)+$")), "seconds": 1}
    argv = [sys.executable, "-I", "-S", "-c", PROGRAM, str(Path(aicli.__file__).parents[1])]
    told = json.dumps(ask).encode() + b'\n["names", 2]\na\0'
    ended = subprocess.run(argv, input=told, capture_output=True, timeout=60)
    assert ended.returncode in (-signal.SIGKILL, -signal.SIGXCPU)


@pytest.mark.skipif(sys.platform != "linux", reason="who its children are is read from the process table")
def test_a_child_goes_with_its_parent(tmp_path: Path) -> None:
    """Even out of one match that never ends. The parent is killed as nothing can prevent."""
    (tmp_path / "a").write_text("a" * 60 + "!\n")
    code = (
        "import sys; from pathlib import Path; from aicli.workspace.search import request, search\n"
        "search(request(Path(sys.argv[1]), r'(a+)+$'), ['a'], limit=300, children=1)"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(aicli.__file__).parents[1])}
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=env)
    try:
        end = time.monotonic() + 30
        while not (children := alive_with("searcher", parent.pid)) or _seconds_used(children[0]) < 0.3:
            assert time.monotonic() < end and parent.poll() is None
            time.sleep(0.02)
    finally:
        parent.kill()
        parent.wait()
    killed = time.monotonic()
    while _seconds_used(children[0]) >= 0:
        assert time.monotonic() - killed < within(2)
        time.sleep(0.02)


def _seconds_used(pid: int) -> float:
    """Of a processor, by a process; -1 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return -1
    return -1 if fields[0] in "ZX" else (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
