"""Two agents in one process, side by side; they share nothing. The slower one is cancelled."""

from __future__ import annotations

import asyncio

from aicli import Agent, Limits


async def first(question: str, agents: list[Agent]) -> str:
    """The first answer; the other agents are told to stop, and end in good order."""
    running = {asyncio.create_task(agent.run(question)): agent for agent in agents}
    done, rest = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        running[task].cancel()
    ended = [await task for task in rest]
    winner = done.pop()
    result = winner.result()
    return f"{running[winner].name}: {result.text or result.error} (others: {', '.join(r.status for r in ended)})"


async def main() -> None:
    limits = Limits(max_turns=5)
    agents = [Agent(name=name, model=f"ollama:{name}", limits=limits) for name in ("quick", "slow")]
    print(await first("What is the capital of France?", agents))


if __name__ == "__main__":
    asyncio.run(main())
