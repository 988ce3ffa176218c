"""What comes back: streams of each wire, with every damage known of real servers, to one Message; any cut gives the same."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from aicli import errors
from aicli.content.request import FinishReason as F
from aicli.content.stream import Assembler, StreamEvent
from aicli.models.faults import Asked
from aicli.models.providers import anthropic, gemini, ollama, openai, responses
from aicli.models.sse import NdjsonReader, SseReader
from tests.models.support import LS, READ, ask


@dataclass
class Stream:
    """One reply on the wire and what must come of it."""

    wire: str
    name: str
    data: bytes
    text: str = ""
    thinking: str = ""
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    reason: F = F.STOP
    raw: str | None = None
    usage: tuple[int, int, int, int, int] | None = None
    error: type[Exception] | None = None
    tools: bool = True


def sse(*values: Any, end: str = "\n\n") -> bytes:
    said = (v if isinstance(v, str) else "data: " + json.dumps(v, ensure_ascii=False) for v in values)
    return "".join(s + end for s in said).encode()


def lines(*values: Any) -> bytes:
    return "".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values).encode()


def om(_done: str = "", **message: Any) -> dict[str, Any]:
    head = {
        "model": "m",
        "created_at": "t",
        "message": {"role": "assistant", "content": "", **message},
        "done": bool(_done),
    }
    return {**head, **({"done_reason": _done, "prompt_eval_count": 7, "eval_count": 3} if _done else {})}


def ocall(name: str, args: Any, **more: Any) -> dict[str, Any]:
    return {**more, "function": {"name": name, "arguments": args}}


OLLAMA = [
    Stream(
        "ollama",
        "text",
        lines(om(content="Hel"), om(content="lo 世界"), om("stop")),
        "Hello 世界",
        usage=(7, 3, 0, 0, 0),
    ),
    Stream("ollama", "thinking field", lines(om(thinking="hm"), om(content="ok"), om("stop")), "ok", "hm"),
    Stream("ollama", "think tags", lines(om(content="<th"), om(content="ink>hm</think>ok"), om("stop")), "ok", "hm"),
    Stream("ollama", "orphan closer", lines(om(content="hm\n</think>\n\nok"), om("stop")), "ok", "hm"),
    Stream(
        "ollama",
        "calls on several lines, one index",
        lines(
            om(content="I look."),
            om(tool_calls=[ocall("ls", {"path": "a"}, id="x1")]),
            om(tool_calls=[ocall("ls", {"path": "b"})]),
            om("stop"),
        ),
        "I look.",
        calls=[("x1", "ls", {"path": "a"}), ("call_1_1", "ls", {"path": "b"})],
        reason=F.TOOL_CALLS,
        raw="stop",
    ),
    Stream(
        "ollama",
        "calls on the done line, arguments as text",
        lines(om("stop", tool_calls=[ocall("ls", '{"path":"a"}', id="x1")])),
        calls=[("x1", "ls", {"path": "a"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "ollama",
        "a call as text",
        lines(
            om(content='<tool_call>\n{"name": "ls", '),
            om(content='"arguments": {"path": "a"}}\n</tool_call>'),
            om("stop"),
        ),
        calls=[("", "ls", {"path": "a"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "ollama",
        "native calls win over text",
        lines(
            om(content='<tool_call>{"name": "ls", "arguments": {"path": "x"}}</tool_call>'),
            om(tool_calls=[ocall("ls", {"path": "a"}, id="x1")]),
            om("stop"),
        ),
        calls=[("x1", "ls", {"path": "a"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "ollama",
        "a call left in the thinking",
        lines(om(thinking='Now <tool_call>{"name": "ls", "arguments": {"path": "a"}}</tool_call>'), om("stop")),
        thinking='Now <tool_call>{"name": "ls", "arguments": {"path": "a"}}</tool_call>',
        calls=[("", "ls", {"path": "a"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "ollama",
        "no call from a reply cut by its length",
        lines(om(content='<tool_call>{"name": "ls", "arguments": {"path": "a"}}</tool_call>'), om("length")),
        reason=F.LENGTH,
    ),
    Stream(
        "ollama",
        "no tools offered, so nothing is a call",
        lines(om(content='{"name": "ls", "arguments": {}}'), om("stop")),
        '{"name": "ls", "arguments": {}}',
        tools=False,
    ),
    Stream("ollama", "length", lines(om(content="a b"), om("length")), "a b", reason=F.LENGTH),
    Stream("ollama", "load", lines(om("load")), raw="load"),
    Stream("ollama", "odd reason", lines(om(content="a b"), om("odd")), "a b", reason=F.UNKNOWN, raw="odd"),
    Stream(
        "ollama",
        "error line",
        lines(om(content="Hello you"), {"error": "unexpected EOF in internal error"}),
        error=errors.ServerFailed,
    ),
    Stream("ollama", "parser error", lines({"error": "error parsing tool call: raw='{'"}), error=errors.MalformedReply),
    Stream("ollama", "cut", lines(om(content="Hello you")), error=errors.StreamCut),
    Stream("ollama", "empty body", b"", error=errors.StreamCut),
    Stream(
        "ollama",
        "message missing",
        lines({"done": False}, om(content="a b"), {"done": True, "done_reason": "stop"}),
        "a b",
    ),
]


def ch(finish: Any = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def tc(index: Any = 0, id_: Any = None, name: Any = None, args: Any = None, **more: Any) -> dict[str, Any]:
    call = {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": args}, **more}
    return {k: v for k, v in call.items() if v is not None}


DONE = "data: [DONE]"
USAGE = {
    "choices": [],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 6},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
}
ONE = [("a1", "ls", {"path": "a"})]
CHAT = [
    Stream(
        "chat",
        "text",
        sse(ch(role="assistant", content=""), ch(content="Hello"), ch("stop"), USAGE, DONE),
        "Hello",
        usage=(10, 4, 6, 0, 2),
    ),
    Stream(
        "chat",
        "CR LF and comments",
        sse(": hi", ch(content="Hello"), "event: x", ch("stop"), DONE, end="\r\n\r\n"),
        "Hello",
    ),
    Stream("chat", "no done mark", sse(ch(content="Hello"), ch("stop")), "Hello"),
    Stream("chat", "no last blank line", sse(ch(content="Hello"), ch("stop")).rstrip(), "Hello"),
    Stream(
        "chat",
        "choices empty, null, missing",
        sse({"choices": []}, {"choices": None}, {"id": "x"}, ch(content="Hello"), ch("stop"), USAGE, DONE),
        "Hello",
    ),
    Stream(
        "chat",
        "delta null, content null, role missing",
        sse({"choices": [{"index": 0, "delta": None}]}, ch(content=None), ch(content="Hello"), ch("stop"), DONE),
        "Hello",
    ),
    Stream(
        "chat",
        "only index 0 counts",
        sse({"choices": [{"index": 1, "delta": {"content": "no"}}]}, ch(content="Hello"), ch("stop"), DONE),
        "Hello",
    ),
    Stream(
        "chat",
        "not streamed",
        b"data: " + json.dumps({"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}).encode(),
        "Hello",
    ),
    Stream(
        "chat", "reasoning_content", sse(ch(reasoning_content="hm"), ch(content="ok"), ch("stop"), DONE), "ok", "hm"
    ),
    Stream(
        "chat",
        "reasoning, both keys",
        sse(ch(reasoning="hm", reasoning_content="hm"), ch(content="ok"), ch("stop"), DONE),
        "ok",
        "hm",
    ),
    Stream(
        "chat",
        "typed parts",
        sse(
            ch(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
            ch(content=[{"type": "text", "text": "ok"}]),
            ch("stop"),
            DONE,
        ),
        "ok",
        "hm",
    ),
    Stream(
        "chat",
        "call in fragments",
        sse(
            ch(tool_calls=[tc(0, "a1", "ls", "")]),
            ch(tool_calls=[tc(0, args='{"pa')]),
            ch(tool_calls=[tc(0, args='th":"a"}')]),
            ch("tool_calls"),
            DONE,
        ),
        calls=ONE,
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "chat",
        "call whole",
        sse(ch(tool_calls=[tc(0, "a1", "ls", '{"path":"a"}')]), ch("stop"), DONE),
        calls=ONE,
        reason=F.TOOL_CALLS,
        raw="stop",
    ),
    Stream(
        "chat",
        "id and name repeated",
        sse(
            ch(tool_calls=[tc(0, "a1", "ls", '{"path"')]),
            ch(tool_calls=[tc(0, "a1", "ls", ':"a"}')]),
            ch("tool_calls"),
            DONE,
        ),
        calls=ONE,
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "chat",
        "no index",
        sse(
            ch(tool_calls=[tc(None, "a1", "ls", '{"path"')]),
            ch(tool_calls=[tc(None, None, None, ':"a"}')]),
            ch("tool_calls"),
            DONE,
        ),
        calls=ONE,
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "chat",
        "no index, two whole calls",
        sse(
            ch(tool_calls=[tc(None, None, "ls", '{"path":"a"}'), tc(None, None, "ls", '{"path":"b"}')]),
            ch("tool_calls"),
            DONE,
        ),
        calls=[("call_1_0", "ls", {"path": "a"}), ("call_1_1", "ls", {"path": "b"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "chat",
        "one index for two calls",
        sse(
            ch(tool_calls=[tc(0, "a1", "ls", '{"path":"a"}')]),
            ch(tool_calls=[tc(0, "a2", "ls", '{"path":"b"}')]),
            ch("tool_calls"),
            DONE,
        ),
        calls=[*ONE, ("a2", "ls", {"path": "b"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "chat",
        "interleaved",
        sse(
            ch(tool_calls=[tc(0, "a1", "ls", '{"path"')]),
            ch(tool_calls=[tc(1, "a2", "ls", '{"path"')]),
            ch(tool_calls=[tc(0, args=':"a"}')]),
            ch(tool_calls=[tc(1, args=':"b"}')]),
            ch("tool_calls"),
            DONE,
        ),
        calls=[*ONE, ("a2", "ls", {"path": "b"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "chat",
        "arguments an object, id missing",
        sse(ch(tool_calls=[tc(0, None, "ls", {"path": "a"})]), ch("tool_calls"), DONE),
        calls=[("call_1_0", "ls", {"path": "a"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "chat",
        "empty arguments",
        sse(ch(tool_calls=[tc(0, "a1", "ls", "")]), ch("tool_calls"), DONE),
        calls=[("a1", "ls", {})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "chat",
        "function_call of old",
        sse(
            ch(function_call={"name": "ls", "arguments": '{"path"'}),
            ch(function_call={"arguments": ':"a"}'}),
            ch("function_call"),
            DONE,
        ),
        calls=[("call_1_0", "ls", {"path": "a"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "chat",
        "text and call",
        sse(ch(content="I look."), ch(tool_calls=[tc(0, "a1", "ls", '{"path":"a"}')]), ch("tool_calls"), DONE),
        "I look.",
        calls=ONE,
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "chat",
        "raw XML from the server",
        sse(
            ch(content="<tool_call>\n<function=ls>\n<parameter=path>\na\n</para"),
            ch(content="meter>\n</function>\n</tool_call>"),
            ch("tool_calls"),
            DONE,
        ),
        calls=[("", "ls", {"path": "a"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "chat",
        "a JSON answer stays an answer",
        sse(ch(content='{"city": "Paris", "rain": true}'), ch("stop"), DONE),
        '{"city": "Paris", "rain": true}',
    ),
    Stream(
        "chat",
        "unreadable arguments are kept",
        sse(ch(tool_calls=[tc(0, "a1", "ls", '{"path": ')]), ch("tool_calls"), DONE),
        calls=[("a1", "ls", '{"path": ')],
        reason=F.TOOL_CALLS,
    ),
    Stream("chat", "length", sse(ch(content="Hello"), ch("length"), DONE), "Hello", reason=F.LENGTH),
    Stream("chat", "filter", sse(ch(content="Hello"), ch("content_filter"), DONE), "Hello", reason=F.CONTENT_FILTER),
    Stream("chat", "refusal", sse(ch(refusal="I can't."), ch("stop"), DONE), "I can't.", reason=F.REFUSAL),
    Stream("chat", "aborted", sse(ch(content="Hello"), ch("abort"), DONE), "Hello", reason=F.ABORTED),
    Stream(
        "chat",
        "no capacity after words",
        sse(ch(content="Hello you"), ch("insufficient_system_resource"), DONE),
        "Hello you",
        reason=F.OVERLOADED,
    ),
    Stream("chat", "no capacity at once", sse(ch("insufficient_system_resource"), DONE), error=errors.Overloaded),
    Stream("chat", "finish error", sse(ch("error"), DONE), error=errors.ServerFailed),
    Stream("chat", "no reason at all", sse(ch(content="Hello"), DONE), "Hello", reason=F.MISSING, raw=""),
    Stream(
        "chat", "unknown reason", sse(ch(content="Hello"), ch("bored"), DONE), "Hello", reason=F.UNKNOWN, raw="bored"
    ),
    Stream(
        "chat",
        "tool_calls without calls",
        sse(ch(content="Hello"), ch("tool_calls"), DONE),
        "Hello",
        reason=F.TOOL_CALLS,
    ),
    Stream("chat", "cut", sse(ch(content="Hello you")), error=errors.StreamCut),
    Stream(
        "chat",
        "error event",
        sse(ch(content="Hello you"), {"error": {"code": 502, "message": "no"}}),
        error=errors.ServerFailed,
    ),
    Stream(
        "chat",
        "error with choices",
        sse({"error": {"code": 429, "message": "no"}, **ch("error")}),
        error=errors.RateLimited,
    ),
    Stream(
        "chat",
        "llama-server's parser",
        sse(
            ch(tool_calls=[tc(0, "a1", "ls", '{"p')]),
            {"error": {"message": "The model produced output that does not match the expected peg-native format"}},
        ),
        error=errors.MalformedReply,
    ),
    Stream(
        "chat",
        "deepseek's cache",
        sse(
            ch(content="Hello"),
            ch("stop"),
            {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 8}},
            DONE,
        ),
        "Hello",
        usage=(9, 1, 8, 0, 0),
    ),
    Stream(
        "chat",
        "usage on each chunk, the last counts",
        sse(
            {**ch(content="Hello"), "usage": {"prompt_tokens": 1, "completion_tokens": 1}},
            {**ch("stop"), "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
            DONE,
        ),
        "Hello",
        usage=(9, 2, 0, 0, 0),
    ),
]


def ev(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


def start(**usage: int) -> dict[str, Any]:
    return ev(
        "message_start",
        message={
            "id": "m",
            "role": "assistant",
            "content": [],
            "usage": {"input_tokens": 5, "output_tokens": 1, **usage},
        },
    )


def block(index: int, first: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        ev("content_block_start", index=index, content_block=first),
        *(ev("content_block_delta", index=index, delta=d) for d in deltas),
        ev("content_block_stop", index=index),
    ]


def text_block(index: int, *pieces: str) -> list[dict[str, Any]]:
    return block(index, ev("text", text=""), *(ev("text_delta", text=p) for p in pieces))


def use(index: int, *pieces: str, **more: Any) -> list[dict[str, Any]]:
    first = ev("tool_use", id="a1", name="ls", input=more.get("input", {}))
    return block(index, first, *(ev("input_json_delta", partial_json=p) for p in pieces))


def stop(reason: str | None, **more: Any) -> list[dict[str, Any]]:
    return [ev("message_delta", delta={"stop_reason": reason, **more}, usage={"output_tokens": 9}), ev("message_stop")]


THINK = block(
    0,
    ev("thinking", thinking="", signature=""),
    ev("thinking_delta", thinking="hm"),
    ev("signature_delta", signature="si"),
    ev("signature_delta", signature="g"),
)
ANTHROPIC = [
    Stream(
        "anthropic",
        "text",
        sse(
            start(cache_read_input_tokens=3, cache_creation_input_tokens=2),
            ev("ping"),
            *text_block(0, "Hel", "lo"),
            *stop("end_turn"),
        ),
        "Hello",
        usage=(10, 9, 3, 2, 0),
    ),
    Stream(
        "anthropic",
        "thinking, text, call",
        sse(start(), *THINK, *text_block(1, "I look."), *use(2, "", '{"pa', 'th":"a"}'), *stop("tool_use")),
        "I look.",
        "hm",
        ONE,
        F.TOOL_CALLS,
    ),
    Stream(
        "anthropic",
        "call without deltas",
        sse(start(), *use(0, input={"path": "a"}), *stop("tool_use")),
        calls=ONE,
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "anthropic",
        "call without arguments",
        sse(start(), *use(0), *stop("tool_use")),
        calls=[("a1", "ls", {})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "anthropic",
        "unknown events, blocks, deltas",
        sse(
            start(),
            ev("odd"),
            *block(0, ev("odd_block", x=1), ev("odd_delta", y=2)),
            *block(
                1, ev("server_tool_use", id="s", name="web", input={}), ev("input_json_delta", partial_json='{"q":1}')
            ),
            *text_block(2, "Hello"),
            *stop("end_turn"),
        ),
        "Hello",
    ),
    Stream(
        "anthropic",
        "started anew",
        sse(start(), *text_block(0, "wrong"), start(), *text_block(0, "Hello"), *stop("end_turn")),
        "Hello",
    ),
    Stream(
        "anthropic", "max_tokens", sse(start(), *text_block(0, "Hello"), *stop("max_tokens")), "Hello", reason=F.LENGTH
    ),
    Stream("anthropic", "pause", sse(start(), *text_block(0, "Hello"), *stop("pause_turn")), "Hello", reason=F.PAUSE),
    Stream(
        "anthropic", "refusal", sse(start(), *stop("refusal", stop_details={"explanation": "no"})), reason=F.REFUSAL
    ),
    Stream(
        "anthropic",
        "window full",
        sse(start(), *text_block(0, "Hello"), *stop("model_context_window_exceeded")),
        "Hello",
        reason=F.CONTEXT,
    ),
    Stream(
        "anthropic",
        "stop sequence",
        sse(start(), *text_block(0, "Hello"), *stop("stop_sequence")),
        "Hello",
        raw="stop_sequence",
    ),
    Stream(
        "anthropic",
        "new word",
        sse(start(), *text_block(0, "Hello"), *stop("bored")),
        "Hello",
        reason=F.UNKNOWN,
        raw="bored",
    ),
    Stream(
        "anthropic",
        "overloaded",
        sse(start(), ev("error", error=ev("overloaded_error", message="Overloaded"))),
        error=errors.Overloaded,
    ),
    Stream("anthropic", "cut", sse(start(), *text_block(0, "Hello")), error=errors.StreamCut),
    Stream(
        "anthropic",
        "not streamed",
        sse(
            ev(
                "message",
                content=[ev("text", text="Hello"), ev("tool_use", id="a1", name="ls", input={"path": "a"})],
                stop_reason="tool_use",
                usage={"input_tokens": 1, "output_tokens": 2},
            )
        ),
        "Hello",
        calls=ONE,
        reason=F.TOOL_CALLS,
    ),
]


def ge(*parts: dict[str, Any], finish: str = "", **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}}
    return {"candidates": [{**candidate, "finishReason": finish} if finish else candidate], **more}


def fc(**args: Any) -> dict[str, Any]:
    return {"functionCall": {"name": "ls", "args": args}}


GUSE = {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "cachedContentTokenCount": 4}
GEMINI = [
    Stream(
        "gemini",
        "text",
        sse(ge({"text": "Hel"}), ge({"text": "lo"}, finish="STOP", usageMetadata=GUSE)),
        "Hello",
        usage=(10, 5, 4, 0, 2),
    ),
    Stream(
        "gemini", "thought", sse(ge({"text": "hm", "thought": True}), ge({"text": "ok"}, finish="STOP")), "ok", "hm"
    ),
    Stream(
        "gemini",
        "parallel calls",
        sse(ge({**fc(path="a"), "thoughtSignature": "s"}, fc(path="b")), ge(finish="STOP")),
        calls=[("gemini/1/0", "ls", {"path": "a"}), ("gemini/1/1", "ls", {"path": "b"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "gemini",
        "call with its id",
        sse(ge({"functionCall": {"id": "a1", "name": "ls", "args": {"path": "a"}}}, finish="STOP")),
        calls=ONE,
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "gemini",
        "arguments in parts",
        sse(
            ge(
                {
                    "functionCall": {
                        "id": "a1",
                        "name": "ls",
                        "partialArgs": [{"jsonPath": "$.path", "stringValue": "a"}],
                    }
                },
                finish="STOP",
            )
        ),
        calls=ONE,
        reason=F.TOOL_CALLS,
    ),
    Stream("gemini", "max tokens", sse(ge({"text": "Hello"}, finish="MAX_TOKENS")), "Hello", reason=F.LENGTH),
    Stream(
        "gemini", "safety", sse({"candidates": [{"finishReason": "SAFETY"}]}), reason=F.CONTENT_FILTER, raw="SAFETY"
    ),
    Stream(
        "gemini",
        "prompt blocked",
        sse({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
        reason=F.CONTENT_FILTER,
    ),
    Stream(
        "gemini",
        "malformed call",
        sse({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "bad"}]}),
        reason=F.MALFORMED_CALL,
    ),
    Stream(
        "gemini",
        "undeclared tool",
        sse(ge({"text": "Hello"}, finish="UNEXPECTED_TOOL_CALL")),
        "Hello",
        reason=F.MALFORMED_CALL,
    ),
    Stream("gemini", "empty", sse(ge({"text": ""}, finish="STOP")), error=errors.EmptyReply),
    Stream("gemini", "new word", sse(ge({"text": "Hello"}, finish="OTHER")), "Hello", reason=F.UNKNOWN, raw="OTHER"),
    Stream(
        "gemini",
        "error",
        sse({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}),
        error=errors.Overloaded,
    ),
    Stream("gemini", "cut", sse(ge({"text": "Hello"})), error=errors.StreamCut),
]


def item(at: int, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return ev(f"response.output_item.{kind}", output_index=at, item=value)


def fcall(args: str, call_id: str = "a1") -> dict[str, Any]:
    return {"type": "function_call", "id": "fc", "call_id": call_id, "name": "ls", "arguments": args}


def done(status: str = "completed", **more: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "output_tokens": 4,
        "input_tokens_details": {"cached_tokens": 6},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    return ev(f"response.{status}", response={"status": status, "usage": usage, **more})


RESPONSES = [
    Stream(
        "responses",
        "text",
        sse(
            ev("response.created", response={}), ev("response.output_text.delta", output_index=0, delta="Hello"), done()
        ),
        "Hello",
        usage=(10, 4, 6, 0, 2),
    ),
    Stream(
        "responses",
        "reasoning",
        sse(
            ev("response.reasoning_summary_text.delta", delta="hm"),
            item(0, "done", {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"}),
            ev("response.output_text.delta", output_index=1, delta="ok"),
            done(),
        ),
        "ok",
        "hm",
    ),
    Stream(
        "responses",
        "open reasoning",
        sse(ev("response.reasoning_text.delta", delta="hm"), ev("response.output_text.delta", delta="ok"), done()),
        "ok",
        "hm",
    ),
    Stream(
        "responses",
        "call",
        sse(
            item(0, "added", fcall("")),
            ev("response.function_call_arguments.delta", output_index=0, delta='{"path":'),
            ev("response.function_call_arguments.delta", output_index=0, delta='"a"}'),
            item(0, "done", fcall('{"path":"a"}')),
            done(),
        ),
        calls=ONE,
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "responses",
        "the finished item counts",
        sse(
            item(0, "added", fcall("")),
            ev("response.function_call_arguments.delta", output_index=0, delta='{"pa'),
            item(0, "done", fcall('{"path":"a"}')),
            done(),
        ),
        calls=ONE,
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "responses",
        "two calls told apart by index",
        sse(
            item(0, "added", fcall("", "a1")),
            item(1, "added", fcall("", "a2")),
            ev("response.function_call_arguments.delta", output_index=1, delta='{"path":"b"}'),
            ev("response.function_call_arguments.delta", output_index=0, delta='{"path":"a"}'),
            done(),
        ),
        calls=[*ONE, ("a2", "ls", {"path": "b"})],
        reason=F.TOOL_CALLS,
    ),
    Stream(
        "responses",
        "incomplete",
        sse(
            ev("response.output_text.delta", delta="Hello"),
            done("incomplete", incomplete_details={"reason": "max_output_tokens"}),
        ),
        "Hello",
        reason=F.LENGTH,
    ),
    Stream(
        "responses",
        "filtered",
        sse(done("incomplete", incomplete_details={"reason": "content_filter"})),
        reason=F.CONTENT_FILTER,
    ),
    Stream(
        "responses",
        "refusal",
        sse(ev("response.refusal.delta", delta="I can't."), done()),
        "I can't.",
        reason=F.REFUSAL,
    ),
    Stream(
        "responses",
        "failed",
        sse(ev("response.failed", response={"error": {"code": "server_error", "message": "no"}})),
        error=errors.ServerFailed,
    ),
    Stream(
        "responses", "error", sse(ev("error", code="rate_limit_exceeded", message="slow")), error=errors.RateLimited
    ),
    Stream("responses", "cut", sse(ev("response.output_text.delta", delta="Hello")), error=errors.StreamCut),
    Stream(
        "responses",
        "not streamed",
        sse(
            {
                "object": "response",
                "status": "completed",
                "output": [
                    {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
                    fcall('{"path":"a"}'),
                ],
            }
        ),
        "Hello",
        calls=ONE,
        reason=F.TOOL_CALLS,
    ),
]
ALL = [*OLLAMA, *CHAT, *ANTHROPIC, *GEMINI, *RESPONSES]
EVERY = pytest.mark.parametrize("stream", ALL, ids=[f"{s.wire}: {s.name}" for s in ALL])


def events(stream: Stream, pieces: list[bytes]) -> list[StreamEvent]:
    request = ask("x", tools=(LS, READ) if stream.tools else ())
    asked = Asked(stream.wire, "m")
    make: dict[str, Any] = {
        "ollama": lambda: ollama.Decode(request, asked),
        "chat": lambda: openai.Decode(request, asked),
        "anthropic": lambda: anthropic.Decode(request, asked),
        "gemini": lambda: gemini.Decode(request, asked),
        "responses": lambda: responses.Decode(request, asked),
    }
    decoder, reader = make[stream.wire](), NdjsonReader() if stream.wire == "ollama" else SseReader()
    out: list[StreamEvent] = []
    for piece in pieces:
        for value in reader.feed(piece):
            out.extend(decoder.feed(value))
    for value in reader.close():
        out.extend(decoder.feed(value))
    return [*out, *decoder.close()]


def folded(stream: Stream, pieces: list[bytes]) -> Assembler:
    assembler = Assembler(stream.wire)
    for event in events(stream, pieces):
        assembler.feed(event)
    return assembler


@EVERY
def test_stream(stream: Stream) -> None:
    if stream.error is not None:
        with pytest.raises(stream.error):
            folded(stream, [stream.data])
        return
    said = folded(stream, [stream.data])
    message, finish = said.message(), said.finish
    assert finish is not None
    assert (message.text.strip(), message.thinking.strip()) == (stream.text, stream.thinking)
    assert len(message.calls) == len(stream.calls)
    for call, (id_, name, args) in zip(message.calls, stream.calls, strict=True):
        assert call.name == name and call.id and (not id_ or call.id == id_)
        assert (call.raw if isinstance(args, str) else call.args) == args
    assert finish.reason is stream.reason
    if stream.raw is not None:
        assert finish.raw == stream.raw
    if stream.usage is not None:
        u = finish.usage
        counted = (
            u.input_tokens,
            u.output_tokens,
            u.cache_read_input_tokens,
            u.cache_creation_input_tokens,
            u.reasoning_tokens,
        )
        assert counted == stream.usage


@EVERY
def test_cut_at_every_byte(stream: Stream) -> None:
    data = stream.data
    if stream.error is not None:
        with pytest.raises(stream.error):
            folded(stream, [data[n : n + 1] for n in range(len(data))])
        return
    whole = events(stream, [data])
    for cut in range(1, len(data)):
        assert events(stream, [data[:cut], data[cut:]]) == whole, cut
    assert events(stream, [data[n : n + 1] for n in range(len(data))]) == whole


def test_opaque_data_rides_on_its_part() -> None:
    message = folded(ANTHROPIC[1], [ANTHROPIC[1].data]).message()
    assert message.parts[0].meta == {"anthropic": {"signature": "sig"}}  # type: ignore[union-attr]
    message = folded(GEMINI[2], [GEMINI[2].data]).message()
    assert [c.meta for c in message.calls] == [{"gemini": {"signature": "s"}}, {}]
    message = folded(RESPONSES[1], [RESPONSES[1].data]).message()
    assert message.parts[0].meta["responses"]["item"]["encrypted_content"] == "e"  # type: ignore[union-attr]


def test_openrouter_details_are_joined_in_order() -> None:
    pieces = [
        {"type": "reasoning.text", "text": "Look ", "index": 0},
        {"type": "reasoning.text", "text": "first.", "index": 0, "signature": "s1"},
        {"type": "reasoning.encrypted", "data": "x", "index": 1},
    ]
    data = sse(*(ch(reasoning="r", reasoning_details=[p]) for p in pieces), ch(content="ok"), ch("stop"), DONE)
    message = folded(Stream("chat", "", data), [data]).message()
    details = next(p.meta["chat"]["details"] for p in message.parts if getattr(p, "meta", {}))
    assert details == [{"type": "reasoning.text", "text": "Look first.", "index": 0, "signature": "s1"}, pieces[2]]


@pytest.mark.parametrize("stream", [s for s in ALL if s.name in ("calls on several lines, one index", "text and call")])
def test_text_that_might_have_become_a_marker_stays_before_the_call(stream: Stream) -> None:
    data = stream.data.replace(b"I look.", b"I look. <")
    assert [p.type for p in folded(stream, [data]).message().parts][:2] == ["text", "function_call"]


def test_where_models_call_natively_text_is_text() -> None:
    words = 'Like this: <tool_call>\n{"name": "ls", "arguments": {"path": "a"}}\n</tool_call>'
    request = ask("x")
    for make, url, value in (
        (openai.Decode, "https://api.openai.com/v1", ch("stop", content=words)),
        (gemini.Decode, "https://generativelanguage.googleapis.com", ge({"text": words}, finish="STOP")),
    ):
        for at, found in ((url, 0), ("http://127.0.0.1:8000", 1)):
            decoder, said = make(request, Asked("x", "m", at)), Assembler("x")
            for event in (*decoder.feed(value), *decoder.close()):
                said.feed(event)
            assert len(said.message().calls) == found
            assert (words in said.message().text) == (not found)


def test_text_before_a_block_stays_before_it() -> None:
    data = sse(
        start(), *text_block(0, "I look. <"), *use(1, '{"path":"a"}'), *text_block(2, "Then <"), *stop("tool_use")
    )
    message = folded(Stream("anthropic", "", data), [data]).message()
    assert [getattr(p, "text", p.type) for p in message.parts] == ["I look. <", "function_call", "Then <"]


def test_a_cut_input_is_said() -> None:
    request = ask("word " * 9000)
    decoder = ollama.Decode(request, Asked("ollama"), sent=7500)
    decoder.feed(om("stop", content="ok"))
    *_, finish = decoder.close()
    assert "was cut" in finish.detail  # type: ignore[union-attr]
    decoder = ollama.Decode(request, Asked("ollama"), sent=5)
    decoder.feed(om("stop", content="ok"))
    assert decoder.close()[-1].detail == ""  # type: ignore[union-attr]
