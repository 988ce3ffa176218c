"""The wires against a real server: llama.cpp's, which speaks chat completions, Responses and Messages on one port."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from aicli.agents.agent import Agent
from aicli.content.events import AgentEvent
from aicli.content.request import FinishReason
from aicli.models.embedded import cache
from aicli.models.embedded.engine import Engine, library_version
from tests.conftest import REAL_HOME
from tests.models.support import ask, orchestrator, whole

pytestmark = [pytest.mark.soak, pytest.mark.embedded, pytest.mark.timeout(600)]
WIRES = ("llamaserver", "openai", "responses", "anthropic")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """(address, key) of the engine's own server."""
    if not library_version():
        pytest.skip("the engine is not installed (pip install '.[embedded]')")
    file = cache.models_folder(REAL_HOME / ".cache" / "aicli") / cache.pinned().file
    if not file.is_file():
        pytest.skip(f"the embedded model is not at {file} (aicli models pull embedded)")
    engine = Engine(Path(file), window=8_192, slots=tmp_path_factory.mktemp("slots"))
    try:
        yield asyncio.run(engine.ready()), engine.key
    finally:
        engine.close()


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer(real: tuple[str, str], wire: str) -> None:
    url, key = real

    async def run() -> None:
        found = orchestrator(url, wire, key=lambda n, u: key)
        try:
            model = await found.resolve(f"{wire}:local")
            said = await whole(model, ask("Say hello in one word.", tools=(), max_output_tokens=20, temperature=0))
            assert said.finish is not None and said.finish.reason in (FinishReason.STOP, FinishReason.LENGTH)
            assert said.message().text.strip()
            assert said.finish.usage.input_tokens > 5 and said.finish.usage.output_tokens > 0
            if wire == "llamaserver":
                assert await model.real_window() == 8_192  # type: ignore[attr-defined]
        finally:
            await found.close()

    asyncio.run(run())


@pytest.mark.parametrize("wire", WIRES)
def test_the_loop_with_a_tool(real: tuple[str, str], wire: str) -> None:
    url, key = real
    asked: list[str] = []
    events: list[AgentEvent] = []

    def weather(city: Annotated[str, Field(description="Name of the city.")]) -> str:
        """Tells the weather of a city right now."""
        asked.append(city)
        return "rain, 12 degrees"

    async def run() -> None:
        found = orchestrator(url, wire, key=lambda n, u: key)
        try:
            model = await found.resolve(f"{wire}:local")
            for city in ("Paris", "Rome", "Oslo"):
                agent = Agent(
                    instructions="Use the tool weather, then answer.",
                    model=model,
                    tools=[weather],
                    sinks=[events.append],
                    temperature=0,
                    max_output_tokens=200,
                )
                result = await agent.run(f"What is the weather in {city}?")
                assert result.status == "completed", result.error
                assert result.text.strip()
        finally:
            await found.close()

    asyncio.run(run())
    assert any(city in ("Paris", "Rome", "Oslo") for city in asked)
