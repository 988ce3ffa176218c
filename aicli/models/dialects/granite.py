"""Granite: a JSON array behind one marker and without a closer (3.x), or repeated `<function_call>` objects (20b)."""

from __future__ import annotations

from collections.abc import Mapping

from aicli.models.dialects.calls import Tools
from aicli.models.dialects.hermes import tagged
from aicli.models.dialects.reader import Family, Read, stray


def _openers(tools: Tools) -> Mapping[str, Read]:
    table: dict[str, Read] = {}
    for opener, closer in (("<|tool_call|>", "<|/tool_call|>"), ("<function_call>", "</function_call>")):
        table[opener] = tagged((closer, "<|end_of_text|>"), (opener,), "granite")
        table[closer] = stray
    return table


FAMILIES = (Family("granite", _openers, aliases=("granite3", "granite3_1", "granite4", "granite_20b_fc")),)
