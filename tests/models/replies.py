"""Replies as they come over each wire, with every damage known of real servers, and what must come of them.

`COMMON` is said by every wire in its own words; `OWN` is what only one of them does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from aicli import errors
from aicli.content.request import FinishReason as F

Json = dict[str, Any]
ONE = [("a1", "ls", {"path": "a"})]
TWO = [*ONE, ("a2", "ls", {"path": "b"})]
DONE = "data: [DONE]"


@dataclass
class Want:
    """What must come of a stream. `calls` are (id, or "" for any; name; arguments, or their unreadable text)."""

    text: str = ""
    thinking: str = ""
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    reason: F = F.STOP
    raw: str | None = None
    usage: tuple[int, int, int, int, int] | None = None
    error: type[Exception] | None = None
    tools: bool = True


def calls(*wanted: tuple[str, str, Any], **more: Any) -> Want:
    return Want(calls=list(wanted), reason=F.TOOL_CALLS, **more)


def fails(error: type[Exception]) -> Want:
    return Want(error=error)


HELLO = Want("Hello")
OK = Want("ok", "hm")


def sse(*values: Any, end: str = "\n\n") -> bytes:
    said = (v if isinstance(v, str) else "data: " + json.dumps(v, ensure_ascii=False) for v in values)
    return "".join(s + end for s in said).encode()


def lines(*values: Any) -> bytes:
    return "".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values).encode()


# The pieces of each wire


def om(_done: str = "", **message: Any) -> Json:
    head = {"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "", **message}}
    last = {"done_reason": _done, "prompt_eval_count": 7, "eval_count": 3} if _done else {}
    return {**head, "done": bool(_done), **last}


def ocall(args: Any, **more: Any) -> Json:
    return {**more, "function": {"name": "ls", "arguments": args}}


def ch(finish: Any = None, **delta: Any) -> Json:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def tc_(index: Any = 0, id_: Any = None, name: Any = None, args: Any = None) -> Json:
    call = {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": args}}
    return {k: v for k, v in call.items() if v is not None}


def tc(index: Any = 0, id_: Any = None, name: Any = None, args: Any = None) -> Json:
    return ch(tool_calls=[tc_(index, id_, name, args)])


def ev(kind: str, **more: Any) -> Json:
    return {"type": kind, **more}


def start(**usage: int) -> Json:
    counts = {"input_tokens": 5, "output_tokens": 1, **usage}
    return ev("message_start", message={"id": "m", "role": "assistant", "content": [], "usage": counts})


def block(index: int, first: Json, *deltas: Json) -> list[Json]:
    said = (ev("content_block_delta", index=index, delta=d) for d in deltas)
    begin = ev("content_block_start", index=index, content_block=first)
    return [begin, *said, ev("content_block_stop", index=index)]


def text_block(index: int, *pieces: str) -> list[Json]:
    return block(index, ev("text", text=""), *(ev("text_delta", text=p) for p in pieces))


def use(index: int, *pieces: str, id_: str = "a1", **more: Any) -> list[Json]:
    first = ev("tool_use", id=id_, name="ls", input=more.get("input", {}))
    return block(index, first, *(ev("input_json_delta", partial_json=p) for p in pieces))


def stop(reason: str | None, **more: Any) -> list[Json]:
    return [ev("message_delta", delta={"stop_reason": reason, **more}, usage={"output_tokens": 9}), ev("message_stop")]


def think_block(index: int, *pieces: str) -> list[Json]:
    said = (ev("thinking_delta", thinking=p) for p in pieces)
    signed = (ev("signature_delta", signature=s) for s in ("si", "g"))
    return block(index, ev("thinking", thinking="", signature=""), *said, *signed)


def ge(*parts: Json, finish: str = "", **more: Any) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": list(parts)}}
    return {"candidates": [{**candidate, "finishReason": finish} if finish else candidate], **more}


def fc(id_: str = "", **args: Any) -> Json:
    return {"functionCall": {**({"id": id_} if id_ else {}), "name": "ls", "args": args}}


def item(at: int, kind: str, value: Json) -> Json:
    return ev(f"response.output_item.{kind}", output_index=at, item=value)


def fcall(args: str, call_id: str = "a1") -> Json:
    return {"type": "function_call", "id": "fc", "call_id": call_id, "name": "ls", "arguments": args}


def delta(kind: str, words: str, at: int = 0) -> Json:
    return ev(f"response.{kind}.delta", output_index=at, delta=words)


def args_delta(words: str, at: int = 0) -> Json:
    return delta("function_call_arguments", words, at)


def done(status: str = "completed", **more: Any) -> Json:
    read, wrote = {"cached_tokens": 6}, {"reasoning_tokens": 2}
    usage = {"input_tokens": 10, "output_tokens": 4, "input_tokens_details": read, "output_tokens_details": wrote}
    return ev(f"response.{status}", response={"status": status, "usage": usage, **more})


def incomplete(reason: str) -> Json:
    return done("incomplete", incomplete_details={"reason": reason})


USAGE = {
    "choices": [],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 6},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
}
GUSE = {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "cachedContentTokenCount": 4}


@dataclass
class Wire:
    """How one wire says the pieces that all have. `call` gets its number, its id, and its JSON cut in two."""

    encode: Callable[..., bytes]
    text: Callable[[int, str], list[Any]]
    think: Callable[[int, str], list[Any]]
    call: Callable[[int, str, str, str], list[Any]]
    end: Callable[[str], list[Any]]
    error: Any
    usage: tuple[int, int, int, int, int]
    words: dict[str, str]
    begin: list[Any] = field(default_factory=list)


def _call_of_responses(at: int, id_: str, a: str, b: str) -> list[Json]:
    return [
        item(at, "added", fcall("", id_)),
        args_delta(a, at),
        args_delta(b, at),
        item(at, "done", fcall(a + b, id_)),
    ]


def _end_of_responses(word: str) -> list[Json]:
    return [done() if word == "completed" else incomplete(word)]


WIRES = {
    "ollama": Wire(
        lines,
        lambda n, words: [om(content=words)],
        lambda n, words: [om(thinking=words)],
        lambda n, id_, a, b: [om(tool_calls=[ocall(json.loads(a + b), id=id_)])],
        lambda word: [om(word)],
        {"error": "the server is overloaded"},
        (7, 3, 0, 0, 0),
        {"stop": "stop", "calls": "stop", "length": "length", "odd": "odd"},
    ),
    "chat": Wire(
        sse,
        lambda n, words: [ch(content=words)],
        lambda n, words: [ch(reasoning_content=words)],
        lambda n, id_, a, b: [tc(n, id_, "ls", ""), tc(n, args=a), tc(n, args=b)],
        lambda word: [ch(word), USAGE, DONE],
        {"error": {"code": 502, "message": "no"}},
        (10, 4, 6, 0, 2),
        {"stop": "stop", "calls": "tool_calls", "length": "length", "odd": "bored", "filter": "content_filter"},
        [ch(role="assistant", content="")],
    ),
    "anthropic": Wire(
        sse,
        text_block,
        think_block,
        lambda n, id_, a, b: use(n, "", a, b, id_=id_),
        lambda word: stop(word),
        ev("error", error=ev("overloaded_error", message="Overloaded")),
        (10, 9, 3, 2, 0),
        {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens", "odd": "bored"},
        [start(cache_read_input_tokens=3, cache_creation_input_tokens=2), ev("ping")],
    ),
    "gemini": Wire(
        sse,
        lambda n, words: [ge({"text": words})],
        lambda n, words: [ge({"text": words, "thought": True})],
        lambda n, id_, a, b: [ge(fc(id_, **json.loads(a + b)))],
        lambda word: [ge(finish=word, usageMetadata=GUSE)],
        {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}},
        (10, 5, 4, 0, 2),
        {"stop": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "odd": "OTHER", "filter": "SAFETY"},
    ),
    "responses": Wire(
        sse,
        lambda n, words: [delta("output_text", words, n)],
        lambda n, words: [delta("reasoning_summary_text", words, n)],
        _call_of_responses,
        _end_of_responses,
        ev("error", code="rate_limit_exceeded", message="slow"),
        (10, 4, 6, 0, 2),
        {"stop": "completed", "calls": "completed", "length": "max_output_tokens", "filter": "content_filter"},
        [ev("response.created", response={})],
    ),
}
CUT = (("a1", '{"pa', 'th":"a"}'), ("a2", '{"path"', ':"b"}'))
"""Two calls: id and the two parts of their JSON."""
COMMON: dict[str, tuple[tuple[str, ...], Want]] = {
    "text": (("text:Hel", "text:lo 世界", "stop"), Want("Hello 世界")),
    "thinking": (("think:hm", "text:ok", "stop"), OK),
    "a call": (("call", "calls"), calls(*ONE)),
    "text and a call": (("text:I look.", "call", "calls"), calls(*ONE, text="I look.")),
    "two calls": (("call", "call", "calls"), calls(*TWO)),
    "thinking, text, call": (("think:hm", "text:I look.", "call", "calls"), calls(*ONE, text="I look.", thinking="hm")),
    "a call without arguments": (("none", "calls"), calls(("a1", "ls", {}))),
    "output limit": (("text:Hello", "length"), Want("Hello", reason=F.LENGTH)),
    "filtered": (("text:Hello", "filter"), Want("Hello", reason=F.CONTENT_FILTER)),
    "a word of tomorrow": (("text:Hello", "odd"), Want("Hello", reason=F.UNKNOWN)),
    "cut": (("text:Hello you",), fails(errors.StreamCut)),
    "cut in a call": (("call",), fails(errors.StreamCut)),
    "empty body": ((), fails(errors.StreamCut)),
    "an error in the stream": (("text:Hello you", "error"), fails(errors.ModelError)),
}


@dataclass
class Stream:
    """One reply on the wire and what must come of it."""

    wire: str
    name: str
    data: bytes
    want: Want


def common(wire: str, name: str) -> Stream:
    """The scenario in the words of the wire."""
    w, (steps, want) = WIRES[wire], COMMON[name]
    said: list[Any] = list(w.begin) if steps else []
    n = called = 0
    for step in steps:
        kind, _, words = step.partition(":")
        if kind in w.words:
            said += w.end(w.words[kind])
        elif kind == "error":
            said.append(w.error)
        elif kind in ("call", "none"):
            said += w.call(n, *(CUT[called] if kind == "call" else ("a1", "", "{}")))
            called += 1
        else:
            said += {"text": w.text, "think": w.think}[kind](n, words)
        n += kind != "text" or wire in ("anthropic", "responses")
    return Stream(wire, name, w.encode(*said), want if want.error else replace(want, usage=w.usage))


def has_words(wire: str, name: str) -> bool:
    """An end that this wire has no word for can't be said in it."""
    ends = {"filter", "odd"} & set(COMMON[name][0])
    return ends <= set(WIRES[wire].words)


