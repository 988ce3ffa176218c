"""GLM 4.5 and later: a name, then `<arg_key>` and `<arg_value>` pairs (also Ling 3, Hy3, Laguna)."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

from aicli.content.parts import JsonObject
from aicli.models.dialects.calls import Tools
from aicli.models.dialects.hermes import tagged
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
            return opener == "<user>" and (yield from _user_json(reader, opener))
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
            if reader.after_call:
                reader.mark()
        return True

    return read


_NAMED = re.compile(r"""\s*\{\s*"name"\s*:\s*"([^"\n]{1,128})\"""")


def _user_json(reader: Reader, opener: str) -> Generator[None, None, bool]:
    """Laguna's `<user>` instead of a call tag, around JSON."""
    named = yield from wait_for(reader.source, _NAMED, 200)
    if named is None or not reader.tools.find(named.group(1)):
        return False
    return (yield from tagged(("</user>",), ("<user>", "<tool_call>"), "glm")(reader, opener))


def _json(reader: Reader, name: str, text: str, form: Form) -> Generator[None, None, None]:
    body, ended_by = yield from reader.framed_json(form.call_close, form.block_open)
    rest = reader.json_call(name, body, "glm", closed=bool(ended_by), text=text + body)
    if rest.strip("} \n"):
        reader.plain(rest)


_IFM_KEY = re.compile(r"(.*?)</ifm\|arg_key>\s*(?:<ifm\|arg_type>(.*?)</ifm\|arg_type>)?\s*", re.S)


def _ifm_key(head: str) -> tuple[str, Mapping[str, str]]:
    match = _IFM_KEY.fullmatch(head)
    return (match.group(1).strip(), {"type": (match.group(2) or "").strip()}) if match else (head.strip(), {})


def _ifm_value(text: str, attributes: Mapping[str, str], schema: JsonObject | None) -> Any:
    kind = attributes.get("type")
    return convert(text, schema or ({"type": kind} if kind else None), guess=True)


_IFM = Form(
    call_open=(),
    call_close=("</ifm|tool_call>",),
    param_open=("<ifm|arg_key>",),
    param_close=("</ifm|arg_value>",),
    block_open=("<ifm|tool_call>",),
    block_close=("</ifm|tool_calls>",),
    head_ends=("<ifm|arg_value>",),
    key=_ifm_key,
    trim=False,
    value=_ifm_value,
)
_IFM_HEAD = re.compile(r"\s*([^\s<>{}\[\]()`\"',;]{1,128})\s*(?=<ifm\|arg_key>|</ifm\|tool_call>)")


def _ifm(reader: Reader, opener: str) -> Generator[None, None, bool]:
    head = yield from wait_for(reader.source, _IFM_HEAD, 200)
    if head is None:
        return (yield from tagged(_IFM.call_close, _IFM.block_open, "k2_horizon")(reader, opener))
    text = opener + reader.source.take(head.end())
    yield from read_call(reader, _IFM, head.group(1), text, "k2_horizon")
    return True


def _ifm_wrapper(reader: Reader, opener: str) -> Generator[None, None, bool]:
    if not (yield from wait_for(reader.source, re.compile(r"\s*<ifm\|tool_call>"), 48)):
        return False
    reader.mark()
    return True


def _k2_horizon(tools: Tools) -> Mapping[str, Read]:
    ends = dict.fromkeys(("</ifm|tool_call>", "</ifm|tool_calls>", "</ifm|arg_value>"), stray)
    return {"<ifm|tool_calls>": _ifm_wrapper, "<ifm|tool_call>": _ifm, **ends}


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
    Family("k2_horizon", _k2_horizon),
    Family(
        "glm",
        _openers,
        aliases=(
            "glm4", "glm45", "glm4_5", "glm46", "glm4_6", "glm47", "glm4_7", "glm5", "glm4_moe", "glm47_moe", "intellect3",
            "ling3", "bailing", "spark", "hy3", "hy_v3", "laguna", "poolside", "poolside_v1",
        ),
    ),
)  # fmt: skip
