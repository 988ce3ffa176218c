"""JSON of a shape that the wire does not have: the reply is refused as malformed, or read without it; nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import aclosing
from itertools import repeat
from typing import Any

import pytest

from aicli.content.request import Usage
from aicli.errors import MalformedReply, ModelError
from aicli.models.base import Model
from aicli.models.sse import LONGEST, NdjsonReader, SseReader, WholeReader
from tests.models.support import PROVIDERS, ask, reply, whole, with_model
from tests.support.counts import count, soaking
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, end_early, raw, text, think, usage

ODD: tuple[Any, ...] = (None, 3, -1e30, "x", [], [None], {}, {"x": None}, True)
REPLY = [think("Hm."), text("Let me see."), call("ls", path="."), usage(11, 7)]


async def values(model: Any, server: ModelServer) -> list[Any]:
    """The JSON values of the server's next reply."""
    found: list[Any] = []
    sent = model._wire.call(ask(), model.info, model.quirks)
    async with aclosing(model._link.http.stream_json(sent)) as batches:
        async for batch in batches:
            found += batch
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def changed(found: list[Any], path: tuple[Any, ...], odd: Any) -> list[Any]:
    """The values with one thing in them replaced."""
    out = copy.deepcopy(found)
    here: Any = out
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = odd
    return out


def framed(provider: str, found: list[Any]) -> bytes:
    head, end = (b"", b"\n") if provider == "ollama" else (b"data: ", b"\n\n")
    return b"".join(head + (v if v == "[DONE]" else json.dumps(v)).encode() + end for v in found)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_one_odd_value_anywhere_in_a_reply(provider: str) -> None:
    with ModelServer([REPLY], signatures=False) as server:
        found, _ = with_model(server.url, provider, lambda m: values(m, server))
    spots = [p for p in places(found) if p]
    each = [(spot, odd) for spot in spots for odd in ODD]
    each = each if soaking() else each[:: max(len(each) // count(60, 0), 1)]

    assert len(spots) > 10
    current: list[Any] = []

    async def go(model: Model) -> list[str]:
        wrong = []
        for spot, odd in each:
            current[:] = [raw(framed(provider, changed(found, spot, odd))), end_early()]
            try:
                await whole(model, ask())
            except ModelError:
                pass
            except Exception as e:
                wrong.append(f"{spot} = {odd!r}: {type(e).__name__}: {e}")
        return wrong

    with ModelServer(repeat(lambda body: list(current)), strict=False) as server:
        wrong, _ = with_model(server.url, provider, go, retries=0)
    assert wrong == []


@pytest.mark.parametrize("usage", [{"prompt_tokens": "x"}, {"prompt_tokens": -5, "completion_tokens": 1e30}])
def test_token_counts_that_are_none_cost_no_reply(usage: dict[str, Any]) -> None:
    with ModelServer(
        [[text("fine"), raw(framed("openai", [{"choices": [], "usage": usage}]))]], strict=False
    ) as server:
        assert reply(server, "openai", ask()).message().text == "fine"
    assert Usage(input_tokens=float("nan"), output_tokens=True) == Usage()  # type: ignore[arg-type]


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    reader, piece = SseReader(), b"data: " + b"x" * (1 << 20)
    with pytest.raises(MalformedReply, match="more than"):
        for _ in range(2 + LONGEST // len(piece)):
            reader.feed(piece)


def test_json_nested_beyond_reason_is_malformed() -> None:
    for reader, head in ((SseReader(), b"data: "), (NdjsonReader(), b""), (WholeReader(), b"")):
        with pytest.raises(MalformedReply):
            reader.feed(head + b"[" * 200_000 + b"\n\n")
            reader.close()
