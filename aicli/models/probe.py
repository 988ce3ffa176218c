"""What a model can really do, found by asking it: calls, dialect, thinking, images, window; vectors of an embedder."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import aclosing

from aicli.content.messages import Message
from aicli.content.parts import InlineDataPart, TextPart
from aicli.content.request import ModelRequest, ToolSpec
from aicli.content.stream import Assembler
from aicli.errors import ModelError, StreamCut
from aicli.late import dataclass
from aicli.models.base import Embedder, Model

_RED = (
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PQQkAAAgAsetfWiP4FgYrsKZeS0BAQEBAQEBAQEBA"
    "QEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEDgsqnc8OJg6Ln3AAAAAElFTkSuQmCC"
)
"""A red square, PNG in base64."""
_TOOL = ToolSpec(
    name="note_color",
    description="Writes down a color.",
    parameters={"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]},
)


@dataclass(frozen=True, slots=True)
class Probed:
    """`calls`: native, the dialect's name for calls written as text, or "" for none. `images` is None when not tried.

    `window` is what the server tells, in tokens; `kept` whether a word at the start of a long prompt was still read;
    `problems` are the errors met, in words.
    """

    model: str
    calls: str = ""
    thinking: bool = False
    images: bool | None = None
    window: int | None = None
    kept: bool | None = None
    read_tokens: int = 0
    seconds: float = 0.0
    problems: tuple[str, ...] = ()

    def __str__(self) -> str:
        yes = {True: "yes", False: "no", None: "not tried"}
        calls = {"native": "native", "": "none"}.get(self.calls, f"as text ({self.calls})")
        window = f"{self.window:,} tokens" if self.window else "unknown"
        kept = {True: "read from its start", False: "its start was not read", None: "not answered"}[self.kept]
        return "\n".join(
            [
                f"{self.model} ({self.seconds:.1f} s)",
                f"  calls        {calls}",
                f"  thinking     {yes[self.thinking]}",
                f"  images       {yes[self.images]}",
                f"  window       {window}",
                f"  long prompt  {kept} ({self.read_tokens:,} tokens)",
                *(f"  problem      {p}" for p in self.problems),
            ]
        )


@dataclass(frozen=True, slots=True)
class ProbedEmbedder:
    """`near` and `far` are the cosine similarities of two like and two unlike sentences."""

    model: str
    dimensions: int
    near: float
    far: float

    def __str__(self) -> str:
        return (
            f"{self.model}: {self.dimensions} dimensions;"
            f" similarity of like sentences {self.near:.3f}, of unlike ones {self.far:.3f}"
        )


async def probe(model: Model, *, long: bool = True, say: Callable[[str], None] = lambda text: None) -> Probed:
    """Three requests: a call, a long prompt if `long`, an image. Raises nothing of the model's; see `problems`.

    `say` is told what is being tried.
    """
    began = time.monotonic()
    say("trying a tool call")
    problems: list[str] = []
    ask = ModelRequest(
        system="You answer by calling tools.",
        messages=(Message.user("Call the tool note_color with the color blue."),),
        tools=(_TOOL,),
        temperature=0,
    )
    said = await _ask(model, ask, problems, "call")
    calls, thinking = "", False
    if said is not None:
        message = said.message()
        thinking = bool(message.thinking)
        if any(c.name == _TOOL.name for c in message.calls):
            calls = next(iter(said.call_dialects(message).values()), "native")
    if long:
        say("trying a long prompt")
    kept, read = await _long(model, problems) if long else (None, 0)
    if model.info.images:
        say("trying an image")
    return Probed(
        model=model.info.id,
        calls=calls,
        thinking=thinking,
        images=await _sees(model, problems),
        window=await _window(model),
        kept=kept,
        read_tokens=read,
        seconds=time.monotonic() - began,
        problems=tuple(problems),
    )


async def probe_embedder(embedder: Embedder) -> ProbedEmbedder:
    """Embeds three sentences. Raises ModelError."""
    a, b, c = await embedder.embed(
        ["The cat sleeps on the warm roof.", "A cat is asleep on a roof.", "Interest rates rose in March."]
    )
    return ProbedEmbedder(embedder.info.id, len(a), similarity(a, b), similarity(a, c))


def similarity(a: list[float], b: list[float]) -> float:
    """Cosine similarity, 0 where a vector has no length."""
    size = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / size if size else 0.0


async def _ask(model: Model, request: ModelRequest, problems: list[str], what: str) -> Assembler | None:
    assembler = Assembler(model.info.provider)
    try:
        async with aclosing(model.stream(request)) as stream:  # type: ignore[type-var]
            async for event in stream:
                assembler.feed(event)
        if assembler.finish is None:
            raise StreamCut("the reply had no end")
    except ModelError as error:
        problems.append(f"{what}: {error}")
        return None
    return assembler


async def _long(model: Model, problems: list[str]) -> tuple[bool | None, int]:
    """(whether the start of a long prompt was read, the tokens that the server counted)."""
    window = model.info.window or 8_192
    lines = min(window // 2, 6_000) // 12
    filler = "\n".join(f"Line {n}: nothing of note happened here today." for n in range(lines))
    question = "Answer with one word: what is the code word?"
    text = f"The code word is walnut.\n{filler}\n{question}"
    said = await _ask(model, ModelRequest(messages=(Message.user(text),), temperature=0), problems, "long prompt")
    if said is None or said.finish is None:
        return None, 0
    return "walnut" in said.message().text.lower(), said.finish.usage.input_tokens


async def _sees(model: Model, problems: list[str]) -> bool | None:
    if not model.info.images:
        return None
    parts = (TextPart(text="What color is this image? One word."), InlineDataPart(mime="image/png", data=_RED))
    request = ModelRequest(messages=(Message(role="user", parts=parts),), temperature=0)
    said = await _ask(model, request, problems, "image")
    return said is not None and "red" in said.message().text.lower()


async def _window(model: Model) -> int | None:
    ask = getattr(model, "real_window", None)
    found = await ask() if ask is not None else None
    return found or model.info.window
