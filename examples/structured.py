"""An answer as a pydantic type: asked for by schema, checked, and asked for again where it does not fit."""

from __future__ import annotations

from pydantic import BaseModel, Field

from aicli import Agent


class Review(BaseModel):
    summary: str
    score: int = Field(ge=1, le=5)
    problems: list[str] = []


def review(diff: str) -> Review:
    """Raises RuntimeError with the reason when no fitting answer came."""
    agent = Agent(instructions="You review changes.", model="ollama:qwen3")
    result = agent.run_sync(f"Review this change:\n\n{diff}", output=Review)
    if result.is_error:
        raise RuntimeError(str(result.error or result.reason))
    return Review.model_validate(result.structured_output)


if __name__ == "__main__":
    try:
        print(review("-    return a - b\n+    return a + b\n"))
    except RuntimeError as e:
        print(e)
