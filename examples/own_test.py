"""A test of an agent of your own over real HTTP: the scripted server refuses what a real one would refuse."""

from __future__ import annotations

from aicli import Agent, tool
from aicli.testing import ModelServer, steps


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}."


def check_the_umbrella(provider: str) -> str:
    """The agent's answer. Raises AssertionError where a request was wrong or another one than was scripted."""
    with ModelServer([[steps.call("weather", city="Paris")], "Take one."]) as server:
        agent = Agent(model=server.model(provider), tools=[weather])
        result = agent.run_sync("Do I need an umbrella in Paris?")
        server.check()
    assert "Rain in Paris." in str(server.bodies[1]), "the tool's answer did not reach the model"
    return result.text


if __name__ == "__main__":
    for name in ("ollama", "openai", "responses", "anthropic", "gemini"):
        print(f"{name}: {check_the_umbrella(name)}")
