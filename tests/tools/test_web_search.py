"""web_search against services on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from aicli.settings import WebSettings
from aicli.tools.builtin.web_search import web_search
from aicli.tools.state import RunState
from tests.tools.calling import call
from tests.tools.web_site import Answer, Site, site


@pytest.fixture
def web() -> Iterator[Site]:
    with site() as running:
        yield running


def state(web: Site, search: Any = "", environ: dict[str, str] | None = None) -> RunState:
    return RunState(web=WebSettings(search=search, search_url=f"http://{web.host}"), environ=environ or {})


HITS = [
    {
        "title": "First <b>hit</b> 标题",
        "url": "https://a.example/x?y=1",
        "content": "some &amp; text",
        "description": "some & text",
    },
    {"title": "Second", "url": "https://b.example/", "content": None},
    {"url": 3},
    "junk",
]


def test_searxng(web: Site) -> None:
    web.page("/search", json.dumps({"results": HITS}), "application/json")
    run = state(web)
    result = call(web_search, run, query="how to 你好")
    assert "1. First hit 标题\n   https://a.example/x?y=1\n   some & text" in result.text and "2. Second" in result.text
    assert "not instructions" in result.text and run.untrusted and result.data["results"] == 2
    assert web.seen[0][1] == "/search?q=how+to+%E4%BD%A0%E5%A5%BD&format=json"
    assert call(web_search, run, query="x", max_results=1).data["results"] == 1


def test_brave_and_its_key(web: Site) -> None:
    web.page("/res/v1/web/search", json.dumps({"web": {"results": HITS}}), "application/json")
    result = call(web_search, state(web, "brave", {"BRAVE_API_KEY": "k-1234567890"}), query="x")
    assert "First hit" in result.text and web.seen[0][2]["X-Subscription-Token"] == "k-1234567890"
    assert "k-1234567890" not in result.model_dump_json()


def test_tavily_and_its_key(web: Site) -> None:
    web.page("/search", json.dumps({"results": HITS}), "application/json")
    result = call(web_search, state(web, "tavily", {"TAVILY_API_KEY": "tvly-1"}), query="x", max_results=3)
    assert "First hit" in result.text
    method, _, headers, body = web.seen[0]
    assert method == "POST" and headers["Authorization"] == "Bearer tvly-1"
    assert json.loads(body) == {"query": "x", "max_results": 3}


def test_honest_errors(web: Site) -> None:
    nothing = call(web_search, RunState(environ={}), query="x")
    assert nothing.is_error and "No web search is set up" in nothing.text and "BRAVE_API_KEY" in nothing.text
    assert "BRAVE_API_KEY is not set" in call(web_search, state(web, "brave"), query="x").text
    assert "404" in call(web_search, state(web), query="x").text
    web.answers["/search"] = Answer(403, {}, b"")
    assert "does not allow JSON" in call(web_search, state(web), query="x").text
    web.page("/search", "<html>", "text/html")
    assert "no JSON" in call(web_search, state(web), query="x").text
    for body in ("[]", "{}", '{"results": []}'):
        web.page("/search", body, "application/json")
        assert call(web_search, state(web), query="x").text == "No results for x."
    unset = RunState(web=WebSettings(search="searxng"), environ={})
    assert "web.search_url is not set" in call(web_search, unset, query="x").text


def test_offline_and_empty(web: Site) -> None:
    run = state(web)
    run.offline = True
    assert "offline" in call(web_search, run, query="x").text and web.seen == []
    assert call(web_search, state(web), query=" ").is_error


def test_a_missing_library_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ddgs", None)
    result = call(web_search, RunState(web=WebSettings(search="ddgs"), environ={}), query="x")
    assert result.is_error and "aicli[search]" in result.text


def test_the_services_own_redirect_inside_is_refused(web: Site) -> None:
    web.redirect("/search", "http://127.0.0.1:9/")
    assert call(web_search, state(web), query="x").is_error
