"""The Gemini and Messages wires against LiteLLM's proxy before llama.cpp's server. Installs the proxy once, 0.8 GB."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from aicli.agents.agent import Agent
from aicli.models.embedded import cache
from aicli.models.embedded.engine import Engine, library_version
from tests.conftest import REAL_HOME
from tests.models.support import orchestrator

pytestmark = [pytest.mark.soak, pytest.mark.embedded, pytest.mark.timeout(1800)]
VENV = REAL_HOME / ".cache" / "aicli" / "test-litellm"
KEY = "sk-litellm-test"


def installed() -> Path:
    """The proxy's program; made on first use. Skips where it cannot be had."""
    program = VENV / "bin" / "litellm"
    if program.exists():
        return program
    steps = (
        [sys.executable, "-m", "venv", str(VENV)],
        [str(VENV / "bin" / "pip"), "install", "-q", "litellm[proxy]==1.108.7"],
    )
    for step in steps:
        done = subprocess.run(
            step, capture_output=True, text=True, timeout=1500, env={**os.environ, "HOME": str(REAL_HOME)}
        )
        if done.returncode:
            pytest.skip(f"LiteLLM's proxy cannot be installed: {done.stderr.strip()[-300:]}")
    return program


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = cache.models_folder(REAL_HOME / ".cache" / "aicli") / cache.pinned().file
    if not library_version() or not file.is_file():
        pytest.skip("the embedded model or its engine is not here (aicli models pull embedded)")
    program, folder = installed(), tmp_path_factory.mktemp("litellm")
    engine = Engine(file, window=8_192, slots=folder)
    address = asyncio.run(engine.ready())
    config = folder / "config.yaml"
    config.write_text(
        f"model_list:\n  - model_name: local\n    litellm_params:\n      model: openai/local\n"
        f"      api_base: {address}/v1\n      api_key: {engine.key}\ngeneral_settings:\n  master_key: {KEY}\n"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    command = [str(program), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/health/liveliness", child)
        yield f"http://127.0.0.1:{port}"
    finally:
        child.terminate()
        child.wait(30)
        engine.close()


def wait_for(url: str, child: subprocess.Popen[bytes]) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(240):
        if child.poll() is not None:
            pytest.skip(f"LiteLLM's proxy ended with {child.returncode}")
        try:
            with opener.open(url, timeout=2):
                return
        except (OSError, urllib.error.URLError):
            time.sleep(0.5)  # there is no other sign that it is up
    pytest.skip("LiteLLM's proxy did not come up within two minutes")


@pytest.mark.parametrize("wire", ["gemini", "anthropic", "openai", "responses"])
def test_the_loop_with_a_tool(proxy: str, wire: str) -> None:
    asked: list[str] = []

    def weather(city: Annotated[str, Field(description="Name of the city.")]) -> str:
        """Tells the weather of a city right now."""
        asked.append(city)
        return "rain, 12 degrees"

    async def run() -> None:
        found = orchestrator(proxy, wire, key=lambda n, u: KEY)
        try:
            model = await found.resolve(f"{wire}:local")
            for city in ("Paris", "Rome", "Oslo"):
                agent = Agent(
                    instructions="Use the tool weather, then answer.",
                    model=model,
                    tools=[weather],
                    temperature=0,
                    max_output_tokens=200,
                )
                result = await agent.run(f"What is the weather in {city}?")
                assert result.status == "completed", result.error
                assert result.text.strip()
        finally:
            await found.close()

    asyncio.run(run())
    assert asked
