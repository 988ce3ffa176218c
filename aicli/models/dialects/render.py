"""Calls and results written as text, for sending history back to a model in its own dialect."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from aicli.content.parts import JsonObject
from aicli.content.request import ToolSpec
from aicli.models.dialects.jsontext import dumps
from aicli.models.dialects.parser import family


def render_call(name: str, args: JsonObject, dialect: str = "hermes") -> str:
    """One call as the dialect writes it; `parse` reads it back. Dialects without a form of their own get Hermes.

    Raises ValueError for an unknown dialect.
    """
    kind = family(dialect).name
    if kind == "json":
        return dumps({"name": name, "arguments": args})
    if kind == "llama3":
        return dumps({"name": name, "parameters": args})
    if kind == "qwen_xml":
        values = "".join(f"<parameter={k}>\n{_text(v)}\n</parameter>\n" for k, v in args.items())
        return f"<tool_call>\n<function={name}>\n{values}</function>\n</tool_call>"
    if kind == "glm":
        values = "".join(f"<arg_key>{k}</arg_key>\n<arg_value>{_text(v)}</arg_value>\n" for k, v in args.items())
        return f"<tool_call>{name}\n{values}</tool_call>"
    if kind == "anthropic_xml":
        values = "".join(f'<parameter name="{k}">{_line_or_block(_text(v))}</parameter>\n' for k, v in args.items())
        return f'<function_calls>\n<invoke name="{name}">\n{values}</invoke>\n</function_calls>'
    if kind == "mistral":
        return f"[TOOL_CALLS]{name}[ARGS]{dumps(args)}"
    return f"<tool_call>\n{dumps({'name': name, 'arguments': args})}\n</tool_call>"


def render_result(name: str, text: str, dialect: str = "hermes", *, is_error: bool = False) -> str:
    """The result of a call as text for the next user message. Raises ValueError for an unknown dialect."""
    kind = family(dialect).name
    if kind == "json":
        return dumps({"name": name, "error" if is_error else "result": text})
    body = f"error: {text}" if is_error else text
    if kind == "glm":
        return f"<tool_response>\n{body}\n</tool_response>"
    if kind == "anthropic_xml":
        return f"<function_results>\n<result>\n<name>{name}</name>\n<output>{body}</output>\n</result>\n</function_results>"
    if kind == "qwen_xml":
        return f"<tool_response>\n{body}\n</tool_response>"
    return f"<tool_response>\n{dumps({'name': name, 'content': body})}\n</tool_response>"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(value)


def _line_or_block(text: str) -> str:
    return f"\n{text}\n" if "\n" in text else text


def tools_prompt(tools: Sequence[ToolSpec]) -> str:
    """Markdown that tells a model without native tools how to call these, "" when there are none."""
    if not tools:
        return ""
    page = resources.files("aicli.models.dialects").joinpath("tools_prompt.md").read_text(encoding="utf-8")
    return page.replace("$tools", "\n\n".join(map(_described, tools)))


def _described(tool: ToolSpec) -> str:
    lines = [
        f"### {tool.name}",
        tool.description.strip(),
        f"Parameters: {json.dumps(tool.parameters, ensure_ascii=False)}",
    ]
    lines += [f"Example: {render_call(tool.name, example)}" for example in tool.examples[:1]]
    return "\n".join(line for line in lines if line)
