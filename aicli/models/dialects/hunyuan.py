"""Hunyuan A13B: `<answer>` around everything that is no thinking; its calls are Hermes lists."""

from __future__ import annotations

from aicli.models.dialects.reader import Family, Reader, at_once


@at_once
def _answer(reader: Reader, opener: str) -> bool:
    if opener == "<answer>":
        if reader.began:
            return False
        reader.notes["answer"] = 1
    elif not reader.notes.pop("answer", 0):
        return False
    reader.mark()
    return True


FAMILIES = (
    Family(
        "hunyuan",
        lambda tools: {"<answer>": _answer, "</answer>": _answer},
        aliases=("hunyuan_a13b",),
        always=True,
    ),
)
