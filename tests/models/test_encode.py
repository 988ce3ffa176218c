"""What is sent: a snapshot of each case for each provider, which the strict server takes too.

`UPDATE_FIXTURES=1 pytest tests/models/test_encode.py` writes the snapshots anew; read the difference before it is kept.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, JsonObject, TextPart, ThinkingPart
from aicli.content.request import ModelRequest
from aicli.models import registry
from aicli.models.base import ModelInfo
from aicli.models.narrow import narrow
from aicli.models.profiles import PROFILES
from aicli.models.providers import anthropic, gemini, ollama, openai, responses
from aicli.testing import checks
from tests.models.cases import META, SCHEMA, cases, turn
from tests.models.support import LS, ask
from tests.support.model_server import ModelServer

FIXTURES = Path(__file__).parent.parent / "fixtures" / "wire"
NAMES = ("ollama", "openai", "deepseek", "openrouter", "mistral", "kimi", "vllm", "responses", "anthropic", "gemini")
UPDATE = os.environ.get("UPDATE_FIXTURES") == "1"
MODELS = {"ollama": "qwen3:4b", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-3-pro", "responses": "gpt-5"}
CHECKS = {
    "ollama": checks.ollama,
    "responses": checks.responses,
    "anthropic": checks.anthropic,
    "gemini": checks.gemini,
}
HEADERS = {"anthropic-version": "2023-06-01", "anthropic-beta": "advanced-tool-use-2025-11-20"}
ONE_EACH = [(name, case) for name in NAMES for case in cases(name)]


def encode(name: str, request: ModelRequest, quirks: frozenset[str] = frozenset(), model: str = "") -> JsonObject:
    model = model or MODELS.get(name, "test-model")
    info = ModelInfo(name, model, window=32_768, thinking=True, images=True)
    match name:
        case "ollama":
            return ollama.encode(request, info, quirks, {})
        case "responses":
            return responses.encode(request, info, quirks)
        case "anthropic":
            return anthropic.encode(request, info, quirks)
        case "gemini":
            return gemini.encode(request, info, quirks, {})
        case _:
            return openai.encode(request, info, quirks, next(p for p in PROFILES if p.name == name))


def refused(name: str, body: JsonObject) -> str:
    """Why a strict server would answer 400, "" when it would not."""
    echo = {"deepseek": "required", "openai": "forbidden", "mistral": "forbidden"}.get(name, "any")
    server = ModelServer(echo=echo)
    server.opaque = {
        "sig-1": {"type": "thinking", "thinking": "Look first.", "signature": "sig-1"},
        "blob": META["responses"]["item"],
        "sig-g": {"id": "call_1", "name": "ls", "args": {"path": "."}},
    }
    try:
        checks.surrogates(body)
        CHECKS.get(name, checks.chat)(body, server, HEADERS)
    except checks.Bad as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("name", "case"), ONE_EACH)
def test_snapshot(name: str, case: str) -> None:
    body = encode(name, cases(name)[case])
    path = FIXTURES / name / "encode.json"
    kept = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        kept[case] = body
        path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert body == kept[case]
    assert refused(name, body) == ""


@pytest.mark.parametrize("name", NAMES)
def test_what_one_provider_signed_never_goes_to_another(name: str) -> None:
    for maker in META:
        if maker != name:
            body = json.dumps(encode(name, ask("look", *turn(maker, id_="c1"))))
            assert not any(word in body for word in ("sig-1", "sig-g", "blob", 's1"')), maker
            assert refused(name, encode(name, ask("look", *turn(maker, id_="c1")))) == ""


@pytest.mark.parametrize("name", NAMES)
def test_a_history_of_all_providers_in_turn(name: str) -> None:
    history = [m for n, maker in enumerate(META) for m in ("go on", *turn(maker, id_=f"functions.ls:{n}"))]
    body = encode(name, ask(*history))
    if name == "anthropic":
        assert [m["role"] for m in body["messages"]][:4] == ["user", "assistant", "user", "assistant"]
    known = refused(name, body)
    assert known == "" or (name == "gemini" and "Corrupted" in known), known


def test_ids_take_the_form_that_the_server_wants() -> None:
    body = encode("mistral", ask("look", *turn("openai")))
    sent, answered = body["messages"][2]["tool_calls"][0]["id"], body["messages"][3]["tool_call_id"]
    assert sent == answered and len(sent) == 9 and sent.isalnum()
    body = encode("kimi", ask("look", *turn("openai")))
    assert body["messages"][2]["tool_calls"][0]["id"] == body["messages"][3]["tool_call_id"] == "functions.ls:0"
    body = encode("anthropic", ask("look", *turn("kimi", id_="functions.ls:0")))
    block = next(b for b in body["messages"][1]["content"] if b["type"] == "tool_use")
    assert block["id"].startswith("toolu_") and body["messages"][2]["content"][0]["tool_use_id"] == block["id"]


def test_deepseek_gets_its_reasoning_back_and_an_empty_one_where_another_model_spoke() -> None:
    history = ("look", *turn("deepseek", id_="c1"), *turn("openai", id_="c2"))
    said = [m for m in encode("deepseek", ask(*history))["messages"] if m["role"] == "assistant"]
    assert [m["reasoning_content"] for m in said] == ["Look first.", ""]
    old = encode("deepseek", ask("look", *turn("deepseek"), Message.model("x"), "and?"), model="deepseek-r1")
    assert all("reasoning_content" not in m for m in old["messages"])


def test_results_come_before_what_the_person_said() -> None:
    body = encode("anthropic", ask("look", *turn("anthropic"), "stop that"))
    assert [b["type"] for b in body["messages"][-1]["content"]] == ["tool_result", "text"]


def test_anthropic_breakpoints_and_thinking_steps_down() -> None:
    request = ask("hello", thinking="medium")
    assert encode("anthropic", request)["thinking"]["type"] == "enabled"
    adaptive = encode("anthropic", request, model="claude-opus-4-6")
    assert adaptive["thinking"] == {"type": "adaptive"} and adaptive["output_config"]["effort"] == "medium"
    stepped = encode("anthropic", request, frozenset({"other_thinking"}), "claude-opus-4-6")
    assert stepped["thinking"]["type"] == "enabled"
    assert "thinking" not in encode("anthropic", request, frozenset({"no_thinking"}))
    assert json.dumps(adaptive).count("cache_control") == 3


def test_anthropic_does_not_begin_to_think_in_the_middle_of_a_tool_loop() -> None:
    loop = ask("look", *turn("openai"), thinking="high")
    assert "thinking" not in encode("anthropic", loop)
    assert "thinking" in encode("anthropic", ask("look", *turn("anthropic"), thinking="high"))
    assert "thinking" in encode("anthropic", ask("look", *turn("openai"), Message.model("x"), "and?", thinking="high"))


def test_a_redacted_block_goes_back_as_it_came() -> None:
    parts = (ThinkingPart(meta={"anthropic": {"redacted": "opaque"}}), TextPart(text="ok"))
    body = encode("anthropic", ask("hi", Message(role="model", parts=parts, provider="anthropic"), "more"))
    assert body["messages"][1]["content"][0] == {"type": "redacted_thinking", "data": "opaque"}


def test_gemini_signatures_stay_on_their_parts_and_can_be_dropped() -> None:
    request = ask("look", *turn("gemini"))
    call = encode("gemini", request)["contents"][1]["parts"][-1]
    assert call["thoughtSignature"] == "sig-g" and call["functionCall"]["id"] == "call_1"
    stripped = encode("gemini", request, frozenset({"no_signatures"}))["contents"][1]["parts"][-1]
    assert stripped["thoughtSignature"] == "skip_thought_signature_validator"


def test_tools_as_text_for_a_server_without_calls() -> None:
    for name in ("ollama", "openai"):
        body = encode(name, ask("look", *turn(name)), frozenset({"no_tools"}))
        assert "tools" not in body
        assert "### ls" in body["messages"][0]["content"]
        assert '<tool_call>\n{"name": "ls", "arguments": {"path": "."}}' in body["messages"][2]["content"]
        assert body["messages"][3]["role"] == "user" and "文件.txt" in body["messages"][3]["content"]
        assert refused(name, body) == ""


def test_quirks_leave_out_what_the_server_lacks() -> None:
    request = ask("x", thinking="low", temperature=0.5, max_output_tokens=9, output_schema=SCHEMA)
    quirks = frozenset({"no_stream_options", "no_effort", "no_temperature", "no_schema", "other_max"})
    body = encode("openai", request, quirks)
    left = {"stream_options", "reasoning_effort", "temperature", "response_format", "max_completion_tokens"} & set(body)
    assert left == set() and body["max_tokens"] == 9


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"P": {"type": "object", "properties": {"x": {"type": "integer"}}}}, "$ref": "#/$defs/P"},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"const": 3}, "b": {"type": "array"}}},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}}},
        {"type": "object", "properties": {"a": {"allOf": [{"type": "string", "minLength": 1}]}}},
        {"type": "object", "properties": {"a": {"type": "object"}, "b": {"type": "string", "format": "uri"}}},
        {"type": "object", "properties": {"a": {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 2}}},
        {"type": "object", "properties": {"a": {"enum": [1, 2, None]}}, "required": ["a", "gone"]},
    ],
)
def test_narrow_schemas_hold_only_what_gemini_takes(schema: JsonObject) -> None:
    tool = LS.model_copy(
        update={"parameters": schema if "properties" in schema else {**schema, "properties": {"z": {}}}}
    )
    assert refused("gemini", encode("gemini", ask("x", tools=(tool,)), frozenset({"narrow_schema"}))) == ""


def test_narrow_keeps_the_meaning() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"], "description": "d"}, "b": {"type": "integer", "minimum": 1}},
        "required": ["b"],
    }
    assert narrow(schema) == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "nullable": True, "description": "d"},
            "b": {"type": "integer", "minimum": 1},
        },
        "required": ["b"],
    }


def test_every_provider_file_declares_what_is_needed() -> None:
    found = registry.providers()
    assert set(NAMES) | {"azure", "lmstudio", "llamaserver", "embedded", "groq"} <= set(found)
    assert registry.skipped == {}
    for provider in found.values():
        assert provider.name == provider.name.lower() and callable(provider.model) and callable(provider.models)
        assert not provider.needs_key or provider.key_names


def test_empty_answers_and_odd_parts_do_not_break_the_wire() -> None:
    call = FunctionCallPart(id="e1", name="ls", args={})
    answer = FunctionResponsePart(id="e1", name="ls")
    history: list[Any] = ["x", Message(role="model", parts=(call,)), Message(role="tool", parts=(answer,))]
    for name in NAMES:
        assert refused(name, encode(name, ask(*history))) == "", name
