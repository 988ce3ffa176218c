"""The result object and the lines of stream-json: projections of the events, for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from aicli.clean import escape_json
from aicli.content.events import (
    AgentEvent,
    Approved,
    CallRecovered,
    ContextCompacted,
    Delegated,
    Denied,
    HistoryCut,
    MessageAdded,
    ModelChanged,
    ModelDelta,
    RetryScheduled,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
    Warned,
)
from aicli.content.parts import (
    CodeExecutionResultPart,
    ContentPart,
    ExecutableCodePart,
    FileDataPart,
    FunctionCallPart,
    FunctionResponsePart,
    InlineDataPart,
    JsonObject,
    TextPart,
    ThinkingPart,
)
from aicli.content.results import TasksDisplay
from aicli.content.run_result import RunResult
from aicli.content.stream import CallDelta, PartAdded, Relabelled, Restarted, StreamEvent, TextDelta, ThinkingDelta

SCHEMA_VERSION = 1


def line(value: JsonObject) -> str:
    """One line of JSON in ASCII-safe form only where it must be; what drives a terminal or hides is written as \\u…."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, default=str)
    return escape_json(text) + "\n"


def result_object(result: RunResult, *, sandbox: str = "") -> JsonObject:
    """The one object of `json`, the last line of `stream-json`."""
    return {
        "type": "result",
        "subtype": result.reason,
        "is_error": result.is_error,
        "result": result.text,
        "structured_output": result.structured_output,
        "session_id": result.session_id,
        "num_turns": result.turns,
        "num_tool_calls": result.tool_calls,
        "failed_calls": result.failed_calls,
        "recovered_calls": result.recovered_calls,
        "duration_ms": round(result.seconds * 1000),
        "duration_api_ms": round(result.api_seconds * 1000),
        "stop_reason": result.stop_reason or None,
        "usage": result.usage.model_dump(),
        "model_usage": {name: usage.model_dump() for name, usage in result.model_usage.items()},
        "total_cost_usd": result.cost_usd,
        "permission_denials": [denial.model_dump() for denial in result.denials],
        "files_changed": list(result.files_changed),
        "checked": result.checked,
        "warnings": list(result.warnings),
        "sandbox": sandbox,
        "error": result.error.model_dump() if result.error else None,
        "schema_version": SCHEMA_VERSION,
    }


class StreamJson:
    """Turns events into lines for `write`. The result line is the caller's, for it comes whatever happens."""

    def __init__(self, write: Callable[[JsonObject], None], *, partials: bool = False) -> None:
        self._write = write
        self._partials = partials
        self._session = ""

    def __call__(self, event: AgentEvent) -> None:
        for value in self._project(event, None):
            self._write({**value, "session_id": self._session})

    def _project(self, event: AgentEvent, parent: str | None) -> Iterator[JsonObject]:
        match event:
            case RunStarted() if parent is None:
                self._session = event.session_id
                yield _init(event)
            case MessageAdded():
                yield {**_message(event), "parent_tool_use_id": parent}
            case Delegated():
                yield from self._project(event.event, event.call_id)
            case ModelDelta() if self._partials:
                inner = _delta(event.event)
                if inner:
                    yield {"type": "stream_event", "event": inner, "parent_tool_use_id": parent}
            case ToolProgress() if self._partials:
                progress = {"type": "tool_progress", "tool_use_id": event.call_id, "text": event.text}
                yield {"type": "stream_event", "event": progress, "parent_tool_use_id": parent}
            case RunStarted() | RunFinished() | TurnStarted() | ToolStarted() | ModelDelta() | ToolProgress():
                pass
            case _:
                value = _system(event)
                if value:
                    yield {"type": "system", **value, **({"parent_tool_use_id": parent} if parent else {})}


