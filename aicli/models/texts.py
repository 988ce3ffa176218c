"""Small pieces of encoding that providers share: images, call arguments, ids, and calls written as text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable

from aicli.content.messages import Message
from aicli.content.parts import (
    FunctionCallPart,
    FunctionResponsePart,
    InlineDataPart,
    JsonObject,
    TextPart,
    ThinkingPart,
)
from aicli.content.request import ModelRequest


def arguments(call: FunctionCallPart) -> JsonObject:
    """A call's arguments as history shows them; unreadable ones under a key that names the fault."""
    return {"unreadable_arguments": call.raw} if call.raw and not call.args else call.args


to_json = json.JSONEncoder(ensure_ascii=False).encode
"""As json.dumps, which would make an encoder for every call of the history."""


def images(message: Message | FunctionResponsePart) -> list[InlineDataPart]:
    """The images among the parts, in order."""
    parts = message.parts if isinstance(message, Message) else message.content
    return [p for p in parts if isinstance(p, InlineDataPart) and p.mime.startswith("image/")]


def answer_text(response: FunctionResponsePart) -> str:
    """What a tool answered, as the one string most wires want; an error is marked unless it says so itself."""
    text = response.text
    if response.is_error and "error" not in text[:200].lower():
        return f"Error: {text}"
    return text


def renamed_ids(messages: Iterable[Message], pattern: str, make: str) -> dict[str, str]:
    """New id for each call id of the history that does not fit `pattern`.

    `make` is a format with `{hash}` (9 letters and digits), `{name}` and `{n}` (the call's number in the history).
    """
    fits = re.compile(pattern)
    ids: dict[str, str] = {}
    number = 0
    for message in messages:
        for call in message.calls:
            if call.id not in ids and not fits.fullmatch(call.id):
                digest = hashlib.sha256(f"{call.id}/{number}".encode("utf-8", "replace")).hexdigest()[:9]
                ids[call.id] = make.format(hash=digest, name=call.name, n=number)
            number += 1
    return ids


def tools_as_text(request: ModelRequest) -> ModelRequest:
    """The same request for a server without native calls: tools in the system text, calls and answers as text."""
    if not request.tools:
        return request.model_copy(update={"messages": tuple(_as_text(m) for m in request.messages)})
    from aicli.models.dialects import tools_prompt  # the dialects are loaded only where calls are text

    prompt = tools_prompt(request.tools)
    system = f"{request.system}\n\n{prompt}" if request.system else prompt
    messages = tuple(_as_text(m) for m in request.messages)
    return request.model_copy(update={"system": system, "messages": messages, "tools": ()})


def _as_text(message: Message) -> Message:
    if message.role == "tool":
        parts: list[TextPart | InlineDataPart] = []
        for r in message.responses:
            parts.append(TextPart(text=f"<tool_response>\n{r.name}: {answer_text(r)}\n</tool_response>\n"))
            parts.extend(images(r))
        return Message(role="user", parts=tuple(parts))
    if not message.calls:
        return message
    words = [message.text] if message.text else []
    for call in message.calls:
        body = json.dumps({"name": call.name, "arguments": arguments(call)}, ensure_ascii=False)
        words.append(f"<tool_call>\n{body}\n</tool_call>")
    return Message(role="model", parts=(TextPart(text="\n".join(words)),), provider=message.provider)


def least_tokens(request: ModelRequest) -> int:
    """Fewer tokens than the request can have, in any language, to notice a server that read less."""
    size = len(request.system)
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, TextPart | ThinkingPart):
                size += len(part.text)
            elif isinstance(part, FunctionResponsePart):
                size += sum(len(p.text) for p in part.content if isinstance(p, TextPart))
    return size // 6


def cut_note(read: int, sent: int) -> str:
    """What to tell when a server read fewer tokens than were sent, "" when it read them all or does not say."""
    if not read or sent <= read * 1.3:
        return ""
    return f"the server read only {read:,} of at least {sent:,} tokens: the start of the input was cut"


def strict_ready(schema: JsonObject) -> bool:
    """Every object of the schema names all its properties as required and allows no others, as strict modes demand."""
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties):
            return False
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    if isinstance(schema.get("items"), dict):
        inner.append(schema["items"])
    return all(strict_ready(s) for s in inner if isinstance(s, dict))
