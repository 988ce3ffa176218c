"""Status and body to the right error, with what to do; waits as the server asked."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

import pytest

from aicli import errors
from aicli.models.faults import Asked, from_event, from_status, retry_after

OLLAMA = Asked("ollama", "qwen3:4b", "http://127.0.0.1:11434", ("OLLAMA_API_KEY",))
OPENAI = Asked("openai", "gpt-x", "https://api.openai.com/v1", ("OPENAI_API_KEY",))


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"message": "unknown field"}}, errors.BadRequest),
        (401, {"error": {"message": "no"}}, errors.AuthFailed),
        (403, {"detail": "forbidden"}, errors.AuthFailed),
        (402, {"error": {"message": "insufficient credits"}}, errors.AuthFailed),
        (400, {"error": {"message": "API key not valid.", "status": "INVALID_ARGUMENT"}}, errors.AuthFailed),
        (404, {"error": "model 'x' not found"}, errors.ModelNotFound),
        (
            400,
            {"error": {"message": "The model `gpt-x` does not exist", "code": "model_not_found"}},
            errors.ModelNotFound,
        ),
        (400, {"error": {"message": "This model's maximum context length is 8192 tokens"}}, errors.ContextTooLong),
        (400, {"type": "error", "error": {"message": "prompt is too long: 210000 tokens"}}, errors.ContextTooLong),
        (400, {"error": {"code": 400, "message": "exceeds the available context size"}}, errors.ContextTooLong),
        (413, {"error": {"message": "input is too long"}}, errors.ContextTooLong),
        (400, {"error": {"code": "content_filter", "message": "filtered"}}, errors.ContentFiltered),
        (408, {}, errors.ModelTimeout),
        (429, {"error": {"message": "slow down"}}, errors.RateLimited),
        (500, {"error": "error parsing tool call: raw='{'"}, errors.MalformedReply),
        (500, {"message": "oops"}, errors.ServerFailed),
        (502, "<html><style>p{}</style><h1>Bad gateway</h1></html>", errors.ServerFailed),
        (503, [{"error": {"message": "overloaded", "status": "UNAVAILABLE"}}], errors.Overloaded),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, errors.Overloaded),
        (302, "", errors.BadRequest),
    ],
)
def test_status_and_body(status: int, body: Any, kind: type[errors.ModelError]) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    error = from_status(OPENAI, status, {}, text)
    assert type(error) is kind
    assert error.status == status
    assert str(status) in str(error)
    assert "<" not in str(error)


def test_a_path_that_is_not_there_is_no_missing_model() -> None:
    error = from_status(OPENAI, 404, {}, '{"detail": "Not Found"}')
    assert type(error) is errors.BadRequest and "https://api.openai.com/v1" in error.hint


def test_hints_say_what_to_do() -> None:
    assert "ollama pull qwen3:4b" in from_status(OLLAMA, 404, {}, '{"error":"model not found"}').line
    assert "OPENAI_API_KEY" in from_status(OPENAI, 401, {}, "{}").line
    assert "compact" in from_status(OPENAI, 400, {}, '{"error":{"message":"context_length_exceeded"}}').line


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, errors.Overloaded),
        ({"code": 429, "message": "quota"}, errors.RateLimited),
        ({"code": 502, "message": "Provider returned error", "metadata": {"raw": "upstream"}}, errors.ServerFailed),
        ("error parsing tool call: raw='{', err=unexpected end of JSON input", errors.MalformedReply),
        ("invalid character ']' after object key:value pair", errors.MalformedReply),
        ("XML syntax error on line 3", errors.MalformedReply),
        (
            {"message": "The model produced output that does not match the expected peg-native format"},
            errors.MalformedReply,
        ),
        ({"message": "context_length_exceeded"}, errors.ContextTooLong),
        ({"code": "rate_limit_exceeded", "message": "later"}, errors.RateLimited),
        ({"code": "server_error", "message": "it failed"}, errors.ServerFailed),
        ("something odd", errors.ServerFailed),
        ({"code": "invalid_prompt", "message": "invalid prompt"}, errors.BadRequest),
    ],
)
def test_error_inside_a_success(error: Any, kind: type[errors.ModelError]) -> None:
    assert type(from_event(OPENAI, error)) is kind


def test_an_empty_account_is_not_asked_again() -> None:
    body = json.dumps({"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}})
    error = from_status(OPENAI, 429, {}, body)
    assert type(error) is errors.RateLimited and error.retryable is False and "credit" in error.hint


def test_waits() -> None:
    assert retry_after({"retry-after": "2"}) == 2
    assert retry_after({"retry-after": "1.5"}) == 1.5
    assert retry_after({"retry-after": "9", "retry-after-ms": "250"}) == 0.25
    ahead = retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert ahead is not None and 27 < ahead <= 30
    assert retry_after({"retry-after": formatdate(time.time() - 30, usegmt=True)}) == 0
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}, '{"error":{"details":[{"retryDelay": "3.5s"}]}}') == 3.5
    assert retry_after({}) is None


def test_the_server_may_say_whether_to_retry() -> None:
    assert from_status(OPENAI, 500, {"x-should-retry": "false"}, "").retryable is False
    assert from_status(OPENAI, 400, {"x-should-retry": "true"}, "").retryable is True
