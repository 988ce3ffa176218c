"""`<invoke name="f"><parameter name="k">v</parameter></invoke>` in its many wrappers: Anthropic style, DeepSeek's DSML,
MiniMax M2, Step 3, dots, Muse's atem tags, MiniCPM's `<function name>`."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from typing import Any

from aicli.content.parts import JsonObject
from aicli.models.dialects.calls import Tools
from aicli.models.dialects.reader import Family, Read, Reader, stray, wait_for
from aicli.models.dialects.tags import Form, named_head, read_call
from aicli.models.dialects.typed import convert

_WRAPPER_WORDS = ("function_calls", "tool_calls", "calls", "tool_call")
_NAME = r"""(?:"([^"\n]{1,200})"|'([^'\n]{1,200})'|([^"'<>\s]{1,200}))"""
_HEAD = re.compile(r"\s*(?:name\s*=\s*)?" + _NAME + r"""\s*(?:[\w.:-]+\s*=\s*["'][^"'\n]*["']\s*)*/?>""")


def _typed(text: str, attributes: Mapping[str, str], schema: JsonObject | None) -> Any:
    """By the schema; without one the `string` or `type` attribute decides, else it is text."""
    if schema:
        return convert(text, schema)
    if attributes.get("string") == "false":
        return convert(text, None, guess=True)
    kind = attributes.get("type")
    return convert(text, {"type": kind}) if kind else text


def _form(
    prefix: str, *, trim: bool = True, words: tuple[str, ...] = _WRAPPER_WORDS, extra: tuple[str, ...] = ()
) -> Form:
    gaps = ("", " ") if prefix.endswith(("｜", "|")) else ("",)
    wrappers = tuple(f"{prefix}{gap}{word}>" for gap in gaps for word in words) + extra
    return Form(
        call_open=tuple(f"<{prefix}{gap}invoke" for gap in gaps),
        call_close=tuple(f"</{prefix}{gap}invoke>" for gap in gaps),
        param_open=tuple(f"<{prefix}{gap}parameter" for gap in gaps),
        param_close=tuple(f"</{prefix}{gap}parameter>" for gap in gaps),
        block_open=tuple("<" + w for w in wrappers),
        block_close=tuple("</" + w for w in wrappers),
        key=named_head,
        trim=trim,
        value=_typed,
    )


_GAPS = (" ", "Ġ", "")  # the space, a tokenizer's sign for it, or lost


def _unwrapped(text: str, attributes: Mapping[str, str], schema: JsonObject | None) -> Any:
    inner = re.fullmatch(r"\s*<!\[CDATA\[(.*)\]\]>\s*", text, re.S)
    return _typed(inner.group(1) if inner else text, attributes, schema)


_MINICPM = Form(
    call_open=tuple(f"<function{gap}name=" for gap in _GAPS),
    call_close=("</function>",),
    param_open=tuple(f"<{word}{gap}name=" for word in ("param", "parameter") for gap in _GAPS),
    param_close=("</param>", "</parameter>"),
    block_open=("<tool_call>", "<tool_calls>"),
    block_close=("</tool_call>", "</tool_calls>"),
    key=named_head,
    value=_unwrapped,
)
_DSML = ("｜DSML｜", "|DSML|")
_PLAIN = _form("", extra=("minimax:tool_call>", "dots_function_call>", "antml:function_calls>"))


def _call(form: Form, dialect: str, gated: bool) -> Read:
    """A call from its head on. `gated`: without a wrapper only a declared name makes it a call."""

    def read(reader: Reader, opener: str) -> Generator[None, None, bool]:
        head = yield from wait_for(reader.source, _HEAD, 320)
        if head is None:
            return False
        name = next(g for g in head.groups() if g is not None).strip()
        if gated and not reader.after_call and not reader.tools.find(name):
            return False
        text = opener + reader.source.take(head.end())
        yield from read_call(reader, form, name, text, dialect)
        return True

    return read


def _wrapper(form: Form, dialect: str) -> Read:
    """A wrapper counts when a call follows it; its calls need not be declared."""
    read = _call(form, dialect, gated=False)

    def wrapped(reader: Reader, opener: str) -> Generator[None, None, bool]:
        ahead = yield from reader.source.peek(96)
        gap = len(ahead) - len(ahead.lstrip())
        start = next((o for o in form.call_open if ahead.startswith(o, gap)), None)
        if start is None:
            return False
        reader.source.take(gap + len(start))
        if (yield from read(reader, start)):
            return True
        reader.source.unread(start)
        return False

    return wrapped


_DSML_TAG = re.compile(r"[ \t]*([A-Za-z_]+)")


