"""The web_search tool: results of the search service that the user chose."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from aicli.clean import sanitise
from aicli.content.kinds import ToolKind
from aicli.content.results import TextDisplay, ToolResult
from aicli.late import dataclass
from aicli.safety.addresses import AddressRefused
from aicli.settings import WebSettings
from aicli.tools.base import ToolContext, ToolFailed, tool
from aicli.tools.builtin.web_fetch import reach_of, refuse_offline, wrapped
from aicli.tools.web import Elsewhere, Page, Reach, WebFailed, fetch, post

NONE_SET = (
    "No web search is set up. The person can set web.search to searxng (with web.search_url), brave (BRAVE_API_KEY), "
    "tavily (TAVILY_API_KEY) or ddgs (extra aicli[search]). Until then use web_fetch on an address you know."
)


@dataclass(frozen=True, slots=True)
class Hit:
    title: str
    url: str
    text: str


@tool(
    kind=ToolKind.FETCH,
    title="Search the web: {query}",
    full_only=True,
    untold=("max_results",),
    aliases=("google_web_search", "websearch", "search_web"),
    param_aliases={"q": "query", "search_term": "query", "num_results": "max_results", "count": "max_results"},
    timeout=60.0,
    compact="Search the web.",
)
async def web_search(ctx: ToolContext, query: str, max_results: int = 10) -> ToolResult:
    """Search the web; read a result with web_fetch."""
    refuse_offline(ctx.state)
    if not query.strip():
        raise ToolFailed("query is empty.")
    max_results = max(1, min(max_results, 20))
    web = ctx.state.web
    environ = ctx.state.environ if ctx.state.environ is not None else os.environ
    chosen = web.search or _by_environment(web, environ)
    if chosen not in _SERVICES:
        raise ToolFailed(NONE_SET)
    try:
        hits = await _SERVICES[chosen](query, max_results, web, environ, reach_of(ctx.state))
    except (WebFailed, AddressRefused, Elsewhere) as e:
        raise ToolFailed(f"The search with {chosen} failed: {e}.") from None
    ctx.state.untrusted = True
    return _result(query, hits[:max_results], chosen)


def _by_environment(web: WebSettings, environ: Mapping[str, str]) -> str:
    if web.search_url:
        return "searxng"
    if environ.get("BRAVE_API_KEY"):
        return "brave"
    return "tavily" if environ.get("TAVILY_API_KEY") else ""


def _result(query: str, hits: list[Hit], service: str) -> ToolResult:
    if not hits:
        return ToolResult.of(f"No results for {query}.", display=TextDisplay(summary="no results"), results=0)
    blocks = [f"{n}. {hit.title}\n   {hit.url}\n   {hit.text}".rstrip() for n, hit in enumerate(hits, 1)]
    text = sanitise("\n".join(blocks))
    summary = f"{len(hits)} results"
    return ToolResult.of(
        wrapped(text, service), display=TextDisplay(text=text, summary=summary), results=len(hits), untrusted=True
    )


def _hits(items: Any, title: str, url: str, text: str) -> list[Hit]:
    """Hits of a service's list, whose keys are named; what is no result is passed over."""
    found = []
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict) and isinstance(item.get(url), str):
            found.append(Hit(_plain(item.get(title), 200), item[url][:1000], _plain(item.get(text), 500)))
    return found


def _plain(value: Any, limit: int) -> str:
    import html  # its table of every entity is for search results only

    text = html.unescape(re.sub(r"<[^<>]*>", "", value)) if isinstance(value, str) else ""
    return " ".join(text.split())[:limit]


def _answer(page: Page) -> Any:
    if page.status != 200:
        raise WebFailed(f"HTTP {page.status} {page.reason}".strip() + _advice(page.status))
    try:
        return json.loads(page.body)
    except (ValueError, RecursionError):
        raise WebFailed("the answer is no JSON (a SearXNG server must allow the json format)") from None


def _advice(status: int) -> str:
    if status in (401, 403):
        return " (the key is wrong, or the server does not allow JSON answers)"
    return " (too many searches, try later)" if status == 429 else ""


def _with_base(reach: Reach, base: str) -> Reach:
    """The service that the user named may lie inside: its own host and port are open, nothing else."""
    match = re.match(r"(https?)://([^/@]+?)(?::(\d+))?(?:/|$)", base)
    if match is None:
        return reach
    port = match[3] or ("443" if match[1] == "https" else "80")
    return Reach((*reach.allow_hosts, f"{match[2]}:{port}"), reach.proxy)


async def _searxng(query: str, most: int, web: WebSettings, environ: Mapping[str, str], reach: Reach) -> list[Hit]:
    if not web.search_url:
        raise WebFailed("web.search_url is not set: it holds the base address of the SearXNG server")
    base = web.search_url.rstrip("/")
    url = f"{base}/search?{urlencode({'q': query, 'format': 'json'})}"
    answer = _answer(await fetch(url, _with_base(reach, base), {"Accept": "application/json"}))
    return _hits(answer.get("results") if isinstance(answer, dict) else None, "title", "url", "content")


async def _brave(query: str, most: int, web: WebSettings, environ: Mapping[str, str], reach: Reach) -> list[Hit]:
    key = _key(environ, "BRAVE_API_KEY")
    base = (web.search_url or "https://api.search.brave.com").rstrip("/")
    url = f"{base}/res/v1/web/search?{urlencode({'q': query, 'count': most})}"
    headers = {"Accept": "application/json", "X-Subscription-Token": key}
    answer = _answer(await fetch(url, _with_base(reach, base), headers))
    web_part = answer.get("web") if isinstance(answer, dict) else None
    return _hits(web_part.get("results") if isinstance(web_part, dict) else None, "title", "url", "description")


async def _tavily(query: str, most: int, web: WebSettings, environ: Mapping[str, str], reach: Reach) -> list[Hit]:
    key = _key(environ, "TAVILY_API_KEY")
    base = (web.search_url or "https://api.tavily.com").rstrip("/")
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    body = json.dumps({"query": query, "max_results": most}).encode()
    answer = _answer(await post(f"{base}/search", _with_base(reach, base), headers, body))
    return _hits(answer.get("results") if isinstance(answer, dict) else None, "title", "url", "content")


async def _ddgs(query: str, most: int, web: WebSettings, environ: Mapping[str, str], reach: Reach) -> list[Hit]:
    try:
        from ddgs import DDGS  # an optional extra
    except ImportError:
        raise WebFailed("the library is missing: install aicli[search]") from None

    def search() -> Any:
        from ddgs.exceptions import DDGSException

        try:
            return DDGS(proxy=web.proxy or None, timeout=20).text(query, max_results=most)
        except (DDGSException, OSError) as e:
            raise WebFailed(" ".join(str(e).split())[:200] or type(e).__name__) from None

    return _hits(await asyncio.to_thread(search), "title", "href", "body")


def _key(environ: Mapping[str, str], name: str) -> str:
    key = environ.get(name, "").strip()
    if not key:
        raise WebFailed(f"{name} is not set in the environment")
    if not key.isascii() or not key.isprintable():
        raise WebFailed(f"{name} holds characters that no key has")
    return key


_SERVICES: dict[str, Callable[[str, int, WebSettings, Mapping[str, str], Reach], Any]] = {
    "searxng": _searxng,
    "brave": _brave,
    "tavily": _tavily,
    "ddgs": _ddgs,
}
