"""The scripted server refuses what real servers refuse, and says why."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.models.cases import turn
from tests.models.support import LS, ask
from tests.models.test_encode import encode
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import from_json

PATHS = {
    "ollama": "/api/chat",
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m:streamGenerateContent?alt=sse",
}


def post(server: ModelServer, path: str, body: Any) -> tuple[int, str]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(server.url + path, data, head)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def good(name: str) -> dict[str, Any]:
    maker = {"gemini": "openai", "anthropic": "openai", "responses": "openai"}.get(name, name)
    return json.loads(json.dumps(encode(name, ask("look", *turn(maker, id_="c1")))))  # type: ignore[no-any-return]


def broken(name: str, change: str) -> Any:
    body = good(name)
    match name, change:
        case _, "unknown field":
            body["surprise"] = 1
        case _, "surrogate":
            return json.dumps(body).replace("look", "\\ud800", 1).encode()
        case "ollama" | "openai", "call without answer":
            del body["messages"][3]
        case "ollama" | "openai", "answer without call":
            del body["messages"][2]["tool_calls"]
        case "ollama", "wrong answer":
            body["messages"][3]["tool_name"] = "other"
        case "openai", "wrong answer":
            body["messages"][3]["tool_call_id"] = "other"
        case "ollama", "arguments":
            body["messages"][2]["tool_calls"][0]["function"]["arguments"] = "{}"
        case "openai", "arguments":
            body["messages"][2]["tool_calls"][0]["function"]["arguments"] = "[1]"
        case "ollama" | "openai", "role":
            body["messages"][1]["role"] = "model"
        case "responses", "call without answer":
            del body["input"][-1]
        case "responses", "answer without call":
            del body["input"][-2]
        case "responses", "wrong answer":
            body["input"][-1]["call_id"] = "other"
        case "responses", "arguments":
            body["input"][-2]["arguments"] = "[]"
        case "responses", "role":
            body["input"][0]["role"] = "model"
        case "anthropic", "call without answer":
            body["messages"][2]["content"] = [{"type": "text", "text": "and?"}]
        case "anthropic", "answer without call":
            body["messages"][1]["content"] = [{"type": "text", "text": "no call"}]
        case "anthropic", "wrong answer":
            body["messages"][2]["content"].insert(0, {"type": "text", "text": "text first"})
        case "anthropic", "arguments":
            body["messages"][1]["content"][-1]["input"] = "{}"
        case "anthropic", "role":
            body["messages"][0]["role"] = "assistant"
        case "gemini", "call without answer":
            del body["contents"][2]
        case "gemini", "answer without call":
            del body["contents"][1]
        case "gemini", "wrong answer":
            body["contents"][2]["parts"][0]["functionResponse"]["name"] = "other"
        case "gemini", "arguments":
            body["contents"][2]["parts"][0]["functionResponse"]["response"] = "text"
        case "gemini", "role":
            body["contents"][1]["role"] = "assistant"
    return body


CHANGES = (
    "unknown field",
    "surrogate",
    "call without answer",
    "answer without call",
    "wrong answer",
    "arguments",
    "role",
)


@pytest.mark.parametrize("name", PATHS)
def test_a_right_request_is_answered(name: str) -> None:
    with ModelServer(["fine"]) as server:
        status, said = post(server, PATHS[name], good(name))
        assert (status, server.violations) == (200, []) and "fine" in said


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_wrong_request_is_refused_with_the_reason(name: str, change: str) -> None:
    with ModelServer(["never"]) as server:
        status, said = post(server, PATHS[name], broken(name, change))
        assert status == 400 and len(server.violations) == 1 and server.requests == []
        assert "error" in json.loads(said)


def test_forged_and_changed_thinking_is_refused() -> None:
    body = encode("anthropic", ask("look", *turn("anthropic")))
    with ModelServer(["never"]) as server:
        assert post(server, PATHS["anthropic"], body)[0] == 400
        server.opaque["sig-1"] = {"type": "thinking", "thinking": "Otherwise.", "signature": "sig-1"}
        assert post(server, PATHS["anthropic"], body)[0] == 400
        assert "Invalid `signature`" in server.violations[0] and "cannot be modified" in server.violations[1]


def test_gemini_wants_its_signatures_and_a_narrow_schema() -> None:
    body = good("gemini")
    for part in body["contents"][1]["parts"]:
        part.pop("thoughtSignature", None)
    with ModelServer(["never"]) as server:
        assert "thought_signature" in post(server, PATHS["gemini"], body)[1]
        body = good("gemini")
        declared = body["tools"][0]["functionDeclarations"][0]
        declared["parameters"] = {**declared.pop("parametersJsonSchema"), "additionalProperties": False}
        assert "additionalProperties" in post(server, PATHS["gemini"], body)[1]


def test_deepseek_rule_and_strict_rule() -> None:
    body = encode("openai", ask("look", *turn("openai")))
    with ModelServer(["never"], echo="required") as server:
        assert "must be passed back" in post(server, PATHS["openai"], body)[1]
    body = encode("deepseek", ask("look", *turn("deepseek")))
    with ModelServer(["never"], echo="forbidden") as server:
        assert post(server, PATHS["openai"], body)[0] == 400


def test_unknown_model_no_reply_left_and_no_json() -> None:
    with ModelServer([], models=["a"]) as server:
        assert post(server, PATHS["openai"], good("openai"))[0] == 404
        assert post(server, PATHS["openai"], {**good("openai"), "model": "a"})[0] == 500
        assert post(server, PATHS["openai"], b"[1]")[0] == 400
        assert post(server, "/nowhere", {})[0] == 404


def test_a_reply_may_depend_on_the_request() -> None:
    with ModelServer([lambda body: f"you use {body['model']}"]) as server:
        assert "you use test-model" in post(server, PATHS["openai"], good("openai"))[1]


def test_scripts_as_json() -> None:
    replies = from_json('[["a", {"call": {"name": "ls", "args": {"path": "."}}}, {"usage": {"input": 3}}], "b"]')
    assert [s.kind for s in replies[0]] == ["text", "call", "usage"] and replies[1][0].value == "b"
    with ModelServer(replies) as server:
        assert '"ls"' in post(server, PATHS["openai"], encode("openai", ask("x", tools=(LS,))))[1]
