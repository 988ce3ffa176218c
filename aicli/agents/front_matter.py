"""The head of an agent file: TOML between `+++`, or the plain part of YAML between `---` that other programs write."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from aicli.late import regex

LISTS, NUMBERS, SWITCHES = ("tools", "aliases"), ("max_turns", "verify"), ("delegates",)
_KEY = regex(r"([A-Za-z_][\w-]*)\s*:(?:\s+(.*))?")
_ITEM = regex(r"\s*-\s+(.*)")
_QUOTED = regex(r"""'((?:[^']|'')*)'|"((?:[^"\\]|\\.)*)\"""")


def head_and_body(text: str) -> tuple[dict[str, Any], str]:
    """(fields, instructions); no fields where the file begins with neither mark. Raises ValueError saying what is wrong."""
    lines = text.lstrip("\ufeff").lstrip().splitlines()
    mark = lines[0].rstrip() if lines else ""
    if mark not in ("+++", "---"):
        if mark.startswith(("+++", "---")) and not mark.strip("+-"):
            raise ValueError(f"the first line is {mark}, and front matter begins with +++ or ---")
        return {}, text.lstrip("\ufeff").strip()
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == mark), 0)
    if not end:
        raise ValueError(f"the front matter that starts with {mark} never ends")
    head = lines[1:end]
    fields = tomllib.loads("\n".join(head)) if mark == "+++" else plain_yaml(head)
    return fields, "\n".join(lines[end + 1 :]).strip()


def plain_yaml(lines: list[str]) -> dict[str, Any]:
    """`key: value`, lists as [a, b] or lines of `- a`. Raises ValueError naming the line for all else that YAML has."""
    found: dict[str, Any] = {}
    key = ""
    for number, line in enumerate(map(str.rstrip, lines), 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item, pair = _ITEM.fullmatch(line), _KEY.fullmatch(line)
        if item and key and isinstance(found[key], list):
            found[key].append(_text(item[1], number))
        elif pair:
            key = pair[1]
            if key in found:
                raise ValueError(f"line {number}: {key} stands there twice")
            found[key] = _value(pair[2] or "", number)
        else:
            raise ValueError(f"line {number} is neither key: value nor an item of a list")
    return {name: _of_kind(name, value) for name, value in found.items()}


def _value(text: str, number: int) -> str | list[str]:
    text = _uncommented(text)
    if not text:
        return []
    if text.startswith("["):
        if not text.endswith("]"):
            raise ValueError(f"line {number}: a list ends with ] in the same line")
        return [_text(part, number) for part in text[1:-1].split(",") if part.strip()]
    return _text(text, number)


def _uncommented(text: str) -> str:
    text = text.strip()
    if quoted := _QUOTED.match(text):
        return quoted[0] if text[quoted.end() :].lstrip().startswith("#") else text
    return re.split(r"(?:^|\s+)#", text, maxsplit=1)[0]


def _text(text: str, number: int) -> str:
    text = _uncommented(text)
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1].replace("''", "'") if quoted[1] is not None else re.sub(r"\\(.)", r"\1", quoted[2])
    if text[:1] in tuple("|>&*!{}%@`\"'["):
        if text == "*":
            return text
        raise ValueError(f"line {number}: {text[0]} begins what is not read here; write one line, in quotes if need be")
    return text


def _of_kind(name: str, value: str | list[str]) -> Any:
    """A text as what the key holds, where it can be read as that; lists may stand as a, b."""
    if name in LISTS:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if isinstance(value, list):
        return value or ""
    if name in NUMBERS and value.isascii() and value.isdigit():
        return int(value)
    return {"true": True, "false": False}.get(value.lower(), value) if name in SWITCHES else value


def as_ours(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says nothing: a key with no value, and `model: inherit`."""
    return {k: v for k, v in fields.items() if v != "" and (k, v) != ("model", "inherit")}
