"""A function is a tool: its docstring is the description, its annotations the schema. Run: python weather.py"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aicli import Agent, ToolKind, tool


@tool(kind=ToolKind.READ, title="Weather in {city}")
def weather(city: Annotated[str, Field(description="As on a map.", examples=["Paris"])]) -> str:
    """The weather in a city, today."""
    return {"Paris": "rain, 12 °C"}.get(city, "sun, 20 °C")


agent = Agent(name="helper", instructions="Answer in one sentence.", model="ollama:qwen3", tools=[weather])

if __name__ == "__main__":
    result = agent.run_sync("Do I need an umbrella in Paris?")
    print(result.text or result.error)
    print(f"{result.tool_calls} call, {result.usage.total} tokens, {result.status}")
