"""GLM 4.5 and later: a name, then `<arg_key>` and `<arg_value>` pairs (also Ling 3, Hy3, Laguna)."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

from aicli.content.parts import JsonObject
from aicli.models.dialects.calls import Tools
from aicli.models.dialects.reader import Family, Read, Reader, stray, wait_for
from aicli.models.dialects.tags import Form, read_call
from aicli.models.dialects.typed import convert

_HEAD = re.compile(
    r"\s*([^\s<>{}\[\]()`\"'\\,;]{1,128})((?:\s|\\n)*)(?:<tool_sep>\s*)?(?=(<arg_key>|</tool_call>|</user>|<arg_value>|\{|$))"
)
_BLOCK = re.compile(r"\s*<tool_call>")


def _value(text: str, attributes: Mapping[str, str], schema: JsonObject | None) -> Any:
    return convert(text, schema, guess=True)


def _escaped_value(text: str, attributes: Mapping[str, str], schema: JsonObject | None) -> Any:
    """A value of a body that was escaped as a whole once too often."""
    plain = re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t", "r": "\r"}.get(m[1], m[1]), text, flags=re.S)
    return convert(plain, schema, guess=True)


_FORM = Form(
    call_open=(),
    call_close=("</tool_call>",),
    param_open=("<arg_key>",),
    param_close=("</arg_value>",),
    block_open=("<tool_call>",),
    head_ends=("</arg_key>", "<arg_value>"),
    value_open="<arg_value>",
    trim=False,
    value=_value,
)
_USER = replace(_FORM, call_close=("</user>", "</tool_call>"), block_open=("<tool_call>", "<user>"))


def _reader(form: Form) -> Read:
    def read(reader: Reader, opener: str) -> Generator[None, None, bool]:
        head = yield from wait_for(reader.source, _HEAD, 320)
        if head is None:
            return False
        name, gap, following = head.groups()
        declared = bool(reader.tools.find(name))
        if not declared and (following in ("", "{") or opener == "<user>"):
            return False
        text = opener + reader.source.take(head.end())
        if following == "{":
            yield from _json(reader, name, text, form)
        else:
            used = replace(form, value=_escaped_value) if "\\n" in gap else form
            yield from read_call(reader, used, name, text, "glm")
            reader.mark()
        return True

    return read


def _json(reader: Reader, name: str, text: str, form: Form) -> Generator[None, None, None]:
    body, ended_by = yield from reader.framed_json(form.call_close, form.block_open)
    rest = reader.json_call(name, body, "glm", closed=bool(ended_by), text=text + body)
    if rest.strip("} \n"):
        reader.plain(rest)


def _wrapper(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """`<tool_calls>` around such calls."""
    if not (yield from wait_for(reader.source, _BLOCK, 64)):
        return False
    reader.mark()
    return True


def _openers(tools: Tools) -> Mapping[str, Read]:
    return {
        "<tool_call>": _reader(_FORM),
        "<user>": _reader(_USER),
        "<tool_calls>": _wrapper,
        "</tool_calls>": stray,
        "</tool_call>": stray,
        "</arg_value>": stray,
        "</user>": stray,
    }


FAMILIES = (
    Family(
        "glm",
        _openers,
        aliases=(
            "glm4", "glm45", "glm4_5", "glm46", "glm4_6", "glm47", "glm4_7", "glm5", "glm4_moe", "glm47_moe", "intellect3",
            "ling3", "bailing", "spark", "hy3", "hy_v3", "laguna", "poolside", "poolside_v1",
        ),
    ),
)  # fmt: skip
