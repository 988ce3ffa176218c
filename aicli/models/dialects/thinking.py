"""The marks that models put around thinking, and the end tokens that leak into text."""

from __future__ import annotations

PAIRS: dict[str, str] = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "<mm:think>": "</mm:think>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "<|channel>": "<channel|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|think|>": "<|/think|>",
    "Here is my thought process:": "Here is my response:",
    "Here's my thought process:": "Here's my response:",
    "Here are my reasoning steps:": "[BEGIN FINAL RESPONSE]",
}
"""Opener to closer."""

LONE_CLOSERS = frozenset(c for c in PAIRS.values() if not c.startswith("Here"))
"""Closers that mean something without their opener: the prompt may have opened the block."""

WORDY = frozenset({"<think>", "<thinking>", "<thought>", "<reasoning>", "<seed:think>", "<mm:think>"})
"""Openers that models close with one another's closers: `<think>` ends at `</thinking>` too."""

END_TOKENS = frozenset(
    {
        "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "<|role_end|>", "<|END_OF_TURN_TOKEN|>",
        "<end_of_turn>", "<turn|>", "</s>", "<|endoftext|>", "<|end_of_text|>", "<|end_of_sentence|>",
        "<｜end▁of▁sentence｜>", "[END FINAL RESPONSE]", "<|eos|>", "<eos>",
    }
)  # fmt: skip
"""Dropped from text. Those of LAST_ONLY are ordinary markup elsewhere and count only at the very end."""


def without_end_tokens(text: str) -> str:
    """The text without the end tokens, and the white space between them, that it ends with."""
    kept = text
    while ended := next((token for token in END_TOKENS if kept.rstrip().endswith(token)), ""):
        kept = kept.rstrip()[: -len(ended)]
    return kept


LAST_ONLY = frozenset({"</s>", "<eos>"})

MESSAGE_ENDS = frozenset({"<|end|>", "<|return|>"})
"""End tokens that close thinking, where thinking is a message of its own."""
