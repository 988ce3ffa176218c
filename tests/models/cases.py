"""Requests that every provider must be able to put on its wire."""

from __future__ import annotations

from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, InlineDataPart, TextPart, ThinkingPart
from aicli.content.request import ModelRequest, ToolSpec
from tests.models.support import LS, READ, ask

PNG = InlineDataPart(mime="image/png", data="iVBORw0KGgo=", name="a.png")
STRICT = ToolSpec(
    name="pick",
    description="Picks one.",
    parameters={
        "type": "object",
        "properties": {"color": {"type": "string", "enum": ["red", "blue"]}, "n": {"type": ["integer", "null"]}},
        "required": ["color", "n"],
        "additionalProperties": False,
    },
    strict=True,
    examples=({"color": "red", "n": None},),
)
NO_ARGUMENTS = ToolSpec(name="tasks", description="Lists the tasks.")
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}

META = {
    "ollama": {},
    "openai": {},
    "deepseek": {},
    "openrouter": {"details": [{"type": "reasoning.text", "text": "Look first.", "signature": "s1", "index": 0}]},
    "responses": {"item": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "blob"}},
    "anthropic": {"signature": "sig-1"},
    "gemini": {},
}


def turn(provider: str, *, thinking: bool = True, id_: str = "call_1") -> tuple[Message, Message]:
    """A model's message with thinking, text and a call, as that provider made it, and the call's answer."""
    kept = META.get(provider, {})
    meta = {provider: kept} if kept else {}
    call_meta = {"gemini": {"signature": "sig-g", "id": True}} if provider == "gemini" else {}
    parts = [
        *([ThinkingPart(text="Look first.", meta=meta)] if thinking else []),
        TextPart(text="I look 看."),
        FunctionCallPart(id=id_, name="ls", args={"path": "."}, meta=call_meta),
    ]
    answer = FunctionResponsePart(id=id_, name="ls", content=(TextPart(text="a.py\n文件.txt"),))
    return Message(role="model", parts=tuple(parts), provider=provider), Message(role="tool", parts=(answer,))


def parallel() -> tuple[Message, Message]:
    calls = (
        FunctionCallPart(id="p1", name="ls", args={"path": "a"}),
        FunctionCallPart(id="p2", name="read_file", args={"path": "b", "limit": 3}),
        FunctionCallPart(id="p3", name="ls", raw='{"path": "c'),
    )
    answers = (
        FunctionResponsePart(id="p1", name="ls", content=(TextPart(text="x"),)),
        FunctionResponsePart(id="p2", name="read_file", content=(TextPart(text="no such file"),), is_error=True),
        FunctionResponsePart(id="p3", name="ls", is_error=True, content=(TextPart(text="the arguments are no JSON"),)),
    )
    return Message(role="model", parts=calls), Message(role="tool", parts=answers)


def cases(provider: str) -> dict[str, ModelRequest]:
    own, foreign = turn(provider), turn("anthropic" if provider != "anthropic" else "gemini", id_="functions.ls:0")
    picture = FunctionResponsePart(id="call_1", name="ls", content=(TextPart(text="a picture"), PNG))
    return {
        "plain": ask("hello 你好", tools=()),
        "tools": ask("hello", tools=(LS, READ, STRICT, NO_ARGUMENTS)),
        "own_turn": ask("look", *own),
        "own_turn_then_more": ask("look", *own, Message.model("Two files."), "and now?"),
        "foreign_turn": ask("look", *foreign),
        "parallel": ask("look", *parallel(), tools=(LS, READ)),
        "steered": ask("look", *own, "stop that"),
        "images": ask(Message(role="user", parts=(TextPart(text="what is it?"), PNG)), tools=()),
        "image_from_tool": ask("look", own[0], Message(role="tool", parts=(picture,))),
        "thinking_low": ask("hello", thinking="low"),
        "thinking_high": ask("hello", thinking="high", max_output_tokens=20_000),
        "thinking_off": ask("hello", thinking="off"),
        "must_call": ask("hello", tool_choice="required"),
        "must_call_ls": ask("hello", tools=(LS, READ), tool_choice="ls"),
        "must_not_call": ask("look", *own, tool_choice="none"),
        "schema": ask("hello", tools=(), output_schema=SCHEMA),
        "limits": ask("hello", tools=(), temperature=0.2, max_output_tokens=100),
    }
