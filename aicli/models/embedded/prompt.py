"""The examples read once: their state is saved on disk and restored at each start, so that the first word comes soon."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

from aicli.content.parts import JsonObject
from aicli.errors import ModelError
from aicli.models.embedded import steps
from aicli.models.embedded.cache import PromptCache
from aicli.models.embedded.engine import Engine, library_version
from aicli.models.faults import Asked
from aicli.models.http import Http, HttpCall, Network, Timeouts


class Direct(Network):
    """Connections that no proxy sees: the server is this machine."""

    def _client(self, url: str, proxy: str | None) -> Any:
        return super()._client(url, None)


def direct_http() -> Http:
    return Http(Timeouts(connect=10, first_byte=600, idle=300), Direct())


def call(engine: Engine, address: str, path: str, body: JsonObject) -> HttpCall:
    headers = {"authorization": f"Bearer {engine.key}"}
    return HttpCall(address + path, body, headers, asked=Asked("the embedded model", url=address))


def prompt_cache(engine: Engine, model_hash: str) -> PromptCache:
    examples = hashlib.sha256(json.dumps(steps.prefix()).encode()).hexdigest()
    return PromptCache(engine.slots, model_hash, f"{library_version()}-{engine.window}", examples)


async def restore(http: Http, engine: Engine, model_hash: str) -> bool:
    """Puts the examples into the engine: from disk, or by reading them anew and saving that. True: they came from disk.

    Once for each engine process. May be cancelled; a state half read is not saved.
    """
    if not engine.fresh:
        return True
    saved = prompt_cache(engine, model_hash)
    usable = await asyncio.to_thread(saved.usable)  # while the model loads
    address = await engine.ready()
    if usable and await _restored(http, engine, address, saved.name):
        engine.fresh = False
        return True
    await _read_and_save(http, engine, address, saved)
    engine.fresh = False
    return False


async def _restored(http: Http, engine: Engine, address: str, name: str) -> bool:
    try:
        done = await http.fetch(call(engine, address, "/slots/0?action=restore", {"filename": name}), timeout=30)
    except ModelError:
        return False
    return isinstance(done, dict) and int(done.get("n_restored", 0)) > 0


async def _read_and_save(http: Http, engine: Engine, address: str, saved: PromptCache) -> None:
    body = {
        "messages": [*steps.prefix(), {"role": "user", "content": "Files:"}],
        "max_tokens": 1,
        "temperature": 0,
        "cache_prompt": True,
    }
    await http.fetch(call(engine, address, "/v1/chat/completions", body), timeout=600)
    fresh = f"{saved.name}.new"
    try:
        await http.fetch(call(engine, address, "/slots/0?action=save", {"filename": fresh}), timeout=60)
        saved.adopt(Path(engine.slots) / fresh)
    except (ModelError, OSError):
        return  # a full disk costs the next start its time, not this run its answer
