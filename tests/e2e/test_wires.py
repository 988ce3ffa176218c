"""The real program over each wire: one answer, one retry, one proxy, one broken stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.models.support import PROVIDERS
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, cut, error, raw, text, think, usage

KEYS = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY"), "sk-e2e-secret")


def aicli(*args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "aicli", *args],
        env={**os.environ, **KEYS, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def ask(
    server: ModelServer, *more: str, wire: str = "openai", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return aicli("prompt", "hi", "-m", f"{wire}:test-model", "--base-url", server.url, *more, env=env)


@pytest.mark.parametrize("wire", PROVIDERS)
def test_one_answer_after_one_call(wire: str) -> None:
    with ModelServer([[think("hm"), call("ls", path=".")], [text("fine 你好", pieces=3), usage(20, 4)]]) as server:
        done = ask(server, "--output-format", "json", wire=wire)
        assert server.violations == []
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["result"] == "fine 你好" and result["num_tool_calls"] == 1
    assert result["usage"]["input_tokens"] >= 20


def test_retry_after_is_obeyed() -> None:
    with ModelServer([[error(429, "slow down", retry_after=2)], "fine"]) as server:
        begin = time.monotonic()
        done = ask(server)
        assert len(server.requests) == 2
    assert (done.returncode, done.stdout) == (0, "fine\n")
    assert time.monotonic() - begin >= 2


def test_a_retried_stream_is_printed_once() -> None:
    with ModelServer([[text("Hello wor"), cut()], [text("Hello world", pieces=4)]]) as server:
        done = ask(server)
    assert (done.returncode, done.stdout) == (0, "Hello world\n")


@pytest.mark.parametrize("empty", [[], None])
def test_chunks_without_choices(empty: object) -> None:
    first = b"data: " + json.dumps({"id": "x", "choices": empty}).encode() + b"\n\n"
    with ModelServer([[raw(first), text("fine")]]) as server:
        done = ask(server)
    assert (done.returncode, done.stdout) == (0, "fine\n")


def test_an_answer_without_text_is_told_not_printed() -> None:
    body = {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}
    with ModelServer([[error(200, body=body)]] * 4) as server:
        done = ask(server)
    assert (
        done.returncode != 0 and "None" not in done.stdout and "Traceback" not in done.stderr and "empty" in done.stderr
    )


@pytest.mark.parametrize("names", [("HTTP_PROXY", "HTTPS_PROXY"), ("all_proxy",)])
def test_proxies(names: tuple[str, ...]) -> None:
    proxied = dict.fromkeys(names, "http://127.0.0.1:9")
    no = "NO_PROXY" if names[0].isupper() else "no_proxy"
    with ModelServer(["fine"]) as server:
        done = ask(server, env={**proxied, no: "127.0.0.1,localhost"})
        assert (done.returncode, done.stdout) == (0, "fine\n")
        done = ask(server, env=proxied)
    assert done.returncode == 75 and "proxy http://127.0.0.1:9" in done.stderr and "Traceback" not in done.stderr


def test_keys_stay_out_of_the_wire_log() -> None:
    with ModelServer(["fine"]) as server:
        done = ask(server, "--log-http", "http.log")
    logged = Path("http.log").read_text("utf-8")
    assert done.returncode == 0 and ">>> 1 POST" in logged and "sk-e2e-secret" not in logged


def test_a_wrong_key_and_no_server() -> None:
    with ModelServer([[error(401, "invalid api key")]]) as server:
        done = ask(server, "--output-format", "json", wire="anthropic")
        result = json.loads(done.stdout)
        assert (done.returncode, result["subtype"]) == (41, "error_auth")
    done = aicli("prompt", "hi", "-m", "openai:x", "--base-url", "http://127.0.0.1:9")
    assert done.returncode == 75 and "127.0.0.1:9" in done.stderr
