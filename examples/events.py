"""Everything that happens, as it happens: text as it streams, calls as they start and end, the end itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aicli import Agent, events
from aicli.content.stream import TextDelta


def count_lines(path: str) -> str:
    """Counts the lines of a text file."""
    return str(len(Path(path).read_text(encoding="utf-8").splitlines()))


async def main() -> None:
    agent = Agent(model="ollama:qwen3", tools=[count_lines])
    async for event in agent.stream("How many lines has notes.txt?"):
        match event:
            case events.ModelDelta(event=TextDelta(text=text)):
                print(text, end="", flush=True)
            case events.ToolStarted(call=call):
                print(f"[{call.name} {call.args}]")
            case events.ToolFinished(outcome=outcome, seconds=seconds):
                print(f"[{outcome} after {seconds:.1f} s]")
            case events.RunFinished(status=status, error=error):
                print(f"\n[{status}: {error}]" if error else f"\n[{status}]")


if __name__ == "__main__":
    asyncio.run(main())
