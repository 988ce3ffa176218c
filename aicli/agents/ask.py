"""ask(): one reply of the model, with the second chance that a cut, empty or broken reply gets, and the fallback."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import field

from aicli.agents.limits import Budget, wall_time_reached
from aicli.content.events import (
    AgentEvent,
    CallRecovered,
    MessageAdded,
    ModelChanged,
    ModelDelta,
    RetryScheduled,
)
from aicli.content.messages import Message
from aicli.content.parts import FunctionCallPart, TextPart
from aicli.content.request import FinishReason, ModelRequest
from aicli.content.stream import Assembler, Finished
from aicli.errors import (
    ContentFiltered,
    ContextTooLong,
    EmptyReply,
    MalformedReply,
    ModelError,
    NetworkFailed,
    Overloaded,
    Refused,
    StreamCut,
)
from aicli.late import dataclass, regex
from aicli.models.base import Model

Emit = Callable[[AgentEvent], None]


@dataclass
class Reply:
    """A whole reply: its message, how it ended, the event to emit once it joins the history, and what to say then."""

    message: Message
    finish: Finished
    event: MessageAdded
    recovered: dict[str, str] = field(default_factory=dict)
    note: str = ""


@dataclass
class Asker:
    """Who is asked: `models[0]` now, the others when it fails for good. `emit` sees every delta and retry."""

    models: Sequence[Model]
    emit: Emit
    budget: Budget
    role: str = "fast"
    broken_off: MessageAdded | None = None
    """What had been said of a reply that a cancellation broke off: text alone, for the history."""
    _heard: bool = False

    @property
    def model(self) -> Model:
        return self.models[0]

    async def ask(self, request: ModelRequest) -> Reply:
        """One whole reply. Raises ModelError or LimitReached; may be cancelled."""
        while True:
            try:
                return await self._second_chance(request)
            except NetworkFailed as e:
                if len(self.models) < 2:
                    raise
                self.models = self.models[1:]
                self.emit(ModelChanged(role=self.role, model=self.model.info.id, why=f"the other failed: {e}"))

    async def _second_chance(self, request: ModelRequest) -> Reply:
        try:
            return await self._once(request)
        except (StreamCut, Overloaded, EmptyReply, MalformedReply, NetworkFailed) as e:
            if isinstance(e, NetworkFailed) and not (self._heard or isinstance(e, StreamCut | Overloaded)):
                raise  # nothing came: the transport has used up its own retries
            wait = min(e.retry_after or 0.2, 60.0)
            self.emit(RetryScheduled(wait=wait, why=str(e), status=e.status, discard=True))
            await asyncio.sleep(wait)
            if isinstance(e, EmptyReply) and request.messages and request.messages[-1].role == "tool":
                request = nudged(request, "Go on: use a tool, or give your final answer in words.")
            elif isinstance(e, MalformedReply):
                request = nudged(request, f"Your last reply could not be read: {e}. Write it again, as valid JSON.")
            return await self._once(request)

    async def _once(self, request: ModelRequest) -> Reply:
        model = self.model
        assembler = Assembler(model.info.provider)
        begin = time.monotonic()
        left = self.budget.seconds_left
        self._heard = False
        try:
            async with asyncio.timeout(left):
                async with aclosing(model.stream(request)) as stream:  # type: ignore[type-var]
                    async for event in stream:
                        assembler.feed(event)
                        self._heard = True
                        self.emit(ModelDelta(event))
        except TimeoutError:
            raise wall_time_reached(self.budget.root.limits.max_wall_time or 0) from None
        except asyncio.CancelledError:
            self.broken_off = _broken_off(assembler, model.info.id, time.monotonic() - begin)
            raise
        finish = assembler.finish
        if finish is None:
            raise StreamCut(f"the reply of {model.info.id} ended without its end mark")
        return self._judged(assembler, finish, time.monotonic() - begin)

    def _judged(self, assembler: Assembler, finish: Finished, seconds: float) -> Reply:
        info = self.model.info
        message = with_sound_names(assembler.message())
        cost = info.price.of(finish.usage) if info.price else None
        self.budget.spend(finish.usage, cost)
        fail = _failure(message, finish, info.id)
        if fail is not None:
            raise fail
        note = ""
        if finish.reason in (FinishReason.UNKNOWN, FinishReason.MISSING):
            note = f"{info.id} ended its reply with {finish.raw or 'no reason'!s}; taken as its end"
        elif finish.detail and finish.reason is not FinishReason.MALFORMED_CALL:
            note = finish.detail
        event = MessageAdded(
            message=message,
            model=info.id,
            usage=finish.usage,
            cost_usd=cost,
            finish=finish.reason,
            finish_raw=finish.raw,
            seconds=seconds,
        )
        return Reply(message, finish, event, self._recovered(message, assembler), note)

    def _recovered(self, message: Message, assembler: Assembler) -> dict[str, str]:
        found = assembler.call_dialects(message)
        for call in message.calls:
            if call.id in found:
                self.emit(CallRecovered(dialect=found[call.id], call_id=call.id, name=call.name))
        return found


def _broken_off(assembler: Assembler, model: str, seconds: float) -> MessageAdded | None:
    text = assembler.message().text
    if not text.strip():
        return None
    message = Message(role="model", parts=(TextPart(text=text),))
    return MessageAdded(message=message, model=model, finish=FinishReason.ABORTED, seconds=seconds)


def _failure(message: Message, finish: Finished, model: str) -> ModelError | None:
    """The error that an ended reply amounts to, or None."""
    said = finish.detail or finish.raw
    match finish.reason:
        case FinishReason.CONTENT_FILTER:
            return ContentFiltered(f"{model}: the provider's filter stopped the reply ({said})")
        case FinishReason.REFUSAL:
            return Refused(f"{model} declined to answer{': ' + finish.detail if finish.detail else ''}")
        case FinishReason.OVERLOADED:
            return Overloaded(f"{model} ran out of resources ({said})")
        case FinishReason.ABORTED:
            return StreamCut(f"{model} broke off its reply ({said})")
        case FinishReason.CONTEXT:
            return ContextTooLong(f"{model}: the context window is full ({said})")
    if message.calls or message.text.strip():
        return None
    if finish.reason is FinishReason.LENGTH:
        spent = " while thinking" if message.thinking else ""
        return EmptyReply(
            f"{model} reached its output limit{spent}, with no answer", hint="Raise models.max_output_tokens"
        )
    if finish.reason in (FinishReason.MALFORMED_CALL, FinishReason.PAUSE):
        return (
            MalformedReply(f"{said or 'the call was malformed'}") if finish.reason is not FinishReason.PAUSE else None
        )
    if finish.reason is FinishReason.TOOL_CALLS:
        return EmptyReply(f"{model} announced a tool call and made none")
    if message.thinking:
        return EmptyReply(f"{model} thought but gave no answer")
    return EmptyReply(f"{model} gave an empty reply")


_SOUND = regex(r"[\w.:/-]{1,64}")


def with_sound_names(message: Message) -> Message:
    """The message with calls by names that can stand in a history: servers refuse one with an empty or an odd name.

    The call is answered as one of a tool that there is not, and the conversation goes on.
    """
    if all(_SOUND.fullmatch(call.name) for call in message.calls):
        return message
    parts = (
        p.model_copy(update={"name": re.sub(r"[^\w.:/-]+", "_", p.name).strip("_")[:64] or "unnamed"})
        if isinstance(p, FunctionCallPart) and not _SOUND.fullmatch(p.name)
        else p
        for p in message.parts
    )
    return message.model_copy(update={"parts": tuple(parts)})


def nudged(request: ModelRequest, text: str) -> ModelRequest:
    """The same request with a note at its end: in the last user message, or as one of its own."""
    return request.model_copy(update={"messages": (*request.messages, Message.user(text))})
