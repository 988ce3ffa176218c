"""The ask_user tool: one question to the person, with choices or free text."""

from __future__ import annotations

from typing import Any

from aicli.content.kinds import ToolKind
from aicli.content.parts import JsonObject
from aicli.content.results import TextDisplay, ToolResult
from aicli.tools.base import ToolContext, ToolFailed, tool
from aicli.tools.host import Question

NOBODY = "Nobody is there to answer. Decide yourself by what is most careful, and say in your answer what you assumed."


def _adapt(args: JsonObject) -> JsonObject:
    """Choices given as objects become their labels."""
    out = dict(args)
    for key in ("choices", "options"):
        if isinstance(out.get(key), list):
            out[key] = [_label(choice) for choice in out[key]]
    return out


def _label(choice: Any) -> Any:
    if isinstance(choice, dict):
        return next((choice[k] for k in ("label", "text", "value", "title") if isinstance(choice.get(k), str)), choice)
    return choice


@tool(
    kind=ToolKind.COMMUNICATE,
    title="Ask: {question}",
    rare=("choices",),
    aliases=("ask_user_question", "ask_question", "ask_followup_question", "ask_human"),
    param_aliases={"options": "choices", "message": "question", "prompt": "question"},
    adapt=_adapt,
    timeout=None,
    compact="Ask the person one question.",
)
async def ask_user(ctx: ToolContext, question: str, choices: tuple[str, ...] = ()) -> ToolResult:
    """Ask what only the person can decide. Not for permission."""
    if not question.strip():
        raise ToolFailed("question is empty.")
    if not ctx.host.present:
        await ctx.host.ask(Question(question, choices))  # kept by the host, so that the result can tell of it
        return ToolResult.of(NOBODY, display=TextDisplay(summary="nobody there"), answered=False)
    answer = await ctx.host.ask(Question(question, choices))
    if answer is None:
        return ToolResult.of(
            "The person gave no answer. Go on without one, or stop and say what you need.",
            display=TextDisplay(summary="no answer"),
            answered=False,
        )
    return ToolResult.of(
        f"The person answers: {answer}", display=TextDisplay(text=answer, summary=answer[:60]), answered=True
    )
