"""A history as the messages of a chat completion, each message encoded once."""

from __future__ import annotations

from typing import Any

from aicli.content.messages import Message
from aicli.content.parts import JsonObject
from aicli.content.request import ModelRequest
from aicli.models.base import ModelInfo
from aicli.models.profiles import Profile
from aicli.models.texts import answer_text, arguments, images, renamed_ids, to_json

Kept = dict[int, tuple[Message, list[JsonObject]]]
"""What a message was encoded to, by its id(): a history is sent again with every turn."""


def history(request: ModelRequest, profile: Profile, info: ModelInfo, kept: Kept) -> list[JsonObject]:
    """The system text and every message, in order."""
    out: list[JsonObject] = [{"role": "system", "content": request.system}] if request.system else []
    ids = renamed_ids(request.messages, profile.ids, profile.id_form) if profile.ids else {}
    last_user = max((n for n, m in enumerate(request.messages) if m.role == "user"), default=-1)
    echo = "loop" if profile.echo == "always" and "r1" in info.name.lower().replace("-", " ").split() else profile.echo
    if ids or echo == "loop" or len(kept) > 2 * len(request.messages) + 100:
        kept.clear()
    for n, message in enumerate(request.messages):
        found = kept.get(id(message))
        if found is None or found[0] is not message:
            wanted = echo == "always" or (echo == "loop" and n > last_user)
            found = kept[id(message)] = message, _entries(message, ids, profile, wanted)
        out += found[1]
    return out


def _entries(message: Message, ids: dict[str, str], profile: Profile, echo: bool) -> list[JsonObject]:
    if message.role == "user":
        return [{"role": "user", "content": _content(message)}]
    if message.role == "model":
        return [_assistant(message, ids, profile, echo)]
    out: list[JsonObject] = [
        {"role": "tool", "tool_call_id": ids.get(r.id, r.id), "content": answer_text(r)} for r in message.responses
    ]
    if found := [i for r in message.responses for i in images(r)]:
        shown = [{"type": "text", "text": "Images from the tool results above:"}]
        out.append({"role": "user", "content": shown + [_image(i.mime, i.data) for i in found]})
    return out


def _content(message: Message) -> str | list[JsonObject]:
    found = images(message)
    if not found:
        return message.text
    text: list[JsonObject] = [{"type": "text", "text": message.text}] if message.text else []
    return text + [_image(i.mime, i.data) for i in found]


def _image(mime: str, data: str) -> Any:
    return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}


def _assistant(message: Message, ids: dict[str, str], profile: Profile, echo: bool) -> JsonObject:
    own, calls = message.provider == profile.name, message.calls
    body: JsonObject = {"role": "assistant", "content": message.text or (None if calls else "")}
    if echo:
        body[profile.echo_field] = message.thinking if own else ""
        if not body[profile.echo_field] and profile.echo != "always":
            del body[profile.echo_field]
    details = [d for p in message.parts if own for d in getattr(p, "meta", {}).get(profile.name, {}).get("details", ())]
    if details:
        body["reasoning_details"] = details
    if calls:
        body["tool_calls"] = []
        for call in calls:
            function = {"name": call.name, "arguments": to_json(arguments(call))}
            entry = {"id": ids.get(call.id, call.id), "type": "function", "function": function}
            body["tool_calls"].append(entry | (call.meta.get(profile.name, {}) if own else {}))
    return body
