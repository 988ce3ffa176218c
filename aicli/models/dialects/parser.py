"""Parser and parse: thinking, content and calls out of what a model wrote as text."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Generator, Mapping, Sequence

from aicli.content.request import ToolSpec
from aicli.content.stream import CallDelta, Relabelled, StreamEvent, TextDelta, ThinkingDelta
from aicli.late import dataclass
from aicli.models.dialects import thinking
from aicli.models.dialects.calls import Call, Tools
from aicli.models.dialects.reader import Family, Read, Reader
from aicli.models.dialects.source import Markers, Source, markers


@dataclass(frozen=True)
class Parsed:
    """A whole reply. `unreadable` calls have no usable arguments but `raw`; `problem` says what was wrong, "" if nothing."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    problem: str = ""
    unreadable: tuple[Call, ...] = ()


class Parser:
    """Reads one reply as it comes. Cut the text anywhere: the events fold to the same message.

    `dialect` is a name of `names()`, None to detect; a name never shuts out the other dialects, it only settles what is
    ambiguous. Raises ValueError for an unknown name. Without tools nothing is a call and only thinking is told apart.
    """

    def __init__(
        self, tools: Sequence[ToolSpec] = (), dialect: str | None = None, starts_in_reasoning: bool = False
    ) -> None:
        self._family = family(dialect) if dialect else None
        self._source = Source()
        offered = Tools(tools)
        self._reader = Reader(self._source, offered, self._family.name if self._family else "", starts_in_reasoning)
        self._reader.nested = self._nested
        self._specs = tuple(tools)
        self._closer = ""  # of the thinking that is open, "" if the prompt opened it
        self._mentioned = 0  # think openers that were content
        self._within: list[str] = []  # closers of other think openers that stand inside the thinking
        self._sure, self._loose = _openers(tuple(offered.schemas), self._family)
        self._reader.sure = frozenset(self._sure)
        ends = thinking.END_TOKENS | thinking.LONE_CLOSERS
        self._in_content = markers(frozenset({*self._sure, *self._loose, *ends, *thinking.PAIRS}))
        self._in_thinking: dict[str, Markers] = {}
        self._run: Generator[None, None, None] | None = self._reply()
        next(self._run)

    @property
    def problem(self) -> str:
        """What was wrong with something that clearly tried to be a call, "" if nothing was."""
        return self._reader.problem

    def feed(self, chunk: str) -> list[StreamEvent]:
        """The events that this piece of text completes."""
        self._source.push(chunk)
        self._go_on()
        return self._reader.drain()

    def close(self, finish: str = "stop") -> list[StreamEvent]:
        """The events that waited for the end. After `finish` "length" no call comes of what was still open."""
        self._source.ended = True
        self._reader.truncated = finish == "length"
        self._go_on()
        self._reader.finish()
        return self._reader.drain()

    def _go_on(self) -> None:
        if self._run is not None:
            try:
                next(self._run)
            except StopIteration:
                self._run = None

    def _reply(self) -> Generator[None, None, None]:
        yield
        reader = self._reader
        if self._family and self._family.start and reader.tools:
            yield from self._family.start(reader, "")
        while True:
            text, marker = yield from self._source.step(self._markers())
            reader.plain(text)
            if marker:
                handled = yield from self._at(marker)
                if not handled:
                    reader.plain(marker)
            elif not text:
                return

    def _markers(self) -> Markers:
        if not self._reader.thinking:
            return self._in_content
        found = self._in_thinking.get(self._closer)
        if found is None:
            opener = next((o for o, c in thinking.PAIRS.items() if c == self._closer), "")
            closers = {self._closer, opener} if opener else {*thinking.LONE_CLOSERS, *thinking.PAIRS}
            if opener in thinking.WORDY:
                closers |= thinking.WORDY | {thinking.PAIRS[o] for o in thinking.WORDY}
            literals = {*self._sure, *closers, *thinking.END_TOKENS}
            found = self._in_thinking[self._closer] = markers(frozenset(literals))
        return found

    def _at(self, marker: str) -> Generator[None, None, bool]:
        reader = self._reader
        if reader.quoted and marker not in ("{", "["):
            return False
        if marker in thinking.END_TOKENS:
            return (yield from self._end_token(marker))
        if marker in self._sure or (marker in self._loose and not reader.thinking):
            for read in (*self._sure.get(marker, ()), *self._loose.get(marker, ())):
                if (yield from read(reader, marker)):
                    return True
        if marker in thinking.PAIRS:
            return self._think_opener(marker)
        if marker in thinking.LONE_CLOSERS or (reader.thinking and marker == self._closer):
            return self._think_closer(marker)
        return False

    def _end_token(self, marker: str) -> Generator[None, None, bool]:
        if marker in thinking.LAST_ONLY:
            after = yield from self._source.peek(48)
            for token in thinking.END_TOKENS:
                after = after.replace(token, "")
            if after.strip():
                return False
        reader = self._reader
        reader.mark()
        if reader.thinking and marker in thinking.MESSAGE_ENDS:
            reader.thinking = reader.thought = reader.began = False
        return True

    def _think_opener(self, marker: str) -> bool:
        reader = self._reader
        if not reader.thinking:
            if reader.began:
                self._mentioned += 1
                return False
            self._closer = thinking.PAIRS[marker]
        elif not self._closer and not reader.thought:
            self._closer = thinking.PAIRS[marker]
        elif self._closer and thinking.PAIRS[marker] != self._closer:
            self._within.append(thinking.PAIRS[marker])
            return False
        reader.mark()
        reader.thinking = True
        return True

    def _think_closer(self, marker: str) -> bool:
        reader = self._reader
        if reader.thinking and marker != self._closer and marker in self._within:
            self._within.remove(marker)
            return False
        if reader.thinking:
            self._within.clear()
            reader.mark()
            reader.thinking = reader.thought = reader.began = False
            self._closer = ""
        elif self._mentioned:
            self._mentioned -= 1
            return False
        else:
            reader.relabel()
        return True

    def _nested(self, text: str) -> list[Call]:
        """The calls of a text that holds nothing else, else none."""
        parser = Parser(self._specs, self._reader.dialect or None)
        parser._reader.fenced = True
        events = parser.feed(text) + parser.close()
        inner = fold(events, parser.problem)
        return [] if inner.content.strip() or inner.problem or inner.reasoning else list(inner.calls)


