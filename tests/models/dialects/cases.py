"""Cases as data: a text a model wrote, and what it means. Every case runs whole and in many cuts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aicli.content.request import ToolSpec
from aicli.content.stream import Assembler, CallDelta, StreamEvent
from aicli.models.dialects import Parsed, Parser, fold, parse
from tests.support.counts import count


def spec(name: str, required: Sequence[str] = (), **properties: Any) -> ToolSpec:
    """A tool whose properties are type names or whole schemas."""
    schemas = {k: {"type": v} if isinstance(v, str) else v for k, v in properties.items()}
    return ToolSpec(name=name, parameters={"type": "object", "properties": schemas, "required": list(required)})


TOOLS = (
    spec("get_weather", ["city"], city="string", unit="string", days="integer"),
    spec("get_time"),
    spec("search", ["query"], query="string", limit="integer"),
    spec("write_file", ["path", "content"], path="string", content="string"),
    spec("bash", ["command"], command="string"),
    spec(
        "calc",
        x="number",
        n="integer",
        flag="boolean",
        items="array",
        config="object",
        text="string",
        note={"anyOf": [{"type": "null"}, {"type": "string"}]},
        either={"type": ["integer", "string"]},
    ),
    spec("grocery.order", items="array", address="string"),
    spec("获取天气", 城市="string"),
)


def weather(city: str = "Paris", **more: Any) -> tuple[str, dict[str, Any]]:
    return "get_weather", {"city": city, **more}


@dataclass(frozen=True)
class Case:
    text: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    content: str = ""
    reasoning: str = ""
    dialect: str | None = None
    tools: tuple[ToolSpec, ...] = TOOLS
    starts: bool = False
    unreadable: tuple[str, ...] = ()
    problem: str = ""

    def __repr__(self) -> str:
        return f"{self.text[:60]!r}"


def case(text: str, *calls: tuple[str, dict[str, Any]], **more: Any) -> Case:
    return Case(text, calls, **more)


def feed(case: Case, pieces: Sequence[str], finish: str = "stop") -> tuple[list[StreamEvent], str]:
    parser = Parser(case.tools, case.dialect, case.starts)
    events: list[StreamEvent] = []
    for piece in pieces:
        events += parser.feed(piece)
    events += parser.close(finish)
    return events, parser.problem


def cuts(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def random_cuts(text: str, seed: int) -> list[str]:
    source = random.Random(seed)
    pieces, at = [], 0
    while at < len(text):
        size = source.choice((1, 1, 2, 3, 5, 8, 13, 40))
        pieces.append(text[at : at + size])
        at += size
    return pieces


def message(events: Sequence[StreamEvent]) -> list[dict[str, Any]]:
    """The parts of the assembled message, without the ids that the assembler makes up."""
    assembler = Assembler()
    for event in events:
        assembler.feed(event)
    parts = [part.model_dump() for part in assembler.message().parts]
    written = iter(e.id for e in events if isinstance(e, CallDelta))
    return [{**p, "id": next(written)} if p["type"] == "function_call" else p for p in parts]


def check(case: Case) -> None:
    """The meaning of the whole text, and the same message for any cut of it."""
    parsed = parse(case.text, case.tools, case.dialect, case.starts)
    assert [(c.name, c.args) for c in parsed.calls] == list(case.calls), parsed
    assert (parsed.content, parsed.reasoning) == (case.content, case.reasoning), parsed
    assert tuple(c.name for c in parsed.unreadable) == case.unreadable, parsed
    assert case.problem in parsed.problem and bool(case.problem) == bool(parsed.problem), parsed
    same_in_any_cut(case, parsed)


def same_in_any_cut(case: Case, parsed: Parsed | None = None, randoms: int | None = None) -> None:
    whole, problem = feed(case, [case.text])
    assert parsed is None or fold(whole, problem) == parsed
    wanted = message(whole)
    seeds = range(randoms if randoms is not None else count(4, 100))
    ways = [("1 byte", cuts(case.text, 1)), ("3 bytes", cuts(case.text, 3))]
    ways += [(f"seed {seed}", random_cuts(case.text, seed)) for seed in seeds]
    for name, pieces in ways:
        events, said = feed(case, pieces)
        assert message(events) == wanted, (name, case.text)
        assert said == problem, (name, case.text)
