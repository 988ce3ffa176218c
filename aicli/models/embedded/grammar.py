"""One step as a grammar of the engine (GBNF): only calls that can be right are sayable.

An edit needs a file that was seen, and its old text is whole lines of that file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

BASE = r"""
ws ::= [ \t\n]{0,8}
char ::= [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt/] | "u" [0-9a-fA-F]{4})
line ::= [^"\\#<\x7F\x00-\x1F] [^"\\\x7F\x00-\x1F]*
string ::= "\"" char* "\""
name ::= "\"" char+ "\""
place ::= "\"" [^"\\ \x7F\x00-\x1F] char* "\""
integer ::= "-"? ([0-9] | [1-9] [0-9]{0,15})
number ::= integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,3})?
boolean ::= "true" | "false"
null ::= "null"
array ::= "[" ws (value (ws "," ws value)*)? ws "]"
object ::= "{" ws (string ":" ws value (ws "," ws string ":" ws value)*)? ws "}"
value ::= object | array | string | number | boolean | null
"""


class Grammar:
    """Rules as they are collected; `text()` is the whole grammar with `root` as one of the steps added."""

    def __init__(self) -> None:
        self._rules: list[str] = []
        self._steps: list[str] = []

    @property
    def empty(self) -> bool:
        return not self._steps

    def step(self, tool: str, arguments: Sequence[tuple[str, str, bool]]) -> None:
        """A step with these arguments in order: (name, its rule, required)."""
        start = literal('{"tool": ' + _dumped(tool) + ', "args": {')
        self._steps.append(f"{start} {_arguments(arguments)} {_END}")

    def edit(self, path: str, text: str | None) -> None:
        """An edit of this one file; of its whole lines, where its text is known."""
        old = self._lines(text) if text else "name"
        start = literal('{"tool": "edit", "args": {"path": ' + _dumped(path) + ', "old_string": ')
        self._steps.append(f"{start} {old} {_NEW} string {_END}")

    def choice(self, values: Iterable[str]) -> str:
        """A rule for one of these strings."""
        return self._rule(" | ".join(literal(_dumped(v)) for v in values))

    def form(self, pieces: Sequence[str]) -> str:
        """A rule for a text of these pieces with a line of one's own between them, and after the last what one will."""
        fixed = [literal(_dumped(piece)[1:-1]) for piece in pieces]
        return self._rule(f'"\\"" {" line ".join(fixed)} char* "\\""')

    def schema(self, schema: Mapping[str, Any]) -> str:
        """A rule for the parts of JSON schema that tools use; whatever else there is becomes any value."""
        values = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
        if values:
            return self._rule(" | ".join(literal(_dumped(v)) for v in values))
        kind = schema.get("type")
        if kind == "array":
            item = self.schema(schema.get("items", {}))
            return self._rule(f'"[" ws ({item} (ws "," ws {item})*)? ws "]"')
        if kind == "object" and schema.get("properties"):
            needed = schema.get("required", ())
            parts = [(n, self.schema(s), n in needed) for n, s in schema["properties"].items()]
            return self._rule(f'"{{" {_arguments(parts)} "}}"')
        if isinstance(kind, str) and kind in ("string", "integer", "number", "boolean", "null", "object"):
            return kind
        return "value"

    def text(self) -> str:
        return "\n".join([f"root ::= {' | '.join(self._steps)}", *self._rules]) + BASE

    def _rule(self, body: str) -> str:
        name = f"r{len(self._rules)}"
        self._rules.append(f"{name} ::= {body}")
        return name

    def _lines(self, text: str) -> str:
        """One line of the text, or several that follow each other; a line that stands twice only with the next."""
        lines = text.splitlines()
        times = Counter(lines)
        following = ""
        starts: list[str] = []
        for line in reversed(lines):
            here = literal(_dumped(line)[1:-1])
            more = f'("\\\\n" {following})' if following else ""
            rule = self._rule(f"{here} {more}?" if more else here if line else '""')
            if line.strip() and times[line] == 1:
                starts.append(rule)
            elif line.strip() and more:
                starts.append(self._rule(f"{here} {more}"))
            following = rule
        if not starts:
            return "name"
        return self._rule(f'"\\"" ({" | ".join(reversed(starts))}) "\\""')


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def literal(text: str) -> str:
    """The text as a literal of the grammar."""
    out = ['"']
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char == "\n":
            out.append("\\n")
        elif char < " " or char == "\x7f":
            out.append(f"\\x{ord(char):02X}")
        else:
            out.append(char)
    return "".join([*out, '"'])


def _arguments(arguments: Sequence[tuple[str, str, bool]]) -> str:
    """The members of an object, in order; those not required may be left out."""
    needed = [f"{literal(_dumped(n) + ': ')} {rule}" for n, rule, required in arguments if required]
    others = [f"{literal(_dumped(n) + ': ')} {rule}" for n, rule, required in arguments if not required]
    if needed:
        return f" {_COMMA} ".join(needed) + "".join(f" ({_COMMA} {other})?" for other in others)
    body = ""
    for other in reversed(others):
        body = f"{other} ({_COMMA} ({body}))? | {body}" if body else other
    return f"({body})?" if body else '""'


_END = literal("}}")
_NEW = literal(', "new_string": ')
_COMMA = literal(", ")
