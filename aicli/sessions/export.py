"""A session as a document: Markdown, HTML or JSON, from its restored history."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator

from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, InlineDataPart, TextPart, ThinkingPart
from aicli.sessions.store import Restored, Summary

_NAMES = {"user": "You", "model": "Agent", "tool": "Tools"}
_STYLE = (
    "body{max-width:52rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif}"
    "pre{background:#8881;padding:.6rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}"
    "h2{font-size:1rem;margin:1.6rem 0 .3rem}.thinking{opacity:.65}.error{border-left:3px solid #c33}"
    "p.text{white-space:pre-wrap}:root{color-scheme:light dark}"
)


def as_json(session: Restored) -> str:
    """The whole history as one JSON object; `Message.from_data` reads each entry of `messages` back."""
    value = {
        "session_id": session.id,
        "agent": session.agent,
        "model": session.model,
        "cwd": session.cwd,
        "skipped_lines": session.skipped,
        "messages": [message.model_dump() for message in session.history],
    }
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def as_markdown(session: Restored, summary: Summary, said: Callable[[str], str] = str) -> str:
    """For reading: text as it is, thinking quoted, calls and their answers in fences longer than any inside.

    `said` puts our own words into a language.
    """
    lines = [f"# {_title(summary)}", "", f"{_about(session, summary, said)}", ""]
    for message in session.history:
        lines += [f"## {said(_NAMES[message.role])}", ""]
        for kind, text in _pieces(message):
            if kind == "text":
                lines += [text, ""]
            elif kind == "thinking":
                lines += [*(f"> {row}" for row in text.splitlines()), ""]
            else:
                fence = _fence(text)
                lines += [f"{fence}{'json' if kind == 'call' else ''}", text, fence, ""]
    return "\n".join(lines)


def as_html(session: Restored, summary: Summary, said: Callable[[str], str] = str) -> str:
    """One page without scripts or anything from outside; every text is escaped. `said` as for Markdown."""
    title = html.escape(_title(summary))
    parts = [
        f'<!doctype html>\n<html><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head><body>',
        f"<h1>{title}</h1>\n<p>{html.escape(_about(session, summary, said))}</p>",
    ]
    for message in session.history:
        parts.append(f"<h2>{html.escape(said(_NAMES[message.role]))}</h2>")
        for kind, text in _pieces(message):
            tag = "p" if kind in ("text", "thinking") else "pre"
            parts.append(f'<{tag} class="{"text " if tag == "p" else ""}{kind}">{html.escape(text)}</{tag}>')
    return "\n".join([*parts, "</body></html>", ""])


def _title(summary: Summary) -> str:
    return " ".join(summary.task.split())[:100] or summary.id


def _about(session: Restored, summary: Summary, said: Callable[[str], str]) -> str:
    parts = [
        said(f"session {session.id}"),
        summary.agent,
        session.model,
        session.cwd,
        summary.started,
        said(f"{summary.turns} turn" + ("" if summary.turns == 1 else "s")),
    ]
    return " · ".join(part for part in parts if part)


def _pieces(message: Message) -> Iterator[tuple[str, str]]:
    """(text | thinking | call | answer | error, what to show)."""
    for part in message.parts:
        match part:
            case TextPart():
                if part.text.strip():
                    yield "text", part.text.strip("\n")
            case ThinkingPart():
                if part.text.strip():
                    yield "thinking", part.text.strip("\n")
            case FunctionCallPart():
                yield "call", f"{part.name} {part.raw or json.dumps(part.args, ensure_ascii=False, default=str)}"
            case FunctionResponsePart():
                yield "error" if part.is_error else "answer", part.text
            case InlineDataPart():
                yield "text", f"[{part.mime}, {len(part.data) * 3 // 4} bytes]"
            case _:
                yield "answer", part.model_dump_json()


def _fence(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return fence
