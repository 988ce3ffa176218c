"""run_loop(): model, calls, results, model, until the answer. A function of values and callables; it remembers nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from typing import Protocol

from aicli.agents import constrained
from aicli.agents.ask import Asker, Emit, Reply
from aicli.agents.context import Meter, Summarise, compacted, specs_tokens, tokens
from aicli.agents.limits import Budget, Repeats
from aicli.content.events import ContextCompacted, MessageAdded, TurnStarted, Warned
from aicli.content.messages import Message, refusal
from aicli.content.parts import FunctionCallPart, FunctionResponsePart, TextPart
from aicli.content.request import FinishReason, ModelRequest
from aicli.errors import ContextTooLong, MalformedReply, ModelError
from aicli.late import dataclass
from aicli.tools.executor import Interrupted

CUT = "not run: the reply was cut at the output limit before this call was whole. Make it shorter, or split it"


class Executor(Protocol):
    async def execute_all(self, calls: Sequence[FunctionCallPart], emit: Emit) -> tuple[FunctionResponsePart, ...]: ...


@dataclass
class Conversation:
    """What a loop works on. `request` holds all but the messages; `queued` gives what the person said meanwhile."""

    history: list[Message]
    request: ModelRequest
    emit: Emit
    budget: Budget
    compact_at: float = 0.8
    summarise: Summarise | None = None
    queued: Callable[[], list[Message]] = list
    end_turn: Callable[[], Awaitable[None]] | None = None
    meter: Meter = field(default_factory=Meter)
    paths: Callable[[], tuple[str, ...]] | None = None
    broken: int = 0

    def add(self, message: Message) -> None:
        self.history.append(message)
        self.emit(MessageAdded(message=message))

    def keep(self, said: MessageAdded | None) -> None:
        """What the person stopped stays in the history as far as it came: they may say "go on"."""
        if said is not None:
            self.history.append(said.message)
            self.emit(said)

    def take_queued(self) -> bool:
        messages = self.queued()
        for message in messages:
            self.add(message)
        return bool(messages)


async def run_loop(asker: Asker, executor: Executor, talk: Conversation) -> Message:
    """Runs until the model answers without calls; returns that message.

    Raises LimitReached, LoopDetected, ModelError, Interrupted. Whatever it raises, every call in the history is answered.
    """
    repeats = Repeats()
    for n in talk.budget.turns():
        talk.emit(TurnStarted(n=n))
        try:
            reply = await _next_reply(asker, talk)
        except asyncio.CancelledError:
            talk.keep(asker.broken_off)
            raise
        talk.history.append(reply.message)
        talk.emit(reply.event)
        if reply.note:
            talk.emit(Warned(text=reply.note))
        calls = reply.message.calls
        if calls:
            await _act(reply, executor, talk, repeats)
        elif _unreadable(reply):
            talk.add(
                Message.user(f"That was no valid tool call: {reply.finish.detail}. Write the call again, correctly.")
            )
        elif reply.finish.reason is not FinishReason.PAUSE:
            if reply.finish.reason is FinishReason.LENGTH:
                raise ModelError(
                    "the answer was cut at the model's output limit",
                    hint="Raise models.max_output_tokens, or ask for less",
                )
            if not talk.take_queued():
                return reply.message
        if talk.end_turn:
            await talk.end_turn()
        talk.take_queued()
    raise AssertionError("turns() ends by raising")


async def _act(reply: Reply, executor: Executor, talk: Conversation, repeats: Repeats) -> None:
    calls = reply.message.calls
    if reply.finish.reason in (FinishReason.LENGTH, FinishReason.CONTEXT):
        talk.add(Message(role="tool", parts=tuple(refusal(c, CUT) for c in calls)))
        return
    begin = time.monotonic()
    try:
        talk.budget.count_calls(len(calls))
        answers = await executor.execute_all(calls, talk.emit)
    except Interrupted as stop:
        talk.add(Message(role="tool", parts=stop.answers))
        raise
    except BaseException:
        talk.add(Message(role="tool", parts=tuple(refusal(c, "not run: the run ended first") for c in calls)))
        raise
    talk.broken = talk.broken + 1 if all(c.raw for c in calls) else 0
    note = ""
    try:
        note = repeats.watch(calls, answers, time.monotonic() - begin)
    finally:
        talk.add(Message(role="tool", parts=_noted(answers, note)))


def _noted(answers: tuple[FunctionResponsePart, ...], note: str) -> tuple[FunctionResponsePart, ...]:
    if not note:
        return answers
    last = answers[-1]
    return (*answers[:-1], last.model_copy(update={"content": (*last.content, TextPart(text=note))}))


def _unreadable(reply: Reply) -> bool:
    return reply.finish.reason is FinishReason.MALFORMED_CALL


async def _next_reply(asker: Asker, talk: Conversation) -> Reply:
    """The next reply, from a history that fits; compacts when it must."""
    window = asker.model.info.window if talk.request.num_ctx is None else talk.request.num_ctx
    if window:
        fixed = tokens(talk.request.system) + specs_tokens(talk.request.tools)
        if fixed + talk.meter.count(talk.history) > window * talk.compact_at:
            await compact(talk, int(window * talk.compact_at) - fixed)
    try:
        return await _ask(asker, talk)
    except ContextTooLong:
        if len(talk.history) < 2:
            raise
        await compact(talk, talk.meter.count(talk.history) // 2)
        return await _ask(asker, talk)


async def _ask(asker: Asker, talk: Conversation) -> Reply:
    paths = talk.paths() if talk.paths else ()
    request = talk.request.model_copy(update={"messages": tuple(talk.history), "paths": paths})
    if talk.broken < 2 or not request.tools:
        try:
            reply = await asker.ask(request)
        except MalformedReply:
            if not request.tools:
                raise
            talk.broken = 2
        else:
            if _unreadable(reply):
                talk.broken += 1
            elif not reply.message.calls:
                talk.broken = 0
            return reply
    reply = await asker.ask(constrained.constrained(request))
    talk.broken = 0
    return _rewritten(reply, constrained.read(reply.message, request.tools))


def _rewritten(reply: Reply, message: Message) -> Reply:
    reply.message = message
    reply.event = reply.event.model_copy(update={"message": message})
    return reply


async def compact(talk: Conversation, target: int) -> ContextCompacted:
    """Makes the history smaller in place. Raises ContextTooLong when nothing helps; may be cancelled."""
    before = talk.meter.count(talk.history)
    prefix, replaced, summary = await compacted(talk.history, max(target, 400), talk.summarise)
    talk.history[:replaced] = prefix
    after = talk.meter.count(talk.history)
    event = ContextCompacted(before=before, after=after, replaced=replaced, summary=summary, messages=tuple(prefix))
    talk.emit(event)
    return event
