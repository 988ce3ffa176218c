"""MiniMax M3: elements named after the arguments, nested, every tag behind one prefix."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import field
from typing import Any

from aicli.content.parts import JsonObject
from aicli.late import dataclass
from aicli.models.dialects.calls import Call, Tools
from aicli.models.dialects.reader import CUT_OFF, Family, Read, Reader, stray, wait_for
from aicli.models.dialects.source import Markers
from aicli.models.dialects.typed import convert, declared_types

_NS = "]<]minimax[>["
_INVOKE = re.compile(re.escape(_NS) + r"""<invoke\s+name\s*=\s*["']?([^"'<>]{1,200}?)["']?\s*>""")
_BLOCK = re.compile(r"\s*" + _INVOKE.pattern)
_TAG = re.compile(re.escape(_NS) + r"<(/?)([^<>\s/][^<>]*?)\s*>")
_DEEPEST = 60
_ENDS = Markers((f"{_NS}</invoke>", f"{_NS}</tool_call>", f"{_NS}<invoke"))


def _block(reader: Reader, opener: str) -> Generator[None, None, bool]:
    if not (yield from wait_for(reader.source, _BLOCK, 320)):
        return False
    yield from reader.source.space()
    reader.mark()
    return True


def _invoke(reader: Reader, opener: str) -> Generator[None, None, bool]:
    ahead = opener + (yield from reader.source.peek(300))
    head = _INVOKE.match(ahead)
    if head is None:
        return False
    reader.source.take(head.end() - len(opener))
    name = head.group(1).strip()
    body, ended_by = yield from reader.source.collect(_ENDS)
    text = head.group() + body + ended_by
    closed = ended_by == f"{_NS}</invoke>"
    if ended_by and not closed:
        reader.source.unread(ended_by)
        text = text.removesuffix(ended_by)
    root, whole = _tree(body)
    if not ended_by and (reader.truncated or not whole):
        why = CUT_OFF if reader.truncated else "its last argument never ended"
        reader.unreadable(name, text, why, "minimax_m3")
        return True
    args: JsonObject = {}
    properties = reader.tools.properties(name)
    for key, value in _fields(root, properties).items():
        args[key] = value
    reader.call([Call(reader.tools.named(name), args)], "minimax_m3")
    return True


@dataclass
class _Node:
    name: str
    text: list[str] = field(default_factory=list)
    children: list[_Node] = field(default_factory=list)


def _tree(body: str) -> tuple[_Node, bool]:
    """The elements of a body, and whether all of them were closed. An unclosed one ends with its parent."""
    root = _Node("")
    path = [root]
    at = 0
    for tag in _TAG.finditer(body):
        path[-1].text.append(body[at : tag.start()])
        at = tag.end()
        closing, name = tag.groups()
        if not closing and len(path) > _DEEPEST:
            path[-1].text.append(tag.group())
        elif not closing:
            node = _Node(name)
            path[-1].children.append(node)
            path.append(node)
        elif any(node.name == name for node in path[1:]):
            while path.pop().name != name:
                pass
    path[-1].text.append(body[at:])
    return root, len(path) == 1


def _fields(node: _Node, properties: JsonObject, more: Any = None) -> JsonObject:
    """The children as one object; a name that repeats becomes a list."""
    found: JsonObject = {}
    names = Counter(child.name for child in node.children)
    for child in node.children:
        schema = properties.get(child.name, more)
        schema = schema if isinstance(schema, dict) else None
        if names[child.name] > 1 and "array" not in declared_types(schema):
            found.setdefault(child.name, []).append(_value(child, schema))
        elif child.name in found and isinstance(found[child.name], list):
            found[child.name] += _value(child, schema)
        else:
            found[child.name] = _value(child, schema)
    return found


def _value(node: _Node, schema: JsonObject | None) -> Any:
    types = declared_types(schema)
    schema = schema or {}
    if not node.children:
        text = "".join(node.text)
        if "array" in types and not text.strip():
            return []
        return convert(text, schema or None)
    if "array" in types or all(child.name == "item" for child in node.children):
        items = schema.get("items")
        return [_value(child, items if isinstance(items, dict) else None) for child in node.children]
    return _fields(node, schema.get("properties") or {}, schema.get("additionalProperties"))


def _openers(tools: Tools) -> Mapping[str, Read]:
    ends = dict.fromkeys((f"{_NS}</tool_call>", f"{_NS}</invoke>"), stray)
    return {f"{_NS}<tool_call>": _block, f"{_NS}<invoke": _invoke, **ends}


FAMILIES = (Family("minimax_m3", _openers),)
