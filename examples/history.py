"""A conversation that outlives the process: the history goes out and comes back as JSON."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from aicli import Agent, dump_history, load_history


def ask(text: str, file: Path) -> str:
    before = load_history(file.read_text(encoding="utf-8")) if file.exists() else []
    agent = Agent(model="ollama:qwen3", history=before)
    answer = agent.run_sync(text)
    file.write_text(dump_history(agent.history), encoding="utf-8")
    return answer.text or str(answer.error)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        kept = Path(folder) / "conversation.json"
        print(ask("My name is 小明. Remember it.", kept))
        print(ask("What is my name?", kept))
