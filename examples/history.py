"""A conversation that outlives the process: the history goes out and comes back as JSON."""

from __future__ import annotations

from pathlib import Path

from aicli import Agent, dump_history, load_history

FILE = Path("conversation.json")


def ask(text: str) -> str:
    before = load_history(FILE.read_text(encoding="utf-8")) if FILE.exists() else []
    agent = Agent(model="ollama:qwen3", history=before)
    answer = agent.run_sync(text)
    FILE.write_text(dump_history(agent.history), encoding="utf-8")
    return answer.text or str(answer.error)


if __name__ == "__main__":
    print(ask("My name is 小明. Remember it."))
    print(ask("What is my name?"))