def _init(event: RunStarted) -> JsonObject:
    roles = {"fast": None, "thinking": None, "embedding": None}
    return {
        "type": "system",
        "subtype": "init",
        "schema_version": SCHEMA_VERSION,
        "agent": event.agent,
        "model": event.model,
        "models": {**roles, **event.models},
        "tools": list(event.tools),
        "permission_mode": event.permission_mode,
        "sandbox": event.sandbox,
        "cwd": event.cwd,
        "context_files": list(event.context_files),
        "warnings": list(event.warnings),
    }


def _message(event: MessageAdded) -> JsonObject:
    content = [block for part in event.message.parts if (block := _block(part))]
    if event.message.role != "model":
        return {"type": "user", "message": {"role": "user", "content": content}}
    reason = event.finish_raw or (event.finish.value if event.finish else None)
    usage = event.usage.model_dump() if event.usage else None
    message = {"role": "assistant", "model": event.model, "content": content, "stop_reason": reason, "usage": usage}
    return {"type": "assistant", "message": message}


def _block(part: ContentPart) -> JsonObject:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ThinkingPart():
            return {"type": "thinking", "thinking": part.text}
        case FunctionCallPart():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.args}
        case FunctionResponsePart():
            inner = [_block(p) for p in part.content]
            return {"type": "tool_result", "tool_use_id": part.id, "content": inner, "is_error": part.is_error}
        case InlineDataPart():
            source = {"type": "base64", "media_type": part.mime, "data": part.data}
            return {"type": "image" if part.mime.startswith("image/") else "document", "source": source}
        case FileDataPart():
            return {"type": "document", "source": {"type": "url", "media_type": part.mime, "url": part.uri}}
        case ExecutableCodePart():
            return {"type": "text", "text": part.code}
        case CodeExecutionResultPart():
            return {"type": "text", "text": part.output}


def _delta(event: StreamEvent) -> JsonObject | None:
    match event:
        case TextDelta():
            return {"type": "content_block_delta", "delta": {"type": "text_delta", "text": event.text}}
        case ThinkingDelta():
            return {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": event.text}}
        case CallDelta():
            piece = event.args_json or (json.dumps(event.args, ensure_ascii=False) if event.args is not None else "")
            delta = {"type": "input_json_delta", "index": event.index, "name": event.name, "partial_json": piece}
            return {"type": "content_block_delta", "delta": delta}
        case PartAdded():
            return {"type": "content_block", "content": _block(event.part)}
        case Relabelled():
            return {"type": "relabelled_as_thinking"}
        case Restarted():
            return {"type": "message_restart"}
    return None


def _system(event: AgentEvent) -> JsonObject | None:
    """The `system` lines that are not `init`."""
    match event:
        case RetryScheduled():
            value: dict[str, Any] = event.model_dump(exclude={"type"})
            return {"subtype": "api_retry", "wait_seconds": value.pop("wait"), **value}
        case ContextCompacted():
            sizes = {"before_tokens": event.before, "after_tokens": event.after, "replaced": event.replaced}
            return {"subtype": "compact_boundary", **sizes, "summary": event.summary}
        case ToolFinished(result=result) if isinstance(result.display, TasksDisplay):
            return {"subtype": "task_update", "tasks": [task.model_dump() for task in result.display.tasks]}
        case CallRecovered():
            return {
                "subtype": "call_recovered",
                "tool_use_id": event.call_id,
                "tool_name": event.name,
                "dialect": event.dialect,
            }
        case Approved():
            granted = event.model_dump(exclude={"type", "call_id", "args", "title"})
            granted |= {} if event.args is None else {"tool_input": event.args}
            return {"subtype": "permission", "decision": "allow", "tool_use_id": event.call_id, **granted}
        case Denied():
            refused = {"tool_name": event.name, "tool_input": event.args, "by": event.by, "why": event.why}
            return {"subtype": "permission", "decision": "deny", "tool_use_id": event.call_id, **refused}
        case Warned():
            return {"subtype": "warning", "text": event.text}
        case ModelChanged():
            return {"subtype": "model_changed", "role": event.role, "model": event.model, "why": event.why}
        case HistoryCut():
            return {"subtype": "history_cut", "to": event.to, "why": event.why}
    return None
