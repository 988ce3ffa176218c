"""How soon the terminal answers: keys while a reply streams, a stop, the queue, a resize, the first file names, the end."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e_terminal.test_exits import alive, clean
from tests.support.counts import count, soaking, within
from tests.support.figures import figure
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import Step, call, hang, text, usage
from tests.support.screen import Tty
from tests.support.terminal import ROOT, aicli, children_of, cpu, prompt, status, wakeups

PROSE = "The quick brown fox jumps over the lazy dog near the old river bank. "
A_SECOND = 1_500
"""Tokens a second of a quick model."""


class Moment(Step):
    """A step of no length that notes when the server came to it."""

    value, extra = 0.0, {}  # type: ignore[assignment]

    def __init__(self) -> None:
        object.__setattr__(self, "times", [])

    @property
    def kind(self) -> str:  # type: ignore[override]
        self.times.append(time.monotonic())  # type: ignore[attr-defined]
        return "wait"

    @property
    def when(self) -> float:
        return float(self.times[-1])  # type: ignore[attr-defined]


class Due(Step):
    """Silence until so many seconds after the first of them."""

    extra = {}  # type: ignore[assignment]

    def __init__(self, began: list[float], seconds: float) -> None:
        object.__setattr__(self, "kind", "wait")
        object.__setattr__(self, "began", began)
        object.__setattr__(self, "seconds", seconds)

    @property
    def value(self) -> float:  # type: ignore[override]
        began, now = self.began, time.monotonic()  # type: ignore[attr-defined]
        if not began:
            began.append(now)
        return float(max(0.0, began[0] + self.seconds - now))  # type: ignore[attr-defined]


def paced(words: str, tokens: int) -> list[Step]:
    """The text as so many tokens, as quick as a quick model says them."""
    size, began, steps = max(1, len(words) // tokens), [], []
    for n, at in enumerate(range(0, len(words), size * 15)):
        part = words[at : at + size * 15]
        steps += [text(part, pieces=max(1, len(part) // size)), Due(began, n * 15 / A_SECOND)]
    return steps


def echoed(tty: Tty, typed: str) -> Callable[[], bool]:
    """Does the cursor stand behind what was typed?"""

    def shown() -> bool:
        cursor, row = tty.screen.cursor, tty.screen.buffer[tty.screen.cursor.y]
        return cursor.x == 2 + len(typed) and "".join(row[x].data for x in range(2, cursor.x)) == typed

    return shown


def took(tty: Tty, began: float, shown: Callable[[], bool]) -> float:
    """Seconds until it is on the screen."""
    tty.until(shown)
    return tty.seen[-1][0] - began


def p95(delays: list[float]) -> float:
    return sorted(delays)[len(delays) * 95 // 100]


def test_keys_are_echoed_while_a_reply_streams() -> None:
    words = "\n\n".join(PROSE * 4 for _ in range(count(20, 60)))
    with ModelServer([[*paced(words, len(words) // 5), hang()]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("quick brown")
        delays: list[float] = []
        typed = ""
        for _ in range(count(1, 4)):
            for char in "typed meanwhile":
                typed += char
                began = time.monotonic()
                tty.send(char)
                delays.append(took(tty, began, echoed(tty, typed)))
                tty.quiet(0.02)
        figure("chat-key-streaming", f"p95 {p95(delays) * 1000:.0f} ms of {len(delays)} keys at 1,500 tokens a second")
        assert p95(delays) <= within(0.033)
        tty.send("\x1b")
        tty.until("⊘ stopped after")
        assert f"› {typed}" in tty.text


def test_a_stream_costs_little_and_ends_at_once() -> None:
    """20,000 tokens as a quick model says them: bytes, frames, processor, memory, and the last line comes at once."""
    half = "\n\n".join(PROSE * 4 for _ in range(count(6, 190)))
    moment, end = Moment(), "and this is the end of it."
    tokens = len(half) // 5 if not soaking() else 10_000
    steps = [*paced(half, tokens), text("\n\nhalf of it.\n\n"), *paced(half, tokens), text("\n\n" + end), moment]
    with ModelServer([steps]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("quick brown")
        costs = [(len(tty.raw), cpu(tty), status(tty, "VmRSS"), time.monotonic())]
        for mark in ("half of it.", end):
            tty.gather(mark.encode())
            costs.append((len(tty.raw), cpu(tty), status(tty, "VmRSS"), tty.seen[-1][0]))
        late = tty.seen[-1][0] - moment.when
        (b0, c0, m0, t0), (b1, c1, m1, _), (b2, c2, m2, t2) = costs
        frames = tty.raw[b0:].count(b"\x1b[?2026h")
        figure(
            "chat-tokens",
            f"{2 * tokens} tokens at {2 * tokens / (t2 - t0):.0f} a second: {(b2 - b0) / 2 / len(half):.2f} × the text, "
            f"{frames / (t2 - t0):.1f} frames a second, {c2 - c0:.2f} s CPU, last line after {late * 1000:.0f} ms; "
            f"second half: bytes {(b2 - b1) / (b1 - b0):.2f}, CPU {(c2 - c1) / max(0.01, c1 - c0):.2f} times the first, "
            f"{m2 - m1} kB more (first {m1 - m0})",
        )
        assert b2 - b0 <= 2 * 2 * len(half) + 2000 and b2 - b1 <= 1.1 * (b1 - b0) + 500
        assert frames <= 20 * (t2 - t0) + 5
        assert late <= within(0.15)
        assert c2 - c1 <= 1.1 * (c1 - c0) + 0.1 and m2 - m1 <= max(2000, 1.1 * (m1 - m0))
        if soaking():
            assert c2 - c0 <= 2.0


def test_what_is_queued_is_seen_at_once() -> None:
    with ModelServer([[text(PROSE), hang()]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("quick brown")
        delays = []
        for n in range(count(2, 20)):
            tty.send(f"message {n}")
            tty.until(f"› message {n}")
            began = time.monotonic()
            tty.send("\r")
            delays.append(took(tty, began, lambda n=n: f'queued: "message {n}"' in tty.text))
        figure("chat-queue", f"visible after {max(delays) * 1000:.0f} ms at most")
        assert max(delays) <= within(0.1)


def test_a_resize_draws_only_what_is_alive_and_at_once() -> None:
    said = "\n\n".join(f"settled {n} 之前" for n in range(30))
    with ModelServer([[said]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("settled 29")
        prompt(tty)
        tty.send("a draft")
        tty.until("› a draft")
        tty.settle(0.3)
        delays = []
        for n in range(count(2, 10)):
            start, began = len(tty.raw), time.monotonic()
            tty.resize(100 - 10 * (n % 3), 24 + n % 2)
            tty.until(
                lambda start=start: len(tty.raw) > start and "/help" in tty.raw[start:].decode("utf-8", "replace")
            )
            delays.append(tty.seen[-1][0] - began)
            tty.settle(0.2)
            drawn = tty.raw[start:]
            assert b"settled" not in drawn and len(drawn) <= 300, drawn
            assert drawn.count(b"a draft") == drawn.count(b"/help") == 1
        figure("chat-resize", f"{max(delays) * 1000:.0f} ms at most until the live lines stand anew")
        assert max(delays) <= within(0.1)


def test_idle_wakes_nobody() -> None:
    with ModelServer([["short answer"]]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("short answer")
        prompt(tty)
        tty.settle(0.6)
        spent, woken, seconds = cpu(tty), wakeups(tty), count(1, 10)
        assert tty.quiet(seconds) == 0
        spent, woken = cpu(tty) - spent, wakeups(tty) - woken
        figure("chat-idle", f"{seconds} s: 0 bytes, {spent * 100 / seconds:.2f} % CPU, {woken} times awake")
        assert woken <= 1 and spent <= 0.003 * 10


def test_a_silent_tool_costs_few_bytes_frames_and_little_time() -> None:
    with ModelServer([[call("shell", command="sleep 60")]]) as server, aicli("chat", "--yolo", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("shell  sleep 60")
        tty.quiet(1.2)
        start, spent, seconds = len(tty.raw), cpu(tty), count(2, 20)
        tty.quiet(seconds)
        part, spent = tty.raw[start:], cpu(tty) - spent
        sizes = [len(p) for p in part.split(b"\x1b[?2026h")[1:]]
        figure(
            "chat-silent-tool",
            f"{len(part) / seconds:.0f} bytes and {len(sizes) / seconds:.1f} frames a second, "
            f"{max(sizes) + 8} bytes the largest frame, {spent * 100 / seconds:.2f} % CPU",
        )
        assert len(part) <= seconds * 300 and len(sizes) <= seconds * 4 + 1
        assert max(sizes) + 8 <= 70, sorted(sizes)
        assert spent <= (0.01 * seconds if soaking() else 0.03 * seconds + 0.02)


def many_files(folders: int) -> None:
    """A hundred files in each of so many folders, in twenty more."""
    for n in range(folders):
        folder = Path(f"part{n % 20}/folder{n}")
        folder.mkdir(parents=True)
        for i in range(100):
            (folder / f"file{i}.py").touch()


@pytest.mark.timeout(count(60, 300))
def test_file_names_come_at_once_and_typing_goes_on_while_they_are_listed() -> None:
    many_files(count(12, 500))
    Path("zz_wanted.txt").touch()
    with ModelServer([]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.settle(0.3)
        began = time.monotonic()
        tty.send("@")
        first = took(tty, began, lambda: "part0/" in tty.text)
        delays, typed = [], "@"
        for char in "file99.py":
            typed += char
            began = time.monotonic()
            tty.send(char)
            delays.append(took(tty, began, echoed(tty, typed)))
        tty.until("/file99.py")
        tty.send("\x15@")
        tty.until("part0/")
        typed = "@"
        for char in "foldr19 nothing of that name"[: count(12, 28)]:
            typed += char
            began = time.monotonic()
            tty.send(char)
            delays.append(took(tty, began, echoed(tty, typed)))
        tty.send("\x15@zz_w")
        tty.until("@zz_wanted.txt")
        figure(
            "chat-files",
            f"{count(12, 500) * 100} files: the first names after {first * 1000:.0f} ms, "
            f"a key meanwhile p95 {p95(delays) * 1000:.0f} ms",
        )
        assert first <= within(0.1) and p95(delays) <= within(0.033)


WAYS: dict[str, tuple[Callable[[Tty], None], int]] = {
    "/quit": (lambda tty: tty.send("/quit\r"), 0),
    "Ctrl-D": (lambda tty: tty.send("\x04"), 0),
    "SIGTERM": (lambda tty: os.kill(tty.pid, signal.SIGTERM), 143),
    "SIGHUP": (lambda tty: os.kill(tty.pid, signal.SIGHUP), 129),
    "Ctrl-C twice": (lambda tty: (tty.send("\x03"), tty.until("again to quit"), tty.send("\x03")), 0),
    "SIGINT twice": (lambda tty: (os.kill(tty.pid, 2), tty.until("again to quit"), os.kill(tty.pid, 2)), 0),
}  # fmt: skip


STATES: dict[str, tuple[list[Step], str]] = {
    "answered": ([text("answer")], "  answer"),
    "stream": ([text("some of it "), hang()], "some of it"),
    "tool": ([call("shell", command="echo $((40+2)); sleep 60 & sleep 60")], "      42"),
    "stubborn tool": ([call("shell", command="trap '' TERM HUP INT; echo $((40+2)); sleep 60 & sleep 60")], "      42"),
    "approval": ([call("write_file", path="made", content="x")], "y once"),
}
ALWAYS = ("SIGTERM", "SIGHUP")
ENDS = {"fresh": tuple(WAYS), "answered": tuple(WAYS), **dict.fromkeys(list(STATES)[1:], ALWAYS)}
QUICK = {"fresh": ("Ctrl-C twice",), "answered": ("/quit",), "stream": ALWAYS[:1], "stubborn tool": ALWAYS[1:]}


def gone(tty: Tty, began: float) -> float:
    """Seconds until the program has ended."""
    while tty.exit_code is None:
        assert time.monotonic() < began + 10, tty.text
        tty.pump(0.005)
        tty._alive()
    return time.monotonic() - began


@pytest.mark.parametrize("state", ENDS if soaking() else QUICK)
def test_the_end_comes_at_once_and_gives_all_back(state: str) -> None:
    """What ignores every polite signal gets half a second before it is killed, and is dead before the program goes."""
    slowest = 0.0
    replies, shown = STATES.get(state, ([], ""))
    for way in ENDS[state] * 3 if soaking() else QUICK[state]:
        leave, code = WAYS[way]
        more = ["--yolo"] if "tool" in state else []
        with ModelServer([replies]) as server, aicli("chat", *more, server=server) as tty:
            prompt(tty)
            if state != "fresh":
                tty.send("go\r")
                tty.until(shown)
            if state == "answered":
                prompt(tty)
            tty.settle(0.1)
            below = children_of(tty.pid)
            began = time.monotonic()
            leave(tty)
            slowest = max(slowest, gone(tty, began))
            assert tty.wait() == code
            clean(tty)
            assert [pid for pid in below if alive(pid)] == []
    figure(f"chat-end:{state.replace(' ', '-')}", f"{', '.join(ENDS[state])}: gone after {slowest:.2f} s at most")
    assert slowest <= within(2.0 if state == "stubborn tool" else 0.5)


def test_a_second_interrupt_while_it_stops_ends_it() -> None:
    """Also what ignores every polite signal is dead soon."""
    reply = STATES["stubborn tool"][0]
    with ModelServer([reply]) as server, aicli("chat", "--yolo", server=server) as tty:
        prompt(tty)
        tty.send("go\r")
        tty.until("      42")
        below = children_of(tty.pid)
        os.kill(tty.pid, signal.SIGINT)
        tty.until("stopping…")
        began = time.monotonic()
        os.kill(tty.pid, signal.SIGINT)
        assert gone(tty, began) <= within(0.5)
        assert tty.wait() == 130
        clean(tty)
        assert below
        while any(alive(pid) for pid in below):  # their reaper outlives us until they are dead
            assert time.monotonic() < began + within(2.0)
            time.sleep(0.02)


RAISES = """
import asyncio, sys
from aicli.ui.chat_screen import ChatScreen
from aicli.ui.words import Words

