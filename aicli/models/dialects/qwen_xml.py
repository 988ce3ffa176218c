"""Qwen3-Coder XML: `<function=f><parameter=k>value</parameter></function>` (also Nemotron 3, Step 3.5, MiMo, Seed-OSS)."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping

from aicli.models.dialects.calls import Tools
from aicli.models.dialects.reader import Family, Read, Reader, stray, wait_for
from aicli.models.dialects.tags import Form, read_call

_FORM = Form(
    call_open=("<function=",),
    call_close=("</function>",),
    param_open=("<parameter=",),
    param_close=("</parameter>",),
    block_open=("<tool_call>", "<seed:tool_call>"),
    block_close=("</tool_call>", "</seed:tool_call>"),
)
_FUNCTION = re.compile(r"\s*<function=([^>\n]{1,200})>")
_HEAD = re.compile(r"([^>\n]{1,200})>\s*(.?)", re.S)
_BLOCK_CLOSE = re.compile(r"\s*</(?:seed:)?tool_call>")


def _block(reader: Reader, opener: str) -> Generator[None, None, bool]:
    if not (yield from wait_for(reader.source, _FUNCTION, 280)):
        return False
    text = opener
    while match := (yield from wait_for(reader.source, _FUNCTION, 280)):
        text += reader.source.take(match.end())
        yield from _function(reader, match.group(1), text)
        text = ""
    if close := (yield from wait_for(reader.source, _BLOCK_CLOSE, 64)):
        reader.source.take(close.end())
    return True


def _bare(reader: Reader, opener: str) -> Generator[None, None, bool]:
    head = yield from wait_for(reader.source, _HEAD, 280)
    if head is None or not reader.tools.find(head.group(1).strip("\"'")):
        return False
    taken = reader.source.take(head.end() - len(head.group(2)))
    yield from _function(reader, head.group(1), opener + taken)
    if close := (yield from wait_for(reader.source, _BLOCK_CLOSE, 64)):
        reader.source.take(close.end())
    return True


def _function(reader: Reader, name: str, head: str) -> Generator[None, None, None]:
    name = reader.tools.find(name) or reader.tools.find(name.strip("\"'")) or name
    ahead = (yield from reader.source.peek(64)).lstrip()
    if not ahead.startswith("{"):
        yield from read_call(reader, _FORM, name, head, "qwen_xml")
        return
    body, ended_by = yield from reader.framed_json(("</function>",), ("<function=", "<tool_call>", "</tool_call>"))
    reader.json_call(name, body, "llama3", closed=bool(ended_by), text=head + body + ended_by)


def _openers(tools: Tools) -> Mapping[str, Read]:
    closers = dict.fromkeys(("</tool_call>", "</seed:tool_call>", "</function>", "</parameter>"), stray)
    return {"<tool_call>": _block, "<seed:tool_call>": _block, "<function=": _bare, **closers}


FAMILIES = (
    Family(
        "qwen_xml",
        _openers,
        aliases=(
            "qwen3_coder", "qwen3_coder_next", "qwen3_xml", "qwen3_5", "qwen3_6", "qwen3_8", "qwen35", "qwen36",
            "nemotron3", "nemotron_3_nano", "step3_5", "step3_7", "step3p5", "mimo", "seed_oss", "seed", "ornith",
        ),
    ),
)  # fmt: skip
