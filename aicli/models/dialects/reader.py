"""What a dialect works with: the source, the tools, and the ways to say what was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import field
from typing import Any

from aicli.content.parts import JsonObject
from aicli.content.stream import CallDelta, Relabelled, StreamEvent, TextDelta, ThinkingDelta
from aicli.late import dataclass
from aicli.models.dialects.calls import Call, Tools, arguments
from aicli.models.dialects.jsontext import Balance, dumps, read
from aicli.models.dialects.source import Source, markers

CUT_OFF = "the reply was cut off by the length limit"

Read = Callable[["Reader", str], Generator[None, None, bool]]
"""Reads on behind an opener. False: this is no call, nothing was read, the opener is plain text."""


@dataclass(frozen=True)
class Family:
    """A way of writing calls as text. `openers` maps each literal that begins a block to what reads it.

    `loose` openers count only outside thinking: what begins there may be no call. `aliases` are other names it goes by.
    `start` reads from the very first character on, if the family was named beforehand.
    """

    name: str
    openers: Callable[[Tools], Mapping[str, Read]] = lambda tools: {}
    loose: Callable[[Tools], Mapping[str, Read]] = lambda tools: {}
    aliases: tuple[str, ...] = ()
    start: Read | None = None
    always: bool = False  # its openers also part thinking from content, so they hold without tools too


@dataclass
class _Maybe:
    """Calls that count only if no unmistakable call comes. `bare`: nothing framed them, so words around them count too."""

    calls: list[Call]
    text: str
    trim: bool = False
    bare: bool = False


@dataclass
class Reader:
    """The state of one reply. `thinking` tells where plain text goes."""

    source: Source
    tools: Tools
    dialect: str = ""
    thinking: bool = False
    truncated: bool = False
    problem: str = ""
    last: str = "\n"  # the plain text before the next character: a line or so of it
    began: bool = False  # some content, or a call, has been said since the reply or its last thinking began
    sure_calls: int = 0
    _events: list[StreamEvent] = field(default_factory=list)
    _held: list[StreamEvent | _Maybe] | None = None
    _space: list[str] = field(default_factory=list)
    _trim: bool = False
    _count: int = 0
    _latest: list[tuple[str, JsonObject, str]] | None = None  # the block of calls that nothing has followed yet
    said: bool = False  # some content has been said that an orphan closer would make thinking
    thought: bool = False  # the thinking that is open has said something
    second_looks: int = 8  # how often text may still be read twice because its block never ended as it seemed to
    notes: dict[str, int] = field(default_factory=dict)  # what a family has to remember within the reply
    sure: frozenset[str] = frozenset()  # the openers that are unmistakable
    fenced: bool = False  # this is the inside of a fence: what looks like a fence in it is none
    nested: Callable[[str], list[Call]] = lambda text: []  # the calls of a text that is nothing but calls

    @property
    def line_start(self) -> bool:
        return self.last.rstrip(" \t").endswith("\n")

    @property
    def after_call(self) -> bool:
        """Nothing but white space has been said since the last call."""
        return self._latest is not None

    @property
    def quoted(self) -> bool:
        """The next character stands behind a backtick: markup is talked about, not used."""
        return self.last.endswith("`")

    def plain(self, text: str) -> None:
        """Text of the model, as thinking or content. White space waits, since it is dropped beside a marker."""
        if not text:
            return
        if self._trim:
            text = text.lstrip()
            if not text:
                return
            self._trim = False
        body = text.rstrip()
        if body:
            self._say("".join(self._space) + body)
            self._space.clear()
            self._latest = None
            self.began = self.began or not self.thinking
        self.last = (self.last + text)[-200:]
        if len(body) < len(text):
            self._space.append(text[len(body) :])

    def _say(self, text: str) -> None:
        self._emit(ThinkingDelta(text) if self.thinking else TextDelta(text))
        self.thought = self.thought or self.thinking
        self.said = self.said or not self.thinking

    def mark(self) -> None:
        """A marker stood here: white space on both sides of it is dropped."""
        self._space.clear()
        self._trim = True
        self.last = "\n"

    def call(self, calls: Sequence[Call], dialect: str) -> None:
        """Unmistakable calls. They end thinking. A block that only repeats the one right before it is an echo."""
        self.mark()
        self.thinking = False
        self.began = True
        self._settle(False)
        if self._echoes(calls):
            return
        self._latest = [(call.name, call.args, call.id) for call in calls]
        for call in calls:
            self.sure_calls += 1
            self._emit(self._delta(call, dialect))

    def _echoes(self, calls: Sequence[Call]) -> bool:
        return bool(calls) and not calls[0].raw and self._latest == [(c.name, c.args, c.id) for c in calls]

    def maybe(self, calls: Sequence[Call], text: str, dialect: str, *, bare: bool = False) -> None:
        """Calls without markup: they count at the end, unless an unmistakable call has come or comes."""
        if self._echoes(calls):
            self.mark()
        elif self.sure_calls or self.thinking or illustrates(self.last):
            self.plain(text)
        else:
            space = "".join(self._space)
            self._space.clear()
            self._held = self._held if self._held is not None else []
            made = [Call(c.name, c.args, c.id, c.raw, dialect) for c in calls]
            self._held.append(_Maybe(made, text, not self.said, bare))
            if space:
                self._held.insert(-1, TextDelta(space))
            self.last, self.began = "}", True

    def mentioned(self, after: str, calls: Sequence[Call], between: str = "") -> bool:
        """Markup inside a sentence, with words on both sides, whose calls could not run as they stand: it is quoted.

        `between` is what stood inside the markup and was no part of a call.
        """
        inside = not self.line_start and self.last.strip()
        if inside and between:
            return True
        return bool(inside and _WORDS_FOLLOW(after)) and not (calls and all(self.tools.fit(call) for call in calls))

    def unreadable(self, name: str, text: str, fault: str, dialect: str) -> None:
        """Something that clearly tried to be a call. With a name it is answered, else it stays text."""
        self.problem = fault if not name else f"the arguments of {name} could not be read: {fault}"
        if name:
            self.call([Call(self.tools.named(name), {}, raw=text)], dialect)
        else:
            self.plain(text)

    def json_call(self, name: str, body: str, dialect: str, *, closed: bool, text: str, id: str = "") -> str:
        """Says the call whose arguments are this JSON, or that they can not be read; returns what followed them."""
        rest = ""
        try:
            if not closed and self.truncated:
                raise ValueError(CUT_OFF)
            value: Any = {}
            if body.strip():
                value, rest = read(body, closed=closed)
        except ValueError as error:
            self.unreadable(name, text, str(error), dialect)
            return ""
        args, raw = arguments(value)
        self.call([Call(self.tools.named(name), args, id, raw)], dialect)
        return rest

    def relabel(self) -> None:
        """An orphan closer: the content so far was thinking, and a call without markup in it was none."""
        self.mark()
        self._settle(False)
        if self.said:
            self._emit(Relabelled())
        self.said = self.began = False

    def _emit(self, event: StreamEvent) -> None:
        (self._events if self._held is None else self._held).append(event)

    def _delta(self, call: Call, dialect: str) -> CallDelta:
        self._count += 1
        raw = call.raw
        if self.truncated and not raw:
            raw = dumps(call.args)
            self.problem = f"the reply was cut off by the length limit, so its call of {call.name} was not run"
        args = None if raw else call.args
        return CallDelta(self._count - 1, call.id, call.name, args=args, dialect=dialect or call.dialect, raw=raw)

    def _settle(self, accept: bool) -> None:
        """Decides about the calls without markup that were held back."""
        held, self._held = self._held or [], None
        quoted = self._quoted(held) if accept else set(range(len(held)))
        items = [TextDelta(i.text) if isinstance(i, _Maybe) and n in quoted else i for n, i in enumerate(held)]
        trim = False
        for n, item in enumerate(items):
            if isinstance(item, _Maybe):
                self._events += [self._delta(c, c.dialect) for c in item.calls]
                trim = True
                continue
            if isinstance(item, TextDelta) and accept:
                following = items[n + 1] if n + 1 < len(items) else None
                text = item.text.lstrip() if trim else item.text
                text = text.rstrip() if isinstance(following, _Maybe) else text
                trim = trim and not text
                item = TextDelta(text)
                if not text:
                    continue
            self._events.append(item)

    def _quoted(self, held: Sequence[StreamEvent | _Maybe]) -> set[int]:
        """The bare calls that the words behind them speak of; amid words, those too that are not exactly as declared."""
        found: set[int] = set()
        words, last = "", False
        for n in reversed(range(len(held))):
            item = held[n]
            if isinstance(item, TextDelta):
                words = item.text + words
            elif isinstance(item, _Maybe):
                if words.strip():
                    amid = not item.trim and not all(self.tools.fit(call) for call in item.calls)
                    last = amid or bool(_REFERS_BACK(words.strip()))
                last = last and item.bare
                words = ""
                if last:
                    found.add(n)
        return found

    def finish(self) -> None:
        """The reply has ended: what was held back is decided."""
        if self._space and not self._trim:
            text = "".join(self._space)
            self._space.clear()
            self._say(text)
        if self.truncated and any(isinstance(i, _Maybe) for i in self._held or ()):
            self.problem = "the reply was cut off by the length limit, so its call was not run"
        self._settle(not self.truncated)

    def drain(self) -> list[StreamEvent]:
        events, self._events = self._events, []
        return events

    def json_value(self, first: str = "", *, parens: bool = False) -> Generator[None, None, tuple[str, bool]]:
        """The balanced text of `first` and what follows, and whether it ended. `parens` count as brackets too."""
        balance = Balance(parens=parens)
        balance.feed(first)
        pieces = [first]
        while True:
            text = yield from self.source.chunk()
            if not text:
                return "".join(pieces), False
            end = balance.feed(text)
            if end >= 0:
                pieces.append(text[:end])
                self.source.unread(text[end:])
                return "".join(pieces), True
            pieces.append(text)

    def framed_json(
        self, closers: Sequence[str], openers: Sequence[str] = (), *, parens: bool = False
    ) -> Generator[None, None, tuple[str, str]]:
        """Text up to a closer (read) or an opener (not read) that stands outside the strings of its JSON.

        Returns (body, the marker that ended it or ""). A closer inside a string counts only if the text ends before the
        string does.
        """
        stops = markers(frozenset((*closers, *openers)))
        balance = Balance(parens=parens)
        pieces: list[str] = []
        first = -1
        while True:
            text, marker = yield from self.source.collect(stops)
            pieces.append(text)
            balance.feed(text)
            if not marker:
                break
            if not balance.quote or balance.done or not self.second_looks:
                if marker in openers and marker not in closers:
                    self.source.unread(marker)
                return "".join(pieces), marker
            if first < 0:
                first = len(pieces)
            balance.feed(marker)
            pieces.append(marker)
        if first < 0 or balance.done:
            return "".join(pieces), ""
        self.second_looks -= 1
        ended_by = pieces[first]
        again = pieces[first + 1 :] if ended_by in closers else pieces[first:]
        self.source.unread("".join(again))
        return "".join(pieces[:first]), ended_by


_ILLUSTRATES = re.compile(
    r"\b(?:for (?:example|instance)|e\.g\.|examples?|such as|(?:would|could|might) look like|looks? like|illustrat\w*)"
    r"|例如|比如|譬如|示例|举例|例子",
    re.I,
).search
_QUOTES = re.compile(
    r"\b(?:logs?|logfile|files?|lines?(?: \d+)?|outputs?|traces?|transcripts?|history|entry|entries|records?|documents?"
    r"|docs?|documentation|page|readme)\W{0,3}(?:\S+ ){0,3}?(?:says?|said|shows?|showed|reads?|contains?|contained|has|had"
    r"|is|was|were|ends?|ended|begins?|began|starts?|started|wrote|writes|printed|prints|recorded|logged)\b[^.!?,;]*:$"
    r"|(?:日志|文件|输出|记录|历史|一行|这行|原文|文档)[^。！？，；]*(?:写|说|是|为|有|显示|记录|如下|包含)[^。！？，；]*[:：]$",
    re.I,
).search
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_INTENDS = re.compile(r"\b(?:I|we|let(?:'s| me| us)|now|next|please|so|then)\b|我|让|接下来|现在|下面", re.I).search
_REFERS_BACK = re.compile(
    r"(?:which|as (?:you|we) (?:can )?see|(?:this|that|it|the) (?:\w+ )?(?:is|was|means|meant|shows?|showed|appears?|came"
    r"|comes|stands?|stood|tells?|told|says|said|indicates?|line|entry|record|object|message|log|json|call)\b"
    r"|(?:the )?(?:line )?above\b)"
    r"|(?:这|那|上面|以上|该)(?:一?行|条|个|段|说明|表示|表明|就是|是|意味|日志|记录|里|些)",
    re.I,
).match


def illustrates(text: str) -> bool:
    """Does the last line of a text present what follows it as an example, or as what stands somewhere else?"""
    line = text.rstrip().rsplit("\n", 1)[-1]
    last = _SENTENCES.split(line.rstrip())[-1]
    return bool(_ILLUSTRATES(line) or (_QUOTES(last) and not _INTENDS(last)))


_WORDS_FOLLOW = re.compile(r"[ \t]*[^\s<\[{|]").match


def at_once(decide: Callable[[Reader, str], bool]) -> Read:
    """A reader that needs no further text."""

    def read(reader: Reader, opener: str) -> Generator[None, None, bool]:
        yield from ()
        return decide(reader, opener)

    return read


@at_once
def stray(reader: Reader, opener: str) -> bool:
    """Drops a closer that is one too many behind a call."""
    if reader.after_call:
        reader.mark()
        return True
    return False


@at_once
def dropped(reader: Reader, opener: str) -> bool:
    """Drops a token that only frames what the model says."""
    reader.mark()
    return True


_CLOSERS = re.compile(
    r"\s*(?:</tool_calls?>|</TOOLCALL>|</function_calls?>|</tools?>|\[/TOOL_CALLS\]|<tool_call\|>|<\|(?:tool_call_end|python_end)\|>)+"
)


def lone_closer(source: Source) -> Generator[None, None, str]:
    """Reads the closers of a block whose opener was lost, "" if there are none."""
    match = yield from wait_for(source, _CLOSERS, 64)
    return source.take(match.end()) if match else ""


def wait_for(source: Source, pattern: re.Pattern[str], length: int) -> Generator[None, None, re.Match[str] | None]:
    """Matches the pattern against the next `length` characters; nothing is read."""
    text = yield from source.peek(length)
    return pattern.match(text)