async def main():
    screen = ChatScreen(Words("en"))
    try:
        screen.stage.open()
        screen.say("**some** text")
        await asyncio.sleep(0.2)
        if sys.argv[1] == "task":
            raise RuntimeError("a fault of ours")
        screen.stage.bottom = lambda columns, limit: [][1]
        screen.stage.frames.changed()
        await asyncio.sleep(60)
    finally:
        if sys.argv[1] != "task":
            screen.stage.close()

asyncio.run(main())
"""


@pytest.mark.parametrize(("where", "said"), [("task", "a fault of ours"), ("frame", "IndexError")])
def test_a_fault_of_ours_gives_the_terminal_back_and_is_said(where: str, said: str) -> None:
    with Tty([sys.executable, "-c", RAISES, where], env={"PYTHONPATH": str(ROOT)}, rows=50) as tty:
        tty.until(said)
        assert tty.wait() == 1
        assert tty.stty_back and tty.modes_left == set() and not tty.screen.cursor.hidden
        assert tty.lines[0] == "  some text"


def test_the_live_lines_never_take_more_than_their_share() -> None:
    """However much is queued, typed, running and offered: the newest settled line stays in sight."""
    said = "\n\n".join(f"settled {n}" for n in range(30))
    calls = [call("shell", command=f"seq {n} 100{n}; sleep 60") for n in range(3)]
    for rows in (24, 12):
        with (
            ModelServer([[text(said), *calls, usage(900, 20)]]) as server,
            aicli("chat", "--yolo", server=server, columns=60, rows=rows) as tty,
        ):
            prompt(tty)
            tty.send("go\r")
            tty.until("sleep 60")
            for n in range(4):
                tty.send(f"queued {n}\r")
                tty.until(f'queued: "queued {n}"')
            for n in range(14):
                tty.send(f"row {n}\n")
            tty.until("row 13")
            tty.settle(0.2)
            last = max(y for y, row in enumerate(tty.lines) if row.strip().startswith("settled"))
            below = [row for row in tty.lines[last + 1 :] if row]
            assert tty.lines[last].strip() == "settled 29" and len(below) <= min(10, rows - 4), tty.text
            assert tty.lines[-1].endswith("Esc to stop")
