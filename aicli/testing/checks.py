"""What real servers refuse: each wire's rules for a request. A check raises Bad with the reason, or returns."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema

Body = dict[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Bad(Exception):
    """The request is wrong; the text says how."""


def said(error: Exception) -> str:
    """The reason in words, also where a part of the request had a shape that no rule foresaw."""
    if isinstance(error, KeyError):
        return f"the field {error} is missing"
    return str(error) if isinstance(error, Bad) else f"a value is of the wrong kind: {error}"


def need(condition: object, why: str) -> None:
    if not condition:
        raise Bad(why)


def known(fields: Any, allowed: str, where: str, *, needed: str = "") -> None:
    need(isinstance(fields, dict), f"{where} is no object")
    for name in fields:
        need(name in allowed.split(), f"unknown field {name!r} in {where}")
    for name in needed.split():
        need(name in fields, f"{where}: the field {name!r} is missing")


def surrogates(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Bad("the body holds a lone surrogate") from None


def schema(value: Any, where: str) -> None:
    need(isinstance(value, dict) and value.get("type") == "object", f"{where}: the schema's type must be object")
    try:
        jsonschema.Draft202012Validator.check_schema(value)
    except jsonschema.SchemaError as error:
        raise Bad(f"{where}: {error.message}") from None


def strict_schema(value: Any, where: str) -> None:
    if not isinstance(value, dict):
        return
    if value.get("type") == "object":
        need(value.get("additionalProperties") is False, f"{where}: strict wants additionalProperties false")
        need(set(value.get("required", [])) == set(value.get("properties", {})), f"{where}: strict wants all required")
    for inner in [*value.get("properties", {}).values(), value.get("items"), *value.get("anyOf", [])]:
        strict_schema(inner, where)


# Ollama


def ollama(body: Body, server: Any, headers: Any) -> None:
    known(
        body,
        "model messages tools stream think format options keep_alive truncate shift logprobs top_logprobs",
        "body",
        needed="model messages",
    )
    need(isinstance(body.get("options"), dict) and body["options"].get("num_ctx"), "options.num_ctx is missing")
    known(body["options"], "num_ctx num_predict temperature top_p top_k seed stop min_p repeat_penalty", "options")
    need(not (body.get("format") and body.get("tools")), "format together with tools")
    for tool in body.get("tools", ()):
        known(tool, "type function", "tool", needed="function")
        known(tool["function"], "name description parameters", "tool.function", needed="name parameters")
        schema(tool["function"]["parameters"], tool["function"]["name"])
    waiting: list[tuple[str, str]] = []
    for n, m in enumerate(body["messages"]):
        where = f"messages[{n}]"
        known(m, "role content thinking images tool_calls tool_name tool_call_id", where, needed="role")
        need(isinstance(m.get("content"), str), f"{where}.content must be a string")
        if m["role"] == "tool":
            need(waiting, f"{where}: a tool message without its call")
            match = [w for w in waiting if m.get("tool_call_id", w[0]) == w[0] and m.get("tool_name") == w[1]]
            need(match, f"{where}: answers {m.get('tool_call_id')}/{m.get('tool_name')}, which nobody called")
            waiting.remove(match[0])
            continue
        need(not waiting, f"{where}: calls {waiting} are not answered")
        need(m["role"] in ("system", "user", "assistant"), f"{where}: role {m['role']}")
        need(m["role"] != "system" or n == 0, f"{where}: system in the middle")
        need(m["role"] == "assistant" or not m.get("tool_calls"), f"{where}: calls of a {m['role']}")
        for c in m.get("tool_calls", ()):
            need(isinstance(c["function"].get("arguments"), dict), f"{where}: arguments must be an object")
            waiting.append((c.get("id", ""), c["function"]["name"]))
    need(not waiting, f"calls {waiting} are not answered")


# Chat completions

_CHAT = (
    "model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens max_completion_tokens temperature"
    " top_p top_k stop seed response_format reasoning_effort thinking reasoning chat_template_kwargs user"
)


def chat(body: Body, server: Any, headers: Any) -> None:
    known(body, _CHAT, "body", needed="model messages")
    need(body.get("stream") or "stream_options" not in body, "stream_options without stream")
    for tool in body.get("tools", ()):
        known(tool, "type function", "tool", needed="type function")
        function = tool["function"]
        known(function, "name description parameters strict", "tool.function", needed="name parameters")
        need(tool["type"] == "function" and _NAME.fullmatch(function["name"]), f"tool name {function['name']!r}")
        schema(function["parameters"], function["name"])
        if function.get("strict"):
            strict_schema(function["parameters"], function["name"])
    form = body.get("response_format")
    if form:
        named = form["type"] == "json_schema" and form["json_schema"].get("name")
        need(named or form == {"type": "json_object"}, "response_format")
    waiting: list[str] = []
    seen: set[str] = set()
    for n, m in enumerate(body["messages"]):
        where = f"messages[{n}]"
        known(
            m,
            "role content name tool_calls tool_call_id reasoning_content reasoning reasoning_details",
            where,
            needed="role",
        )
        role, content = m.get("role"), m.get("content")
        if role == "tool":
            need(
                m.get("tool_call_id") in waiting,
                f"{where}: tool_call_id {m.get('tool_call_id')!r} answers no open call",
            )
            need(isinstance(content, str), f"{where}: the content of a tool message must be a string")
            waiting.remove(m["tool_call_id"])
            continue
        need(not waiting, f"{where}: tool_call_ids {waiting} have no answer")
        need(role in ("system", "developer", "user", "assistant"), f"{where}: role {role!r}")
        need(
            isinstance(content, (str, list)) or (role == "assistant" and m.get("tool_calls")),
            f"{where}: content {content!r}",
        )
        for part in content if isinstance(content, list) else ():
            need(part["type"] in ("text", "image_url", "input_audio", "file"), f"{where}: part {part['type']}")
        if role == "assistant":
            _chat_assistant(m, where, waiting, seen, server.echo, any(x.get("tool_calls") for x in body["messages"]))
        else:
            need(not m.get("tool_calls"), f"{where}: calls of a {role}")
    need(not waiting, f"tool_call_ids {waiting} have no answer")


def _chat_assistant(m: Body, where: str, waiting: list[str], seen: set[str], echo: str, tools: bool) -> None:
    has = "reasoning_content" in m or "reasoning" in m
    need(echo != "forbidden" or not has, f"{where}: unknown field reasoning_content")
    if echo == "required" and tools:
        need(has, "The `reasoning_content` in the thinking mode must be passed back to the API")
    for c in m.get("tool_calls", ()):
        need(isinstance(c.get("id"), str) and c["id"] and c["id"] not in seen, f"{where}: id {c.get('id')!r}")
        need(c.get("type") == "function" and c["function"].get("name"), f"{where}: a call needs type and name")
        try:
            args = json.loads(c["function"]["arguments"])
        except (ValueError, TypeError):
            raise Bad(f"{where}: arguments are no JSON text") from None
        need(isinstance(args, dict), f"{where}: arguments must be an object")
        waiting.append(c["id"])
        seen.add(c["id"])


# Responses


def responses(body: Body, server: Any, headers: Any) -> None:
    known(
        body,
        "model input instructions tools tool_choice stream store include reasoning parallel_tool_calls max_output_tokens"
        " temperature top_p text",
        "body",
        needed="model input",
    )
    for tool in body.get("tools", ()):
        known(tool, "type name description parameters strict", "tool", needed="type name parameters")
        need(tool["type"] == "function", "tool.type")
        schema(tool["parameters"], tool["name"])
        if tool.get("strict", True):
            strict_schema(tool["parameters"], tool["name"])
    waiting: list[str] = []
    need_next = ""
    for n, item in enumerate(body["input"]):
        where = f"input[{n}]"
        kind = item.get("type", "message")
        need(not need_next or kind in ("function_call", "message", "reasoning"), f"{where}: reasoning without its item")
        need_next = ""
        if kind == "message":
            need(not waiting, f"{where}: No tool output found for function call {waiting}")
            need(item["role"] in ("user", "assistant", "system", "developer"), f"{where}: role")
            for part in item["content"] if isinstance(item["content"], list) else ():
                allowed = ("output_text", "refusal") if item["role"] == "assistant" else ("input_text", "input_image")
                need(part["type"] in allowed, f"{where}: part {part['type']} of {item['role']}")
        elif kind == "function_call":
            need(isinstance(json.loads(item["arguments"]), dict), f"{where}: arguments")
            waiting.append(item["call_id"])
        elif kind == "function_call_output":
            need(item["call_id"] in waiting, f"{where}: No tool call found for {item['call_id']}")
            waiting.remove(item["call_id"])
        elif kind == "reasoning":
            issued = server.opaque.get(item.get("encrypted_content"))
            need(issued is not None, f"{where}: encrypted content could not be verified")
            need("summary" in item, f"{where}: summary is missing")
            need_next = "item"
        else:
            raise Bad(f"{where}: type {kind}")
    need(not waiting, f"No tool output found for function call {waiting}")
    need(not need_next, "a reasoning item without its following item")


# Anthropic


def anthropic(body: Body, server: Any, headers: Any) -> None:
    need(headers.get("anthropic-version"), "anthropic-version: header is required")
    known(
        body,
        "model max_tokens system messages tools tool_choice thinking output_config stream temperature top_p top_k"
        " stop_sequences metadata cache_control",
        "body",
        needed="model messages",
    )
    need(isinstance(body.get("max_tokens"), int), "max_tokens: field required")
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        need(1024 <= thinking.get("budget_tokens", 0) < body["max_tokens"], "thinking.budget_tokens")
    for tool in body.get("tools", ()):
        known(
            tool,
            "name description input_schema strict cache_control input_examples eager_input_streaming type",
            "tool",
            needed="name input_schema",
        )
        need(re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool["name"]), f"tool name {tool['name']!r}")
        schema(tool["input_schema"], tool["name"])
        if tool.get("input_examples"):
            need(
                "advanced-tool-use" in headers.get("anthropic-beta", ""),
                "tool.input_examples: extra inputs are not permitted",
            )
    marks = json.dumps(body).count('"cache_control"')
    need(marks <= 4, f"{marks} cache_control blocks; at most 4")
    need(body["messages"] and body["messages"][0]["role"] == "user", "messages: first message must use the user role")
    waiting: list[str] = []
    for n, m in enumerate(body["messages"]):
        where = f"messages.{n}"
        known(m, "role content", where, needed="role content")
        blocks = m["content"] if isinstance(m["content"], list) else [{"type": "text", "text": m["content"]}]
        need(blocks or n == len(body["messages"]) - 1, f"{where}: all messages must have non-empty content")
        if m["role"] == "user":
            _anthropic_user(blocks, where, waiting)
            waiting = []
        else:
            need(m["role"] == "assistant", f"{where}: role {m['role']}")
            need(
                not waiting, f"{where}: tool_use ids were found without tool_result blocks immediately after: {waiting}"
            )
            waiting = _anthropic_assistant(blocks, where, server)
    need(not waiting, f"tool_use ids were found without tool_result blocks immediately after: {waiting}")


def _anthropic_user(blocks: list[Body], where: str, waiting: list[str]) -> None:
    results = [b for b in blocks if b["type"] == "tool_result"]
    need(blocks[: len(results)] == results, f"{where}: tool_result blocks must come first")
    ids = [b["tool_use_id"] for b in results]
    need(sorted(ids) == sorted(waiting), f"{where}: results {ids} for calls {waiting}")
    for b in blocks:
        if b["type"] == "text":
            need(b["text"].strip(), f"{where}: text content blocks must contain non-whitespace text")
        elif b["type"] == "image":
            need(b["source"]["type"] == "base64" and b["source"]["data"], f"{where}: image source")
        else:
            need(b["type"] in ("tool_result", "document"), f"{where}: block {b['type']} of a user")


def _anthropic_assistant(blocks: list[Body], where: str, server: Any) -> list[str]:
    waiting = []
    for b in blocks:
        kind = b["type"]
        if kind == "tool_use":
            need(re.fullmatch(r"[a-zA-Z0-9_-]+", b["id"]), f"{where}: tool_use.id {b['id']!r}")
            need(isinstance(b["input"], dict), f"{where}: tool_use.input must be an object")
            waiting.append(b["id"])
        elif kind in ("thinking", "redacted_thinking"):
            key = b.get("signature") if kind == "thinking" else b.get("data")
            need(key in server.opaque, f"{where}: Invalid `signature` in `thinking` block")
            need(server.opaque[key] == b, f"{where}: `thinking` blocks in the response cannot be modified")
        elif kind == "text":
            need(b["text"], f"{where}: text content blocks must be non-empty")
        else:
            raise Bad(f"{where}: block {kind} of an assistant")
    return waiting


# Gemini

_SCHEMA = (
    "type format title description nullable enum items properties required minimum maximum minItems maxItems minLength"
    " maxLength pattern anyOf propertyOrdering default example minProperties maxProperties"
)


def gemini(body: Body, server: Any, headers: Any) -> None:
    known(
        body,
        "contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent",
        "body",
        needed="contents",
    )
    known(
        body.get("generationConfig", {}),
        "maxOutputTokens temperature topP topK stopSequences thinkingConfig responseMimeType responseJsonSchema"
        " responseSchema",
        "generationConfig",
    )
    for group in body.get("tools", ()):
        for f in group.get("functionDeclarations", ()):
            known(f, "name description parameters parametersJsonSchema behavior response", "function", needed="name")
            need(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}", f["name"]), f"function name {f['name']!r}")
            need(not ("parameters" in f and "parametersJsonSchema" in f), "parameters and parametersJsonSchema")
            if server.gemini_old and "parametersJsonSchema" in f:
                raise Bad('Unknown name "parametersJsonSchema": Cannot find field')
            if "parameters" in f:
                _gemini_schema(f["parameters"], f["name"])
    calls: list[Body] = []
    for n, content in enumerate(body["contents"]):
        where = f"contents[{n}]"
        known(content, "role parts", where, needed="parts")
        need(content.get("role") in ("user", "model", "function"), f"{where}: role {content.get('role')!r}")
        need(content["parts"], f"{where}: parts must not be empty")
        answers = [p["functionResponse"] for p in content["parts"] if "functionResponse" in p]
        if calls or answers:
            need(
                len(calls) == len(answers),
                f"{where}: {len(answers)} function responses for {len(calls)} function calls",
            )
            for c, a in zip(calls, answers, strict=True):
                need(a["name"] == c["name"] and a.get("id") == c.get("id"), f"{where}: {a['name']} answers {c['name']}")
                need(isinstance(a["response"], dict), f"{where}: response must be an object")
        calls = [p["functionCall"] for p in content["parts"] if "functionCall" in p]
        need(not calls or content["role"] == "model", f"{where}: a function call of the user")
        for p in content["parts"]:
            known(p, "text thought thoughtSignature functionCall functionResponse inlineData fileData", f"{where}.part")
        if content["role"] == "model" and server.signatures and calls:
            first = next(p for p in content["parts"] if "functionCall" in p)
            sign = first.get("thoughtSignature")
            need(sign, f"{where}: Function call is missing a thought_signature in functionCall parts")
            right = server.opaque.get(sign)
            need(
                sign == "skip_thought_signature_validator" or right == first["functionCall"],
                f"{where}: Corrupted thought signature",
            )
    need(not calls, "function calls without responses at the end")


def _gemini_schema(value: Body, where: str) -> None:
    known(value, _SCHEMA, f"schema of {where}")
    need(value.get("type") or value.get("anyOf"), f"{where}: type is missing")
    if value.get("type") in ("array", "ARRAY"):
        need(value.get("items"), f"{where}: items: missing field")
    if value.get("type") in ("object", "OBJECT"):
        need(value.get("properties"), f"{where}: properties: should be non-empty for OBJECT type")
    need(not isinstance(value.get("type"), list), f"{where}: type must be one word")
    for inner in [*value.get("properties", {}).values(), *value.get("anyOf", [])]:
        _gemini_schema(inner, where)
    if value.get("items"):
        _gemini_schema(value["items"], where)
