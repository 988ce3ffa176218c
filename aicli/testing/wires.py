"""A reply's steps in each wire format. A wire is a class: `piece` says one step, `end` the rest; both give bytes."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from typing import Any

from aicli.testing.steps import Step


def dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def cuts(step: Step) -> list[str]:
    """A step's text in the number of pieces it asks for."""
    text, pieces = step.value, min(step.extra.get("pieces", 1), max(len(step.value), 1))
    bounds = [len(text) * n // pieces for n in range(pieces + 1)]
    return [text[a:b] for a, b in itertools.pairwise(bounds)]


def arguments(step: Step) -> str:
    return step.extra["raw"] if "raw" in step.extra else json.dumps(step.extra["args"], ensure_ascii=False)


class Wire:
    """State of one reply: usage, finish word, calls so far."""

    content_type = "text/event-stream"
    stop, called = "stop", "tool_calls"

    def __init__(self, server: Any, body: dict[str, Any], number: int) -> None:
        self.server = server
        self.body = body
        self.number = number
        self.model = body.get("model", "test-model")
        self.calls = 0
        read = max(10, len(json.dumps(body)) // 3)  # a server that read less would have cut the input
        self.tokens = {"in": read, "out": 5, "cached": 0, "created": 0, "reasoning": 0}
        self._finish: Any = Ellipsis

    def take(self, step: Step) -> None:
        if step.kind == "usage":
            self.tokens = {**step.extra}
        elif step.kind == "finish":
            self._finish = step.value

    @property
    def finish(self) -> Any:
        if self._finish is not Ellipsis:
            return self._finish
        return self.called if self.calls else self.stop

    def call_id(self, step: Step, form: str) -> str:
        self.calls += 1
        return step.extra.get("id") or form.format(n=self.number, i=self.calls)

    def keep(self, key: str, value: Any) -> str:
        """Notes what was issued under an opaque string, so that its echo can be checked."""
        self.server.opaque[key] = value
        return key

    def signature(self, *parts: object) -> str:
        return "sig-" + hashlib.sha256(repr((self.number, self.calls, *parts)).encode()).hexdigest()[:24]

    def begin(self) -> Iterator[bytes]:
        return iter(())

    def piece(self, step: Step) -> Iterator[bytes]:
        raise NotImplementedError

    def end(self) -> Iterator[bytes]:
        raise NotImplementedError

    def fail(self, step: Step) -> bytes:
        raise NotImplementedError

    def error_body(self, status: int, message: str) -> Any:
        return {"error": {"message": message, "type": "invalid_request_error", "code": status}}

    @staticmethod
    def event(value: Any, name: str = "") -> bytes:
        head = b"event: " + name.encode() + b"\n" if name else b""
        return head + b"data: " + dump(value) + b"\n\n"


class Ollama(Wire):
    content_type = "application/x-ndjson"
    called = "stop"

    def line(self, message: dict[str, Any], **more: Any) -> bytes:
        message = {"role": "assistant", "content": "", **message}
        return (
            dump({"model": self.model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False, **more})
            + b"\n"
        )

    def piece(self, step: Step) -> Iterator[bytes]:
        if step.kind == "text":
            yield from (self.line({"content": p}) for p in cuts(step))
        elif step.kind == "think":
            yield from (self.line({"thinking": p}) for p in cuts(step))
        elif step.kind == "call":
            args = step.extra["raw"] if "raw" in step.extra else step.extra["args"]
            id_ = self.call_id(step, "call_{n}_{i}")
            call = {"id": id_, "function": {"index": self.calls - 1, "name": step.value, "arguments": args}}
            yield self.line({"tool_calls": [call]})

    def end(self) -> Iterator[bytes]:
        counts = {"total_duration": 1, "prompt_eval_count": self.tokens["in"], "eval_count": self.tokens["out"]}
        reason = {} if self.finish is None else {"done_reason": self.finish}
        yield self.line({}, **reason, **counts).replace(b'"done":false', b'"done":true')

    def fail(self, step: Step) -> bytes:
        return dump({"error": step.extra["message"]}) + b"\n"

    def error_body(self, status: int, message: str) -> Any:
        return {"error": message}


class Chat(Wire):
    def chunk(self, delta: dict[str, Any], finish: Any = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        head = {"id": f"c{self.number}", "object": "chat.completion.chunk", "created": 1, "model": self.model}
        return self.event({**head, "choices": [choice], **more})

    def begin(self) -> Iterator[bytes]:
        yield self.chunk({"role": "assistant", "content": ""})

    def piece(self, step: Step) -> Iterator[bytes]:
        if step.kind == "text":
            yield from (self.chunk({"content": p}) for p in cuts(step))
        elif step.kind == "think":
            yield from (self.chunk({"reasoning_content": p}) for p in cuts(step))
        elif step.kind == "call":
            text = arguments(step)
            id_ = self.call_id(step, "call_{n}_{i}")
            head = {
                "index": self.calls - 1,
                "id": id_,
                "type": "function",
                "function": {"name": step.value, "arguments": ""},
            }
            yield self.chunk({"tool_calls": [head]})
            for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
                yield self.chunk({"tool_calls": [{"index": self.calls - 1, "function": {"arguments": piece}}]})
        elif step.kind == "comment":
            yield f": {step.value}\n\n".encode()

    def usage(self) -> dict[str, Any]:
        t = self.tokens
        return {
            "prompt_tokens": t["in"],
            "completion_tokens": t["out"],
            "total_tokens": t["in"] + t["out"],
            "prompt_tokens_details": {"cached_tokens": t["cached"]},
            "completion_tokens_details": {"reasoning_tokens": t["reasoning"]},
        }

    def end(self) -> Iterator[bytes]:
        yield self.chunk({}, self.finish)
        if (self.body.get("stream_options") or {}).get("include_usage"):
            yield self.event({"id": "u", "object": "chat.completion.chunk", "choices": [], "usage": self.usage()})
        yield b"data: [DONE]\n\n"

    def fail(self, step: Step) -> bytes:
        return self.event({"error": {"message": step.extra["message"], "code": step.value}})


class Responses(Wire):
    stop, called = "completed", "completed"

    def __init__(self, server: Any, body: dict[str, Any], number: int) -> None:
        super().__init__(server, body, number)
        self.output: list[dict[str, Any]] = []
        self.sequence = 0

    def say(self, kind: str, **more: Any) -> bytes:
        self.sequence += 1
        return self.event({"type": kind, "sequence_number": self.sequence, **more}, kind)

    def begin(self) -> Iterator[bytes]:
        yield self.say(
            "response.created", response={"id": f"resp_{self.number}", "status": "in_progress", "output": []}
        )

    def piece(self, step: Step) -> Iterator[bytes]:
        at = len(self.output)
        if step.kind == "text":
            start = {"type": "message", "id": f"msg_{self.number}_{at}", "role": "assistant", "content": []}
            yield self.say("response.output_item.added", output_index=at, item=start)
            for p in cuts(step):
                yield self.say(
                    "response.output_text.delta", output_index=at, content_index=0, item_id=start["id"], delta=p
                )
            done = {
                **start,
                "status": "completed",
                "content": [{"type": "output_text", "text": step.value, "annotations": []}],
            }
            yield self._done(at, done)
        elif step.kind in ("think", "redacted"):
            key = self.signature(step.value)
            start = {"type": "reasoning", "id": f"rs_{self.number}_{at}", "summary": []}
            yield self.say("response.output_item.added", output_index=at, item=start)
            if step.kind == "think":
                for p in cuts(step):
                    yield self.say("response.reasoning_summary_text.delta", output_index=at, summary_index=0, delta=p)
            summary = [{"type": "summary_text", "text": step.value}] if step.kind == "think" else []
            done = {**start, "summary": summary, "encrypted_content": key}
            self.keep(key, done)
            yield self._done(at, done)
        elif step.kind == "call":
            id_, text = self.call_id(step, "call_{n}_{i}"), arguments(step)
            start = {
                "type": "function_call",
                "id": f"fc_{self.number}_{at}",
                "call_id": id_,
                "name": step.value,
                "arguments": "",
            }
            yield self.say("response.output_item.added", output_index=at, item=start)
            for p in (text[: len(text) // 2], text[len(text) // 2 :]):
                yield self.say("response.function_call_arguments.delta", output_index=at, item_id=start["id"], delta=p)
            yield self.say(
                "response.function_call_arguments.done", output_index=at, item_id=start["id"], arguments=text
            )
            yield self._done(at, {**start, "arguments": text, "status": "completed"})
        elif step.kind == "comment":
            yield f": {step.value}\n\n".encode()

    def _done(self, at: int, item: dict[str, Any]) -> bytes:
        self.output.append(item)
        return self.say("response.output_item.done", output_index=at, item=item)

    def end(self) -> Iterator[bytes]:
        t = self.tokens
        usage = {
            "input_tokens": t["in"],
            "input_tokens_details": {"cached_tokens": t["cached"]},
            "output_tokens": t["out"],
            "output_tokens_details": {"reasoning_tokens": t["reasoning"]},
        }
        response = {"id": f"resp_{self.number}", "output": self.output, "usage": usage}
        word = self.finish
        if word == "completed":
            yield self.say("response.completed", response={**response, "status": "completed"})
        elif word == "failed":
            failure = {"code": "server_error", "message": "it failed"}
            yield self.say("response.failed", response={**response, "status": "failed", "error": failure})
        elif word is not None:
            details = {"reason": word}
            yield self.say(
                "response.incomplete", response={**response, "status": "incomplete", "incomplete_details": details}
            )

    def fail(self, step: Step) -> bytes:
        return self.say("error", code=str(step.value), message=step.extra["message"])


class Anthropic(Wire):
    stop, called = "end_turn", "tool_use"

    def __init__(self, server: Any, body: dict[str, Any], number: int) -> None:
        super().__init__(server, body, number)
        self.index = 0

    def say(self, kind: str, **more: Any) -> bytes:
        return self.event({"type": kind, **more}, kind)

    def _read(self) -> dict[str, int]:
        t = self.tokens
        plain = t["in"] - t["cached"] - t["created"]
        return {
            "input_tokens": plain,
            "cache_read_input_tokens": t["cached"],
            "cache_creation_input_tokens": t["created"],
        }

    def begin(self) -> Iterator[bytes]:
        message = {
            "id": f"msg_{self.number}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
        }
        yield self.say(
            "message_start", message={**message, "stop_reason": None, "usage": {**self._read(), "output_tokens": 1}}
        )
        yield self.say("ping")

    def _block(self, start: dict[str, Any], deltas: list[dict[str, Any]]) -> Iterator[bytes]:
        yield self.say("content_block_start", index=self.index, content_block=start)
        for delta in deltas:
            yield self.say("content_block_delta", index=self.index, delta=delta)
        yield self.say("content_block_stop", index=self.index)
        self.index += 1

    def piece(self, step: Step) -> Iterator[bytes]:
        if step.kind == "text":
            deltas = [{"type": "text_delta", "text": p} for p in cuts(step)]
            yield from self._block({"type": "text", "text": ""}, deltas)
        elif step.kind == "think":
            sign = step.extra.get("signature") or self.signature(step.value)
            self.keep(sign, {"type": "thinking", "thinking": step.value, "signature": sign})
            deltas = [{"type": "thinking_delta", "thinking": p} for p in cuts(step)]
            deltas.append({"type": "signature_delta", "signature": sign})
            yield from self._block({"type": "thinking", "thinking": "", "signature": ""}, deltas)
        elif step.kind == "redacted":
            block = {"type": "redacted_thinking", "data": step.value}
            self.keep(step.value, block)
            yield from self._block(block, [])
        elif step.kind == "call":
            text, id_ = arguments(step), self.call_id(step, "toolu_{n}_{i}")
            parts = ["", text[: len(text) // 2], text[len(text) // 2 :]] if text != "{}" else []
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in parts]
            yield from self._block({"type": "tool_use", "id": id_, "name": step.value, "input": {}}, deltas)
        elif step.kind == "comment":
            yield self.say("ping")

    def end(self) -> Iterator[bytes]:
        delta = {"stop_reason": self.finish, "stop_sequence": None}
        yield self.say("message_delta", delta=delta, usage={**self._read(), "output_tokens": self.tokens["out"]})
        yield self.say("message_stop")

    def fail(self, step: Step) -> bytes:
        kind = {529: "overloaded_error", 429: "rate_limit_error"}.get(step.value, "api_error")
        return self.say("error", error={"type": kind, "message": step.extra["message"]})

    def error_body(self, status: int, message: str) -> Any:
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "invalid_request_error"), "message": message}}


class Gemini(Wire):
    stop, called = "STOP", "STOP"

    def chunk(self, parts: list[dict[str, Any]], **more: Any) -> bytes:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **more.pop("candidate", {})}
        return self.event({"candidates": [candidate], "modelVersion": self.model, **more})

    def piece(self, step: Step) -> Iterator[bytes]:
        if step.kind == "text":
            yield from (self.chunk([{"text": p}]) for p in cuts(step))
        elif step.kind == "think":
            yield from (self.chunk([{"text": p, "thought": True}]) for p in cuts(step))
        elif step.kind == "call":
            first = not self.calls
            id_ = self.call_id(step, "gem_{n}_{i}")
            function = {"name": step.value, "args": step.extra.get("args", {})}
            if self.server.gemini_ids or step.extra.get("id"):
                function["id"] = id_
            part: dict[str, Any] = {"functionCall": function}
            if self.server.signatures and first:
                part["thoughtSignature"] = self.keep(self.signature(step.value), function)
            yield self.chunk([part])

    def end(self) -> Iterator[bytes]:
        t = self.tokens
        usage = {
            "promptTokenCount": t["in"],
            "candidatesTokenCount": t["out"] - t["reasoning"],
            "thoughtsTokenCount": t["reasoning"],
            "cachedContentTokenCount": t["cached"],
        }
        word = {} if self.finish is None else {"finishReason": self.finish}
        yield self.chunk([{"text": ""}], candidate=word, usageMetadata=usage)

    def fail(self, step: Step) -> bytes:
        return self.event(self.error_body(step.value, step.extra["message"]))

    def error_body(self, status: int, message: str) -> Any:
        words = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 404: "NOT_FOUND"}
        return {"error": {"code": status, "message": message, "status": words.get(status, "INTERNAL")}}
