"""Phi-4-mini and Firefunction v2: a JSON list behind the word functools."""

from __future__ import annotations

import re
from collections.abc import Generator

from aicli.models.dialects.hermes import settle
from aicli.models.dialects.reader import Family, Reader, wait_for

_LIST = re.compile(r"\s*(?:\{|\])")


def _functools(reader: Reader, opener: str) -> Generator[None, None, bool]:
    if not (yield from wait_for(reader.source, _LIST, 32)):
        return False
    body, whole = yield from reader.json_value("[")
    settle(reader, body, whole, "phi4", opener + body[1:])
    return True


FAMILIES = (
    Family("phi4", lambda tools: {"functools[": _functools}, aliases=("phi4_mini", "phi")),
    Family("firefunction", aliases=("firefunction_v2",)),
)
