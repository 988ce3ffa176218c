"""Text of a reply through the dialects: native calls first, the text is mined only when none came."""

from __future__ import annotations

from aicli.content.request import FinishReason, ModelRequest
from aicli.content.stream import CallDelta, StreamEvent, TextDelta, ThinkingDelta
from aicli.models.faults import Asked
from aicli.models.gate import Gate

_NATIVE = ("api.openai.com", "api.anthropic.com", "googleapis.com")
"""Places whose models never write a call as text: there a call in the text is only talked about."""


class Miner:
    """Feeds text to a Gate and keeps the calls it finds back until the end tells whether they count."""

    def __init__(self, request: ModelRequest, asked: Asked) -> None:
        self._tools = () if any(place in asked.url for place in _NATIVE) else request.tools
        self._parser = Gate(self._tools)
        self._found: list[CallDelta] = []
        self._thought: list[str] = []

    def text(self, chunk: str) -> list[StreamEvent]:
        events = self._parser.feed(chunk)
        if len(events) == 1 and type(events[0]) is TextDelta:
            return events
        return self._sift(events)

    def thinking(self, chunk: str) -> list[StreamEvent]:
        if self._tools:
            self._thought.append(chunk)
        return [ThinkingDelta(chunk)]

    def flush(self) -> list[StreamEvent]:
        """Text that was held back, before something else follows it; reading goes on anew."""
        out = self._sift(self._parser.close())
        self._parser = Gate(self._tools)
        return out

    def waiting(self) -> str:
        """Plain text that is still held back: what a reply that is broken off here ends with."""
        return self._parser.waiting()

    def _sift(self, events: list[StreamEvent]) -> list[StreamEvent]:
        out: list[StreamEvent] = []
        for event in events:
            if isinstance(event, CallDelta):
                self._found.append(event)
            else:
                out.append(event)
        return out

    def close(self, native: int, reason: FinishReason) -> list[StreamEvent]:
        """The held-back rest, then the recovered calls; none where `native` calls came or the reply was cut short."""
        out = self._sift(self._parser.close("length" if reason is FinishReason.LENGTH else "stop"))
        if native or reason not in (
            FinishReason.STOP,
            FinishReason.TOOL_CALLS,
            FinishReason.MISSING,
            FinishReason.UNKNOWN,
        ):
            return out
        if not self._found and self._thought:
            self._found = self._from_thinking("".join(self._thought))
        return out + list(self._found)

    @property
    def problem(self) -> str:
        """What was wrong with text that clearly tried to be a call, "" if nothing was."""
        return self._parser.problem

    def _from_thinking(self, text: str) -> list[CallDelta]:
        """Some servers leave a call in the reasoning; only marked ones count there, prose about calls does not."""
        if "<" not in text and "[TOOL_CALLS]" not in text:
            return []
        parser = Gate(self._tools)
        events = [*parser.feed(text), *parser.close()]
        return [e for e in events if isinstance(e, CallDelta)]
