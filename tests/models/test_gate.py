"""The gate in front of the dialects: it may be cheaper than a Parser, never different."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aicli.content.request import ToolSpec
from aicli.models.dialects import Parser, fold, thinking
from aicli.models.dialects import parser as dialects
from aicli.models.gate import AFTER_NAME, SIGNS, Gate

NAMES = ("read_file", "edit")
TOOLS = tuple(ToolSpec(name=name, parameters={"type": "object", "properties": {"path": {}}}) for name in NAMES)


def test_every_marker_of_every_dialect_begins_with_a_sign() -> None:
    sure, loose = dialects._openers(NAMES, None)
    markers = {*sure, *loose, *thinking.PAIRS, *thinking.END_TOKENS, *thinking.LONE_CLOSERS}
    signs = (*SIGNS, *(name + after for name in NAMES for after in AFTER_NAME))
    assert [marker for marker in sorted(markers) if not marker.startswith(signs)] == []


def test_plain_text_passes_at_once_and_needs_no_parser() -> None:
    gate = Gate(TOOLS)
    assert ["".join(e.text for e in gate.feed(piece)) for piece in ("It is 3. ", "Then", " 4.\n")] == [
        "It is 3.",
        " Then",
        " 4.",
    ]
    assert [e.text for e in gate.close()] == ["\n"]
    assert gate._parser is None


PIECES = st.sampled_from(
    [
        *(
            "a",
            " ",
            "\n",
            "  x. ",
            "好。",
            "edit",
            "read_file",
            "call",
            "call:",
            "to",
            "to=",
            "assistant",
            "Act",
            "Action:",
        ),
        *("<", "<think>", "</think>", "mm", "[", "{", "}", "`", "``", "```", "```json\n", ">>", ">>>", "Here's my "),
        *("thought process:", '{"name": "edit", "arguments": {"path": "b"}}', '<tool_call>{"name": "edit", "argu'),
        *(
            'ments": {"path": "c"}}</tool_call>',
            "<|im_end|>",
            "[TOOL_CALLS]",
            'edit[ARGS]{"path": "d"}',
            "func",
            "tools[",
        ),
    ]
)


@given(st.lists(PIECES, max_size=14), st.lists(st.integers(1, 9), max_size=30), st.sampled_from(["stop", "length"]))
def test_the_gate_says_what_a_parser_says(pieces: list[str], cuts: list[int], finish: str) -> None:
    text = "".join(pieces)
    parser, gate = Parser(TOOLS), Gate(TOOLS)
    events = [*parser.feed(text), *parser.close(finish)]
    said, at = [], 0
    for size in (*cuts, len(text)):
        said += gate.feed(text[at : at + size])
        at += size
    said += gate.close(finish)
    assert fold(said, gate.problem) == fold(events, parser.problem)
