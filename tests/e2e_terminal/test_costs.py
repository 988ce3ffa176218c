"""What the terminal costs: start and keys. CPU is the program's own, so that a busy machine changes little."""

from __future__ import annotations

import os
import time

from aicli.ui.buffer import items_of
from tests.support.counts import count, within
from tests.support.figures import figure
from tests.support.model_server import ModelServer
from tests.support.terminal import TICK, aicli, cpu, prompt

TYPED = "what does this do, 为什么会这样，and why is it so? é ⚠️ 购物车（cart）: 10.07 != 10.08; "


def test_the_line_takes_keys_before_the_program_is_whole() -> None:
    """0.30 s is the aim; on a busy machine the processor's time stands for it."""
    with ModelServer([]) as server:
        spent, passed = [], []
        for _ in range(count(2, 8)):
            began = time.monotonic()
            with aicli("chat", server=server) as tty:
                tty.until(lambda tty=tty: b"\xe2\x80\xba" in tty.raw)
                passed.append(time.monotonic() - began)
                spent.append(cpu(tty))
        figure("chat-prompt", f"{min(passed):.2f} s, {min(spent):.2f} s of CPU until the input line")
        assert min(spent) <= 0.30


def test_no_key_is_lost_however_early_it_comes() -> None:
    """Typed from before the first instruction until the program is whole, a byte at a time; it stands there once."""
    text = "".join(f"{n} 你好 " for n in range(count(12, 60)))
    data = text.encode()
    with ModelServer([]) as server, aicli("chat", server=server, typed=text[:3]) as tty:
        for at in range(len(text[:3].encode()), len(data)):
            os.write(tty.fd, data[at : at + 1])
            tty.pump(0.005)
        prompt(tty)
        tty.settle(0.2)
        rows = [row[2:] for row in tty.lines[: -1 - tty.lines[::-1].index(tty.text.split("\n")[-1])]]
        assert "".join(rows).replace(" ", "") == text.replace(" ", "") and tty.lines[0].startswith("› 0 你好")


def test_a_key_costs_few_bytes_and_little_time() -> None:
    """Chinese too, at the end of a row too, and taken back again."""
    keys = [*items_of(TYPED * count(2, 7)), *["\x7f"] * 5, *["\x1b[D"] * 5, *"in the middle 中", *["\x7f"] * 5]
    with ModelServer([]) as server, aicli("chat", server=server) as tty:
        prompt(tty)
        tty.settle(0.3)
        before, sizes, delays = cpu(tty), [], []
        for key in keys:
            start, at = len(tty.raw), time.monotonic()
            tty.send(str(key))
            tty.until(lambda start=start: len(tty.raw) > start and tty.raw.endswith(b"\x1b[?2026l"))
            delays.append(tty.seen[-1][0] - at)
            sizes.append(len(tty.raw) - start)
        spent = (cpu(tty) - before) / len(sizes)
        delays.sort()
        late = delays[len(delays) * 95 // 100]
        figure("chat-key", f"{max(sizes)} bytes at most, {spent * 1000:.1f} ms CPU, p95 {late * 1000:.0f} ms")
        assert max(sizes) <= 60, list(zip(sizes, keys, strict=True))
        assert spent <= 0.002 + 2 * TICK / len(sizes)
        assert late <= within(0.016)