def own(wire: str, name: str, want: Want, *said: Any) -> Stream:
    return Stream(wire, name, said[0] if isinstance(said[0], bytes) else WIRES[wire].encode(*said), want)


AS_TEXT = '<tool_call>{"name": "ls", "arguments": {"path": "a"}}</tool_call>'
ANY = ("", "ls", {"path": "a"})
FILE = {"path": "a"}
HI = (ch(content="Hello"), ch("stop"), DONE)
STOPPED = (ch("stop"), DONE)
CALLED = (ch("tool_calls"), DONE)
GREETED = (start(), *text_block(0, "Hello"))
OWN: dict[str, dict[str, tuple[Any, ...]]] = {
    "ollama": {
        "think tags": (OK, om(content="<th"), om(content="ink>hm</think>ok"), om("stop")),
        "orphan closer": (OK, om(content="hm\n</think>\n\nok"), om("stop")),
        "calls on several lines, one index": (
            calls(("x1", "ls", FILE), ("call_1_1", "ls", {"path": "b"}), text="I look.", raw="stop"),
            om(content="I look."),
            om(tool_calls=[ocall(FILE, id="x1")]),
            om(tool_calls=[ocall({"path": "b"})]),
            om("stop"),
        ),
        "arguments as text, on the done line": (calls(*ONE), om("stop", tool_calls=[ocall('{"path":"a"}', id="a1")])),
        "a call as text": (
            calls(ANY),
            om(content=AS_TEXT[:27].replace(">", ">\n")),
            om(content=AS_TEXT[27:]),
            om("stop"),
        ),
        "native calls win over text": (
            calls(*ONE),
            om(content=AS_TEXT.replace('"a"', '"x"')),
            om(tool_calls=[ocall(FILE, id="a1")]),
            om("stop"),
        ),
        "a call left in the thinking": (
            calls(ANY, thinking=f"Now {AS_TEXT}"),
            om(thinking=f"Now {AS_TEXT}"),
            om("stop"),
        ),
        "no call from a reply cut by its length": (Want(reason=F.LENGTH), om(content=AS_TEXT), om("length")),
        "no tools offered, so nothing is a call": (
            Want('{"name": "ls", "arguments": {}}', tools=False),
            om(content='{"name": "ls", "arguments": {}}'),
            om("stop"),
        ),
        "load": (Want(raw="load"), om("load")),
        "error line": (
            fails(errors.ServerFailed),
            om(content="Hello you"),
            {"error": "unexpected EOF in internal error"},
        ),
        "parser error": (fails(errors.MalformedReply), {"error": "error parsing tool call: raw='{'"}),
        "message missing": (Want("a b"), {"done": False}, om(content="a b"), {"done": True, "done_reason": "stop"}),
    },
    "chat": {
        "CR LF and comments": (HELLO, sse(": hi", ch(content="Hello"), "event: x", ch("stop"), DONE, end="\r\n\r\n")),
        "no done mark": (HELLO, ch(content="Hello"), ch("stop")),
        "no last blank line": (HELLO, sse(ch(content="Hello"), ch("stop")).rstrip()),
        "choices empty, null, missing": (
            HELLO,
            {"choices": []},
            {"choices": None},
            {"id": "x"},
            ch(content="Hello"),
            ch("stop"),
            USAGE,
            DONE,
        ),
        "delta null, content null, role missing": (
            HELLO,
            {"choices": [{"index": 0, "delta": None}]},
            ch(content=None),
            *HI,
        ),
        "only index 0 counts": (HELLO, {"choices": [{"index": 1, "delta": {"content": "no"}}]}, *HI),
        "not streamed": (
            HELLO,
            sse({"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}).rstrip(),
        ),
        "reasoning, both keys": (OK, ch(reasoning="hm", reasoning_content="hm"), ch(content="ok"), *STOPPED),
        "typed parts": (
            OK,
            ch(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
            ch(content=[{"type": "text", "text": "ok"}]),
            *STOPPED,
        ),
        "call whole": (calls(*ONE, raw="stop"), tc(0, "a1", "ls", '{"path":"a"}'), *STOPPED),
        "id and name repeated": (calls(*ONE), tc(0, "a1", "ls", '{"path"'), tc(0, "a1", "ls", ':"a"}'), *CALLED),
        "no index": (calls(*ONE), tc(None, "a1", "ls", '{"path"'), tc(None, None, None, ':"a"}'), *CALLED),
        "no index, two whole calls": (
            calls(("call_1_0", "ls", FILE), ("call_1_1", "ls", {"path": "b"})),
            ch(tool_calls=[tc_(None, None, "ls", '{"path":"a"}'), tc_(None, None, "ls", '{"path":"b"}')]),
            *CALLED,
        ),
        "one index for two calls": (
            calls(*TWO),
            tc(0, "a1", "ls", '{"path":"a"}'),
            tc(0, "a2", "ls", '{"path":"b"}'),
            *CALLED,
        ),
        "interleaved": (
            calls(*TWO),
            tc(0, "a1", "ls", '{"path"'),
            tc(1, "a2", "ls", '{"path"'),
            tc(0, args=':"a"}'),
            tc(1, args=':"b"}'),
            *CALLED,
        ),
        "arguments an object, id missing": (calls(("call_1_0", "ls", FILE)), tc(0, None, "ls", FILE), *CALLED),
        "empty arguments": (calls(("a1", "ls", {})), tc(0, "a1", "ls", ""), *CALLED),
        "function_call of old": (
            calls(("call_1_0", "ls", FILE)),
            ch(function_call={"name": "ls", "arguments": '{"path"'}),
            ch(function_call={"arguments": ':"a"}'}),
            ch("function_call"),
            DONE,
        ),
        "raw XML from the server": (
            calls(ANY),
            ch(content="<tool_call>\n<function=ls>\n<parameter=path>\na\n</para"),
            ch(content="meter>\n</function>\n</tool_call>"),
            *CALLED,
        ),
        "a JSON answer stays an answer": (
            Want('{"city": "Paris", "rain": true}'),
            ch(content='{"city": "Paris", "rain": true}'),
            *STOPPED,
        ),
        "unreadable arguments are kept": (calls(("a1", "ls", '{"path": ')), tc(0, "a1", "ls", '{"path": '), *CALLED),
        "refusal": (Want("I can't.", reason=F.REFUSAL), ch(refusal="I can't."), *STOPPED),
        "aborted": (Want("Hello", reason=F.ABORTED), ch(content="Hello"), ch("abort"), DONE),
        "no capacity after words": (
            Want("Hello you", reason=F.OVERLOADED),
            ch(content="Hello you"),
            ch("insufficient_system_resource"),
            DONE,
        ),
        "no capacity at once": (fails(errors.Overloaded), ch("insufficient_system_resource"), DONE),
        "finish error": (fails(errors.ServerFailed), ch("error"), DONE),
        "no reason at all": (Want("Hello", reason=F.MISSING, raw=""), ch(content="Hello"), DONE),
        "tool_calls without calls": (Want("Hello", reason=F.TOOL_CALLS), ch(content="Hello"), *CALLED),
        "error with choices": (fails(errors.RateLimited), {"error": {"code": 429, "message": "no"}, **ch("error")}),
        "llama-server's parser": (
            fails(errors.MalformedReply),
            tc(0, "a1", "ls", '{"p'),
            {"error": {"message": "The model produced output that does not match the expected peg-native format"}},
        ),
        "deepseek's cache": (
            Want("Hello", usage=(9, 1, 8, 0, 0)),
            ch(content="Hello"),
            ch("stop"),
            {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 8}},
            DONE,
        ),
        "usage on each chunk, the last counts": (
            Want("Hello", usage=(9, 2, 0, 0, 0)),
            {**ch(content="Hello"), "usage": {"prompt_tokens": 1, "completion_tokens": 1}},
            {**ch("stop"), "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
            DONE,
        ),
    },
    "anthropic": {
        "call without deltas": (calls(*ONE), start(), *use(0, input=FILE), *stop("tool_use")),
        "call without anything": (calls(("a1", "ls", {})), start(), *use(0), *stop("tool_use")),
        "unknown events, blocks, deltas": (
            HELLO,
            start(),
            ev("odd"),
            *block(0, ev("odd_block", x=1), ev("odd_delta", y=2)),
            *block(
                1, ev("server_tool_use", id="s", name="web", input={}), ev("input_json_delta", partial_json='{"q":1}')
            ),
            *text_block(2, "Hello"),
            *stop("end_turn"),
        ),
        "started anew": (HELLO, start(), *text_block(0, "wrong"), *GREETED, *stop("end_turn")),
        "pause": (Want("Hello", reason=F.PAUSE), *GREETED, *stop("pause_turn")),
        "refusal": (Want(reason=F.REFUSAL), start(), *stop("refusal", stop_details={"explanation": "no"})),
        "window full": (Want("Hello", reason=F.CONTEXT), *GREETED, *stop("model_context_window_exceeded")),
        "stop sequence": (Want("Hello", raw="stop_sequence"), *GREETED, *stop("stop_sequence")),
        "not streamed": (
            calls(*ONE, text="Hello"),
            ev(
                "message",
                content=[ev("text", text="Hello"), ev("tool_use", id="a1", name="ls", input=FILE)],
                stop_reason="tool_use",
                usage={"input_tokens": 1, "output_tokens": 2},
            ),
        ),
    },
    "gemini": {
        "parallel calls without ids": (
            calls(("gemini/1/0", "ls", FILE), ("gemini/1/1", "ls", {"path": "b"})),
            ge({**fc(path="a"), "thoughtSignature": "s"}, fc(path="b")),
            ge(finish="STOP"),
        ),
        "arguments in parts": (
            calls(*ONE),
            ge(
                {
                    "functionCall": {
                        "id": "a1",
                        "name": "ls",
                        "partialArgs": [{"jsonPath": "$.path", "stringValue": "a"}],
                    }
                },
                finish="STOP",
            ),
        ),
        "nothing but safety": (
            Want(reason=F.CONTENT_FILTER, raw="SAFETY"),
            {"candidates": [{"finishReason": "SAFETY"}]},
        ),
        "prompt blocked": (Want(reason=F.CONTENT_FILTER), {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
        "malformed call": (
            Want(reason=F.MALFORMED_CALL),
            {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "bad"}]},
        ),
        "undeclared tool": (
            Want("Hello", reason=F.MALFORMED_CALL),
            ge({"text": "Hello"}, finish="UNEXPECTED_TOOL_CALL"),
        ),
        "empty": (fails(errors.EmptyReply), ge({"text": ""}, finish="STOP")),
    },
    "responses": {
        "open reasoning": (OK, delta("reasoning_text", "hm"), delta("output_text", "ok"), done()),
        "reasoning with its item": (
            OK,
            delta("reasoning_summary_text", "hm"),
            item(0, "done", {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"}),
            delta("output_text", "ok", 1),
            done(),
        ),
        "the finished item counts": (
            calls(*ONE),
            item(0, "added", fcall("")),
            args_delta('{"pa'),
            item(0, "done", fcall('{"path":"a"}')),
            done(),
        ),
        "two calls told apart by index": (
            calls(*TWO),
            item(0, "added", fcall("", "a1")),
            item(1, "added", fcall("", "a2")),
            args_delta('{"path":"b"}', 1),
            args_delta('{"path":"a"}', 0),
            done(),
        ),
        "filtered at once": (Want(reason=F.CONTENT_FILTER), incomplete("content_filter")),
        "refusal": (Want("I can't.", reason=F.REFUSAL), delta("refusal", "I can't."), done()),
        "failed": (
            fails(errors.ServerFailed),
            ev("response.failed", response={"error": {"code": "server_error", "message": "no"}}),
        ),
        "not streamed": (
            calls(*ONE, text="Hello"),
            {
                "object": "response",
                "status": "completed",
                "output": [ev("message", content=[ev("output_text", text="Hello")]), fcall('{"path":"a"}')],
            },
        ),
    },
}
"""What only this wire does: what must come of it, then what is said; bytes stand as they are."""
ALL = [
    *(common(wire, name) for wire in WIRES for name in COMMON if has_words(wire, name)),
    *(own(wire, name, *row) for wire, rows in OWN.items() for name, row in rows.items()),
]
