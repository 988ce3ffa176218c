"""ServedModel: a real provider of ours aimed at one address, as a Model that opens nothing until it is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from aicli.content.request import ModelRequest
from aicli.content.stream import StreamEvent
from aicli.models.base import ModelInfo
from aicli.models.orchestrator import Defaults, MultiModelOrchestrator

KEY = "test-key"


class ServedModel:
    """What is asked of it goes over HTTP to `url` in the wire format of `provider`. Each request connects anew."""

    def __init__(self, url: str, provider: str, name: str, window: int) -> None:
        self.info = ModelInfo(provider, name, window=window)
        self._url = url

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        """One reply, ending with Finished. Raises ModelError, InputError for a provider that there is not."""
        orchestrator = MultiModelOrchestrator(
            Defaults(provider=self.info.provider, base_url=self._url), lambda name, url: KEY
        )
        try:
            model = await orchestrator.resolve(self.info.id)
            self.info = model.info
            async with aclosing(model.stream(request)) as events:  # type: ignore[type-var]
                async for event in events:
                    yield event
        finally:
            await orchestrator.close()
