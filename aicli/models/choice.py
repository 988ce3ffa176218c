"""Which of a server's models stands in for one that it lacks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from aicli.late import regex

_EMBEDS = regex(r"embed|bge|e5-|minilm|gte-|rerank", re.I)
_PREFERRED = {
    "fast": ("qwen3-coder", "qwen2.5-coder", "qwen3", "gpt-oss", "devstral", "llama3", "mistral", "gemma"),
    "thinking": ("gpt-oss", "qwen3", "deepseek-r1", "glm", "magistral", "qwen2.5-coder", "llama3"),
    "embedding": ("bge-m3", "nomic-embed", "mxbai-embed"),
}


def is_embedding(name: str) -> bool:
    return bool(_EMBEDS.search(name))


def installed_instead(wanted: str, there: Sequence[str], role: str) -> str:
    """`wanted` as the server names it, or the nearest that fits the role; "" when none does."""
    for name in there:
        if wanted and name in (wanted, f"{wanted}:latest"):
            return name
    fitting = [n for n in there if is_embedding(n) == (role == "embedding")]
    family = wanted.partition(":")[0]
    order = (family, *_PREFERRED[role]) if family else _PREFERRED[role]
    for start in order:
        for name in fitting:
            if name.rpartition("/")[2].startswith(start):
                return name
    return fitting[0] if fitting else ""
