"""Random keys, resizes and signals over a scripted agent: no decision nobody made, no lost draft, nothing left behind."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.e2e_terminal.test_exits import alive, clean
from tests.support.counts import count
from tests.support.figures import figure
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import Step, call, error, hang, text, think, usage, wait
from tests.support.screen import Tty
from tests.support.terminal import aicli, children_of, prompt

USED = usage(900, 20)
KEYS = [
    "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x7f", "\x17", "\x01", "\x05", "\x0b", "\x19", "\x1f", "\x12ab", "\t",
    "\n", "\x1b\r", "\x0f", "\x1b[I", "\x1b[O", "\x1bb", "\x1bf", "\x1b[3~", "\x1a", "\x07", "\x1b[99~",
]  # fmt: skip
WORDS = ["yes", "no ", "always", "sn", "A1", "你好", "👨‍👩‍👧", "yy", "1 2", "@d", "é́", "，。", "ys an eh", "ok\\"]
PASTES = ["y", "a\nb\nc", "\n".join(f"row {n}" for n in range(30)), "s\r\n", "\x1b[A"]


def replies(seed: int) -> list[list[Step]]:
    """Each asks, streams, works, fails or hangs; a command that changes something always asks."""
    pick = random.Random(seed)
    made: list[list[Step]] = []
    for n in range(4000):
        made.append(
            pick.choice(
                [
                    lambda n=n: [
                        text("Some **words** and 中文。\n\n| a | b |\n|---|---|\n| 1 | ⚠️ |\n", pieces=9),
                        USED,
                    ],
                    lambda n=n: [think("well, ", pieces=3), call("shell", command=f"touch decided-{n}"), USED],
                    lambda n=n: [call("write_file", path=f"decided-{n}", content="x\n" * 50), USED],
                    lambda n=n: [call("ls"), call("shell", command=f"touch decided-{n}"), USED],
                    lambda n=n: [step for k in range(12) for step in (text(f"piece {k} "), wait(0.05))],
                    lambda n=n: [call("ask_user", question="Which 哪个?", options=["a", "b"]), USED],
                    lambda n=n: [error(400, "no")],
                    lambda n=n: [text("and then "), hang()],
                ]
            )()
        )
    return made


class Hand:
    """Types at random, but never a letter that stands alone in time: those are decisions."""

    def __init__(self, tty: Tty, seed: int) -> None:
        self.tty, self.pick = tty, random.Random(seed)
        self.interrupted = 0.0

    def act(self) -> None:
        pick, tty = self.pick, self.tty
        what = pick.randrange(10)
        if what < 4:
            for _ in range(pick.randrange(1, 4)):
                tty.send(pick.choice(WORDS) + pick.choice(WORDS))
                tty.quiet(pick.uniform(0.0, 0.15))
        elif what < 6:
            tty.send(pick.choice(KEYS))
        elif what == 6:
            tty.send(f"\x1b[200~{pick.choice(PASTES)}\x1b[201~")
        elif what == 7:
            tty.resize(pick.randrange(12, 130), pick.randrange(5, 40))
        elif what == 8:
            tty.send(pick.choice(["\r", "\r", "\x1b", "\x12\x1b"]))
        else:
            self.interrupt()
        tty.quiet(pick.choice([0.0, 0.02, 0.1, 0.9]))

    def interrupt(self) -> None:
        """A key or a signal, never two within the time in which the second one would quit."""
        if time.monotonic() - self.interrupted > 4:
            self.interrupted = time.monotonic()
            if self.pick.random() < 0.5:
                os.kill(self.tty.pid, signal.SIGINT)
            else:
                self.tty.send("\x03")

    def draft_is_kept(self) -> None:
        """What is typed is in the line, whatever happens around it."""
        tty, word = self.tty, f"word{self.pick.randrange(1000, 9999)}"
        tty.resize(80, 24)
        for _ in range(20):
            tty.send("\x1b")
            tty.quiet(0.9)
            if "/help" in tty.text.split("\n")[-1]:
                break
        tty.quiet(max(0.0, self.interrupted + 2.2 - time.monotonic()))
        self.interrupted = time.monotonic()
        tty.send("\x03")
        tty.quiet(0.1)
        tty.until(lambda: tty.text.split("\n")[-2] == "›")
        tty.send(word[:4])
        tty.resize(self.pick.randrange(30, 90), 20)
        tty.send(word[4:])
        tty.until(lambda: f"› {word}" in tty.text)
        tty.send("\x15")


@pytest.mark.timeout(count(90, 900))
def test_random_keys_resizes_and_signals(isolated: Path) -> None:
    seed = int(os.environ.get("AICLI_SEED", "7"))
    end = time.monotonic() + count(3, 600)
    acts = 0
    with (
        ModelServer(replies(seed), strict=False) as server,
        aicli("chat", server=server, env={"VISUAL": "true"}) as tty,
    ):
        prompt(tty)
        hand = Hand(tty, seed)
        while time.monotonic() < end:
            for _ in range(25):
                hand.act()
                acts += 1
                assert tty.exit_code is None and tty._alive(), tty.text
            hand.draft_is_kept()
        assert list(isolated.glob("decided-*")) == []
        below = children_of(tty.pid)
        tty.send("\x04")
        assert tty.wait() == 0
        clean(tty)
        assert [pid for pid in below if alive(pid)] == []
        asked = len(server.requests)
        kept = "no decision nobody made, no draft lost, no process left"
        figure("terminal-soak", f"{acts} random acts in {count(3, 600)} s, {asked} requests: {kept}")
