"""Which proxy a URL goes through."""

from __future__ import annotations

import pytest

from aicli.models.proxies import proxy_for

PROXY = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("url", "rules", "direct"),
    [
        ("http://127.0.0.1:8000/v1", "127.0.0.1,localhost", True),
        ("http://localhost:8000/v1", "127.0.0.1,localhost", True),
        ("http://127.0.0.1:8000/v1", "127.0.0.0/8", True),
        ("http://127.0.0.1:8000/v1", "127.0.0.1:8000", True),
        ("http://127.0.0.1:8000/v1", "127.0.0.1:8001", False),
        ("http://[::1]:8000/v1", "::1", True),
        ("http://[::1]:8000/v1", "[::1]", True),
        ("https://api.example.com/v1", ".example.com", True),
        ("https://api.example.com/v1", "example.com", True),
        ("https://api.example.com/v1", "*.example.com", True),
        ("https://notexample.com/v1", "example.com", False),
        ("https://API.Example.com/v1", " Example.COM , other", True),
        ("https://api.example.com/v1", "*", True),
        ("http://127.0.0.1:8000/v1", "", False),
    ],
)
@pytest.mark.parametrize("upper", [True, False])
def test_no_proxy(monkeypatch: pytest.MonkeyPatch, url: str, rules: str, direct: bool, upper: bool) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name.upper() if upper else name, PROXY)
    if rules:
        monkeypatch.setenv("NO_PROXY" if upper else "no_proxy", rules)
    assert proxy_for(url) == (None if direct else PROXY)


def test_all_proxy_and_a_missing_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proxy_for("https://api.example.com") is None
    monkeypatch.setenv("ALL_PROXY", "proxy.example.com:3128")
    assert proxy_for("https://api.example.com") == "http://proxy.example.com:3128"
    monkeypatch.setenv("NO_PROXY", "api.example.com")
    assert proxy_for("https://api.example.com") is None
