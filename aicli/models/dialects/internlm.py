"""InternLM 2.5 and S1: JSON between action tokens."""

from __future__ import annotations

from collections.abc import Mapping

from aicli.models.dialects.calls import Tools
from aicli.models.dialects.hermes import between
from aicli.models.dialects.reader import Family, Read, stray


def _openers(tools: Tools) -> Mapping[str, Read]:
    read = between(("<|action_end|>",), "internlm", r"\s*(?:<\|(?:plugin|interpreter)\|>)?\s*", ("<|action_start|>",))
    return {"<|action_start|>": read, "<|action_end|>": stray, "<|plugin|>": stray}


FAMILIES = (Family("internlm", _openers, aliases=("internlm2", "internlm2_5", "intern_s1")),)
