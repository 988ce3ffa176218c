"""The script language of the model server: a reply is a list of steps, said in any wire format.

A plain text may stand for `[text(…)]`, and a function of the request's body for what it returns.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """One thing that the server says or does; made by the functions below."""

    kind: str
    value: Any = None
    extra: dict[str, Any] = field(default_factory=dict)


Reply = list[Any] | str | Callable[[dict[str, Any]], Any]
"""Steps, a text, or a function of the request's body that gives one of these."""


def text(words: str, *, pieces: int = 1) -> Step:
    """Answer text, streamed in so many pieces (each a character at least)."""
    return Step("text", words, {"pieces": pieces})


def think(words: str, *, pieces: int = 1, signature: str = "") -> Step:
    """Thinking, where the wire has it; `signature` is Anthropic's."""
    return Step("think", words, {"pieces": pieces, "signature": signature})


def redacted(data: str = "opaque") -> Step:
    """Thinking that only the provider can read."""
    return Step("redacted", data)


def call(name: str, /, _id: str = "", **args: Any) -> Step:
    """A call of a tool with these arguments; without `_id` the server gives it one."""
    return Step("call", name, {"args": args, "id": _id})


def raw_call(name: str, arguments: str, _id: str = "") -> Step:
    """A call whose arguments are this text, JSON or not."""
    return Step("call", name, {"raw": arguments, "id": _id})


def usage(input: int = 10, output: int = 5, *, cached: int = 0, created: int = 0, reasoning: int = 0) -> Step:
    """Tokens; `input` counts what was read from and written to the cache too."""
    return Step(
        "usage", None, {"in": input, "out": output, "cached": cached, "created": created, "reasoning": reasoning}
    )


def finish(reason: str | None) -> Step:
    """The wire's own word for why it ended; None leaves it out."""
    return Step("finish", reason)


def error(status: int, message: str = "", *, body: Any = None, **headers: Any) -> Step:
    """As the first step: that HTTP answer. Later: the wire's own error inside the stream."""
    named = {k.replace("_", "-"): str(v) for k, v in headers.items()}
    return Step("error", status, {"message": message or f"scripted error {status}", "body": body, "headers": named})


def wait(seconds: float) -> Step:
    """Silence for so long, then on with the reply."""
    return Step("wait", seconds)


def hang() -> Step:
    """Silence until the server stops or the client leaves."""
    return Step("hang")


def cut() -> Step:
    """The connection breaks here."""
    return Step("cut")


def end_early() -> Step:
    """The stream ends properly for HTTP, but without the wire's end mark."""
    return Step("end_early")


def raw(data: bytes | str) -> Step:
    """These bytes as they are, in the middle of the stream."""
    return Step("raw", data.encode() if isinstance(data, str) else data)


def comment(words: str = "keep-alive") -> Step:
    """A comment line of server-sent events; nothing on the other wires."""
    return Step("comment", words)


def from_json(data: str) -> list[list[Step]]:
    """Replies as JSON: [[{"text": "…"}, {"call": {"name": "ls", "args": {}}}, {"error": {"status": 500}}], …].

    Raises ValueError, with the number of the reply, for what is none.
    """
    try:
        replies = json.loads(data)
    except ValueError as e:
        raise ValueError(f"this is not JSON: {e}") from e
    if not isinstance(replies, list):
        raise ValueError("a script is a list of replies")
    found: list[list[Step]] = []
    for number, reply in enumerate(replies, 1):
        try:
            found.append([_step(s) for s in (reply if isinstance(reply, list) else [reply])])
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            why = f"{e.args[0]!r} is missing" if isinstance(e, KeyError) else str(e)
            raise ValueError(f"reply {number} can't be read: {why}") from e
    return found


def _step(item: Any) -> Step:
    if isinstance(item, str):
        return text(item)
    if not isinstance(item, dict) or not item:
        raise ValueError(f'a step is a text or an object such as {{"text": "hi"}}, not {json.dumps(item)[:80]}')
    (kind, value), *rest = item.items()
    extra = dict(rest)
    match kind:
        case "text" | "think":
            return Step(kind, value, {"pieces": extra.get("pieces", 1), "signature": ""})
        case "call":
            return call(value["name"], value.get("id", ""), **value.get("args", {}))
        case "usage":
            return usage(**value)
        case "error":
            return error(value["status"], value.get("message", ""), **value.get("headers", {}))
        case "hang" | "cut" | "end_early":
            return Step(kind)
        case "raw":
            return raw(value)
        case _:
            return Step(kind, value)
