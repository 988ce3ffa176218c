"""The one HTTP layer: retries, limits, redirects, proxies, keys kept out of logs."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from aicli.content.request import FinishReason
from aicli.errors import (
    AuthFailed,
    BadRequest,
    ConnectFailed,
    ContextTooLong,
    MalformedReply,
    ModelNotFound,
    ModelTimeout,
    NetworkFailed,
    RateLimited,
    ServerFailed,
    StreamCut,
)
from aicli.models.wire import backoff
from tests.models.support import PROVIDERS, ask, orchestrator, reply, whole, with_model
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, comment, cut, end_early, error, hang, raw, text, wait

EVERY = pytest.mark.parametrize("provider", PROVIDERS)


@EVERY
def test_busy_twice_then_an_answer(provider: str) -> None:
    script = [[error(500, "oops")], [error(429, "slow", retry_after_ms=20)], "fine"]
    with ModelServer(script) as server:
        said, retries = with_model(server.url, provider, lambda m: whole(m, ask()))
    assert said.message().text == "fine"
    assert [r.status for r in retries] == [500, 429]
    assert [r.attempt for r in retries] == [1, 2]
    assert len(server.requests) == 3


def test_retry_after_in_seconds_is_obeyed() -> None:
    with ModelServer([[error(429, "slow", retry_after=1)], "fine"]) as server:
        begin = time.monotonic()
        reply(server, "openai", ask())
    assert time.monotonic() - begin >= 1
    assert len(server.requests) == 2


def test_retry_after_as_a_date_is_obeyed() -> None:
    with ModelServer([[error(503, "slow", retry_after=formatdate(time.time() + 2, usegmt=True))], "fine"]) as server:
        _, retries = with_model(server.url, "openai", lambda m: whole(m, ask()))
    assert 0.5 < retries[0].wait < 2.5


def test_a_wait_beyond_patience_ends_the_request() -> None:
    with ModelServer([[error(429, "quota", retry_after=3600)]]) as server, pytest.raises(RateLimited) as caught:
        reply(server, "openai", ask())
    assert caught.value.retry_after == 3600
    assert len(server.requests) == 1


@EVERY
def test_attempts_are_bounded_and_the_last_error_is_told(provider: str) -> None:
    script = [[error(500, f"oops {n}", retry_after=0)] for n in range(3)]
    with ModelServer(script) as server, pytest.raises(ServerFailed, match=r"500.*oops 2"):
        reply(server, provider, ask(), retries=2)
    assert len(server.requests) == 3


@EVERY
@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "bad key", AuthFailed),
        (404, "model not found", ModelNotFound),
        (400, "nonsense", BadRequest),
        (400, "prompt is too long: 9 tokens", ContextTooLong),
    ],
)
def test_what_no_retry_helps_is_raised_at_once(provider: str, status: int, message: str, kind: type) -> None:
    with ModelServer([[error(status, message)]]) as server, pytest.raises(kind):
        reply(server, provider, ask())
    assert len(server.requests) == 1


@EVERY
def test_a_cut_before_the_first_word_is_retried(provider: str) -> None:
    with ModelServer([[cut()], [end_early()], "fine"]) as server:
        assert reply(server, provider, ask()).message().text == "fine"


@EVERY
@pytest.mark.parametrize("last", [cut(), end_early()])
def test_a_cut_after_the_first_word_is_raised(provider: str, last: object) -> None:
    with ModelServer([[text("Hello wor"), last], "never"]) as server, pytest.raises(StreamCut):
        reply(server, provider, ask())
    assert len(server.requests) == 1


@EVERY
def test_an_error_inside_a_success(provider: str) -> None:
    script = [[error(529, "Overloaded", retry_after=0)], [text("Well then, "), error(500, "internal error")]]
    with ModelServer(script) as server, pytest.raises(NetworkFailed):
        reply(server, provider, ask())
    assert len(server.requests) == 2


def test_nobody_there() -> None:
    begin = time.monotonic()
    with pytest.raises(ConnectFailed, match=r"127\.0\.0\.1:9 \(([^()\[\]]+)\)") as caught:
        with_model("http://127.0.0.1:9", "openai", lambda m: whole(m, ask()))
    assert caught.value.exit_code == 75
    assert time.monotonic() - begin < 10


def test_no_such_host_and_no_such_address() -> None:
    with pytest.raises(ConnectFailed, match=r"nowhere\.invalid"):
        with_model("http://nowhere.invalid:1", "openai", lambda m: whole(m, ask()), retries=0)


@EVERY
def test_silence_before_the_first_byte(provider: str) -> None:
    with ModelServer([[hang()]]) as server, pytest.raises(ModelTimeout, match=r"0\.3 s"):
        reply(server, provider, ask(), first_byte_timeout=0.3, retries=0)


@EVERY
def test_silence_in_the_middle(provider: str) -> None:
    with ModelServer([[text("Well then, "), hang()]]) as server, pytest.raises(ModelTimeout, match=r"0\.3 s"):
        reply(server, provider, ask(), idle_timeout=0.3)


def test_comments_keep_a_slow_reply_alive() -> None:
    slow = [step for _ in range(4) for step in (comment(), wait(0.2))]
    with ModelServer([[*slow, "done"]]) as server:
        assert reply(server, "openai", ask(), idle_timeout=0.5).message().text == "done"


def test_closing_the_stream_ends_the_request_at_once() -> None:
    async def first(model: object) -> object:
        stream = model.stream(ask())  # type: ignore[attr-defined]
        event = await anext(stream)
        await stream.aclose()
        return event

    with ModelServer([[text("Well then, "), hang()]]) as server:
        begin = time.monotonic()
        with_model(server.url, "openai", first)  # type: ignore[arg-type]
    assert time.monotonic() - begin < 5


def test_cancelling_is_no_timeout() -> None:
    async def run(url: str) -> None:
        found = orchestrator(url, "openai")
        model = await found.resolve("openai:x")
        task = asyncio.create_task(whole(model, ask()))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await found.close()

    with ModelServer([[hang()]]) as server:
        asyncio.run(run(server.url))


def test_a_redirect_to_another_origin_is_not_followed() -> None:
    with ModelServer(["stolen"]) as other:
        moved = error(307, "moved", location=f"{other.url}/v1/chat/completions")
        with ModelServer([[moved]]) as server, pytest.raises(BadRequest, match="307"):
            reply(server, "openai", ask())
        assert other.all_requests == []


def test_a_redirect_within_the_origin_is_followed() -> None:
    with ModelServer([[error(308, "moved", location="/other/v1/chat/completions")], "here"]) as server:
        assert reply(server, "openai", ask()).message().text == "here"
        assert server.requests[1].path == "/other/v1/chat/completions"
        assert server.requests[1].body == server.requests[0].body


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_dead_proxy_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "http://user:password@127.0.0.1:9")
    with ModelServer(["fine"]) as server:
        with pytest.raises(ConnectFailed, match=r"proxy http://127\.0\.0\.1:9") as caught:
            reply(server, "openai", ask())
        assert "password" not in caught.value.line
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        assert reply(server, "openai", ask()).message().text == "fine"


def test_a_proxy_of_a_kind_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with ModelServer(["fine"]) as server, pytest.raises(Exception, match=r"proxy socks5://127\.0\.0\.1:9"):
        reply(server, "openai", ask())


@EVERY
def test_the_wire_log_masks_keys(provider: str, tmp_path: Path) -> None:
    log = tmp_path / "deep" / "http.log"
    with ModelServer([[error(500, "oops", retry_after=0)], [text("你好"), call("ls", path=".")]]) as server:
        reply(server, provider, ask(), log_http=log)
    logged = log.read_text("utf-8")
    assert "sk-test-secret" not in logged
    assert "你好" in logged
    last = len(server.all_requests)
    assert f">>> {last} POST" in logged and f"<<< {last} 200" in logged and f"<<< {last} body (whole)" in logged


def test_a_lone_surrogate_does_not_reach_the_wire() -> None:
    with ModelServer(["fine"]) as server:
        reply(server, "openai", ask("a\ud800b"))
        assert server.violations == []
        assert server.bodies[0]["messages"][1]["content"] == "a?b"


def test_a_body_that_is_no_json() -> None:
    broken = [raw("data: {nope\n\n"), "x"]
    with ModelServer([broken, broken]) as server, pytest.raises(MalformedReply, match="no JSON"):
        reply(server, "openai", ask())


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        ("openai", {"choices": [{"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}]}),
        ("anthropic", {"type": "message", "content": [{"type": "text", "text": "fine"}], "stop_reason": "end_turn"}),
        ("gemini", [{"candidates": [{"content": {"parts": [{"text": "fine"}]}, "finishReason": "STOP"}]}]),
        ("ollama", {"message": {"role": "assistant", "content": "fine"}, "done": True, "done_reason": "stop"}),
        (
            "responses",
            {
                "object": "response",
                "status": "completed",
                "output": [{"type": "message", "content": [{"type": "output_text", "text": "fine"}]}],
            },
        ),
    ],
)
def test_a_server_that_does_not_stream(provider: str, body: object) -> None:
    with ModelServer([[error(200, body=body)]]) as server:
        assert reply(server, provider, ask()).message().text == "fine"


def test_a_web_page_is_no_reply() -> None:
    with (
        ModelServer([[error(200, body="<html>Welcome</html>")]]) as server,
        pytest.raises(BadRequest, match="web page"),
    ):
        reply(server, "openai", ask())
    assert len(server.requests) == 1


def test_an_error_in_a_whole_body_with_status_200() -> None:
    body = {"error": {"message": "no credits", "code": 402}}
    with ModelServer([[error(200, body=body)]]) as server, pytest.raises(AuthFailed, match="no credits"):
        reply(server, "openrouter", ask())


def test_waits_double_and_stay_bounded() -> None:
    assert all(0.37 <= backoff(1, None) <= 0.63 for _ in range(50))
    assert all(backoff(n, None) <= 20 for n in range(1, 30))
    assert 2 <= backoff(1, 2.0) <= 2.25


def test_the_end_is_what_the_server_said() -> None:
    with ModelServer([["hi"]]) as server:
        said = reply(server, "openai", ask())
    assert said.finish is not None
    assert (said.finish.reason, said.finish.raw) == (FinishReason.STOP, "stop")
