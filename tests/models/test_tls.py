"""Over TLS and through a proxy: the system's certificates, the same limits and the same ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from aicli.errors import ConnectFailed, ModelTimeout, StreamCut
from tests.models.support import PROVIDERS, answers, ask, reply, whole, with_model
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, cut, end_early, error, hang, text, think

TLS = Path(__file__).parent.parent / "fixtures" / "tls"


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "cert.pem"))


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_two_requests(provider: str) -> None:
    async def both(model: object) -> str:
        first = (await whole(model, ask("look"))).message()  # type: ignore[arg-type]
        second = await whole(model, ask("look", first, answers(first)))  # type: ignore[arg-type]
        return second.message().text

    with ModelServer([[think("hm"), text("a 世界 b", pieces=9), call("ls", path=".")], "fine"], tls=TLS) as server:
        assert with_model(server.url, provider, both)[0] == "fine"  # type: ignore[arg-type]
        assert server.violations == []


def test_a_certificate_that_nobody_vouches_for() -> None:
    with ModelServer(["never"], tls=TLS) as server:
        with pytest.raises(ConnectFailed, match="certificate") as caught:
            reply(server, "openai", ask(), retries=0)
        assert "SSL_CERT_FILE" in caught.value.line and server.all_requests == []


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("last", [cut(), end_early()])
def test_a_cut(last: object) -> None:
    with ModelServer([[text("Hello wor"), last]], tls=TLS) as server, pytest.raises(StreamCut):
        reply(server, "openai", ask())


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    ("script", "limit"), [([hang()], "first_byte_timeout"), ([text("Well then, "), hang()], "idle_timeout")]
)
def test_silence(script: list[object], limit: str) -> None:
    with ModelServer([script], tls=TLS) as server, pytest.raises(ModelTimeout, match=r"0\.5 s"):
        reply(server, "openai", ask(), retries=0, **{limit: 0.5})


@pytest.mark.usefixtures("trusted")
def test_busy_then_fine() -> None:
    with ModelServer([[error(503, "busy", retry_after_ms=10)], [cut()], "fine"], tls=TLS) as server:
        assert reply(server, "anthropic", ask()).message().text == "fine"


def test_through_a_proxy_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(["fine"]) as proxy:  # it takes the absolute form of a proxy's request too
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        said, _ = with_model("http://model.invalid:80", "openai", lambda m: whole(m, ask()))
        assert said.message().text == "fine"
        assert proxy.requests[0].path.startswith("http://model.invalid")
