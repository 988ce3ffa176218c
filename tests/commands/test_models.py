"""The models command: what a probe says while it goes on."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable

import pytest

from aicli.commands._trying import STEP, Trying
from aicli.ui.console import Console
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, text, usage


def test_a_probe_says_what_it_tries(aicli: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([[call("note_color", color="blue"), usage(900)], [text("Walnut."), usage(9_000)]]) as server:
        monkeypatch.setenv("AICLI_BASE_URL", f"{server.url}/v1")
        ran = aicli("models", "probe", "openai:test-model")
    assert ran.code == 0 and "calls        native" in ran.out, ran
    assert ran.err == "trying a tool call …\ntrying a long prompt …\n"


def test_on_a_terminal_it_is_one_line_that_moves_and_goes() -> None:
    screen = io.StringIO()

    async def show() -> None:
        async with Trying(Console(stderr=screen), live=True) as trying:
            trying("trying a tool call")
            while screen.getvalue().count("\r") < 3:
                await asyncio.sleep(STEP / 5)

    asyncio.run(asyncio.wait_for(show(), 20))
    pictures = screen.getvalue().split("\r")
    assert len({p[:1] for p in pictures[1:4]}) > 1 and "\n" not in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")