def _dsml(prefix: str) -> Read:
    """Any tag with this prefix: `invoke` begins a call, every other word is some wrapper, right or corrupted."""
    form = _form(prefix, trim=False, words=("function_calls", "tool_calls", "calls", "toolcalls", "tool"))
    read = _call(form, "dsml", gated=False)

    def tag(reader: Reader, opener: str) -> Generator[None, None, bool]:
        ahead = yield from reader.source.peek(48)
        word = _DSML_TAG.match(ahead)
        if word is None:
            return False
        if word.group(1) == "invoke":
            reader.source.take(word.end())
            if (yield from read(reader, opener + word.group())):
                return True
            reader.source.unread(word.group())
            return False
        if not re.match(r"\s*>", ahead[word.end() :]):
            return False
        reader.source.take(ahead.index(">") + 1)
        reader.mark()
        return True

    return tag


_STEP = re.compile(r"\s*(?:<｜tool_call_begin｜>)?\s*(?:function)?\s*(?:<｜tool_sep｜>)?\s*(?=<steptml:)")


def _step(reader: Reader, opener: str) -> Generator[None, None, bool]:
    match = yield from wait_for(reader.source, _STEP, 96)
    if match is None:
        return False
    reader.source.take(match.end())
    reader.mark()
    return True


def _plain(tools: Tools) -> Mapping[str, Read]:
    table: dict[str, Read] = {"<invoke": _call(_PLAIN, "anthropic_xml", gated=True)}
    for opener in ("<function_calls>", "<tool_calls>", "<calls>", "<tool_call>"):
        table[opener] = _wrapper(_PLAIN, "anthropic_xml")
    imitated = _form("antml:")
    table["<antml:function_calls>"] = _wrapper(imitated, "anthropic_xml")
    table["<antml:invoke"] = _call(imitated, "anthropic_xml", gated=True)
    ends = (
        "function_calls>",
        "invoke>",
        "parameter>",
        "calls>",
        "tool_calls>",
        "antml:function_calls>",
        "antml:invoke>",
    )
    return table | dict.fromkeys(("</" + end for end in ends), stray)


def _minimax(tools: Tools) -> Mapping[str, Read]:
    return {"<minimax:tool_call>": _wrapper(_PLAIN, "minimax"), "</minimax:tool_call>": stray}


def _dots(tools: Tools) -> Mapping[str, Read]:
    return {"<dots_function_call>": _wrapper(_PLAIN, "dots"), "</dots_function_call>": stray}


def _dsml_openers(tools: Tools) -> Mapping[str, Read]:
    tags = {f"<{prefix}": _dsml(prefix) for prefix in _DSML}
    return {**tags, **{f"</{prefix}": _dsml(prefix) for prefix in _DSML}}


def _step3(tools: Tools) -> Mapping[str, Read]:
    form = _form("steptml:")
    tokens = ("<｜tool_calls_begin｜>", "<｜tool_call_begin｜>")
    ends = ("<｜tool_call_end｜>", "<｜tool_calls_end｜>", "</steptml:invoke>")
    return {
        "<steptml:invoke": _call(form, "step3", gated=False),
        **dict.fromkeys(tokens, _step),
        **dict.fromkeys(ends, stray),
    }


def _atem(tools: Tools) -> Mapping[str, Read]:
    form = _form("atem:", trim=False)
    wrapper = _wrapper(form, "muse")
    table: dict[str, Read] = {"<atem:function_calls>": wrapper, "<atem:invoke": _call(form, "muse", gated=False)}
    rfl = _form("rfl:")
    table |= {"<rfl:function_calls>": _wrapper(rfl, "kolibri"), "<rfl:invoke": _call(rfl, "kolibri", gated=False)}
    return table | dict.fromkeys(("</atem:function_calls>", "</atem:invoke>", "</rfl:function_calls>"), stray)


def _minicpm(tools: Tools) -> Mapping[str, Read]:
    read = _call(_MINICPM, "minicpm", gated=True)
    return {**dict.fromkeys(_MINICPM.call_open, read), "</function>": stray, "</param>": stray}


FAMILIES = (
    Family("anthropic_xml", _plain, aliases=("invoke", "claude", "anthropic")),
    Family("dsml", _dsml_openers, aliases=("deepseek_v3_2", "deepseek_v4", "deepseek_v4_1", "deepseek32", "deepseek4")),
    Family("minimax", _minimax, aliases=("minimax_m2", "minimax_m2_5")),
    Family("dots", _dots),
    Family("step3", _step3),
    Family("atem", _atem, aliases=("kolibri", "beam")),
    Family("minicpm", _minicpm, aliases=("minicpm5", "minicpm5_xml")),
)