def fold(events: Sequence[StreamEvent], problem: str = "") -> Parsed:
    """The events of a whole reply as one value."""
    content: list[str] = []
    reasoning: list[str] = []
    calls: list[Call] = []
    for event in events:
        match event:
            case TextDelta(text):
                content.append(text)
            case ThinkingDelta(text):
                reasoning.append(text)
            case Relabelled():
                reasoning += content
                content = []
            case CallDelta():
                calls.append(Call(event.name, event.args or {}, event.id, event.raw, event.dialect))
    good, bad = [c for c in calls if not c.raw], [c for c in calls if c.raw]
    return Parsed("".join(content), "".join(reasoning), tuple(good), problem, tuple(bad))


def parse(
    text: str, tools: Sequence[ToolSpec] = (), dialect: str | None = None, starts_in_reasoning: bool = False
) -> Parsed:
    """A whole reply at once; the same as feeding it to a Parser in any pieces."""
    parser = Parser(tools, dialect, starts_in_reasoning)
    events = parser.feed(text) + parser.close()
    return fold(events, parser.problem)


@functools.cache
def families() -> tuple[Family, ...]:
    """Every family of this folder, in the order of its files."""
    package = importlib.import_module(__package__ or "aicli.models.dialects")
    found = []
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda i: i.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        found += list(getattr(module, "FAMILIES", ()))
    return tuple(found)


def names() -> tuple[str, ...]:
    """The dialects by their first names."""
    return tuple(f.name for f in families())


def family(name: str) -> Family:
    """The family by any of its names, in any spelling of - and _. Raises ValueError."""
    wanted = _folded(name)
    for found in families():
        if wanted in (_folded(found.name), *map(_folded, found.aliases)):
            return found
    raise ValueError(f"no dialect is called {name!r}; there are {', '.join(names())}")


def _folded(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


@functools.lru_cache(maxsize=64)
def _openers(
    tools: tuple[str, ...], first: Family | None
) -> tuple[Mapping[str, Sequence[Read]], Mapping[str, Sequence[Read]]]:
    """What begins at each literal, unmistakable and loose, for tools of these names."""
    sure: dict[str, list[Read]] = {}
    loose: dict[str, list[Read]] = {}
    offered = Tools([ToolSpec(name=name) for name in tools])
    for each in sorted(families(), key=lambda f: f is not first):
        if not tools and not each.always:
            continue
        for table, openers in ((sure, each.openers(offered)), (loose, each.loose(offered))):
            for literal, read in openers.items():
                table.setdefault(literal, []).append(read)
    return sure, loose
