"""A forgiving scanner for Python calls with literal keyword arguments."""

from __future__ import annotations

import ast
import re
from typing import Any

from aicli.content.parts import JsonObject
from aicli.models.dialects.typed import plain

Found = list[tuple[str, JsonObject]]
_NAME = re.compile(r"[^\W\d][\w.\-]*")
_SPACE = re.compile(r"[\s]*")
_SEPARATOR = re.compile(r"[\s,;]*")
_KEY = re.compile(r"([^\W\d]\w*)\s*=(?!=)\s*|[\"']([^\W\d]\w*)[\"']\s*[:=]\s*")
_NUMBER = re.compile(r"[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"(?:true|True|false|False|null|None)\b")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_STEPS = 20_000


def calls(text: str) -> tuple[Found, str]:
    """The calls that a text begins with, bare or in a list, and what follows. Raises ValueError when it begins with none."""
    try:
        return _strict(text), ""
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        pass
    return _Scanner(text).calls()


def _strict(text: str) -> Found:
    source = text.strip()
    tree = ast.parse(source if source.startswith("[") else f"[{source}]" if "\n" not in source else source)
    nodes: list[ast.expr] = []
    for statement in tree.body:
        if not isinstance(statement, ast.Expr):
            raise ValueError("no call")
        value = statement.value
        nodes += value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    found: Found = []
    computed = False  # a call whose value has to be worked out is passed over: read by hand it would be a wrong value
    for node in nodes:
        if not isinstance(node, ast.Call) or node.args or any(k.arg is None for k in node.keywords):
            raise ValueError("no call with keywords only")
        values = {str(k.arg): _Literal().visit(k.value) for k in node.keywords}
        if any(isinstance(v, _COMPUTED) for v in values.values()):
            computed = True
            continue
        arguments = {k: plain(ast.literal_eval(v)) for k, v in values.items()}
        found.append((ast.unparse(node.func), arguments))
    if not found and not computed:
        raise ValueError("no call")
    return found


_COMPUTED = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Attribute, ast.Subscript)


class _Literal(ast.NodeTransformer):
    """The words of JSON, and texts joined by +, as the constants they mean."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_WORDS[node.id]) if node.id in _WORDS else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.BinOp(ast.Constant(str(left)), ast.Add(), ast.Constant(str(right))):
                return ast.Constant(left + right)
        return node


class _Wrong(ValueError):
    """This reading does not go on; another end of the last string may."""


class _Scanner:
    """Reads by hand what Python would refuse: unescaped quotes, raw newlines, leading zeros, keywords as names."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self.steps = 0
        self.ends: dict[int, int] = {}  # where a string that begins here is taken to end

    def calls(self) -> tuple[Found, str]:
        """Tries again with a later end of the last doubtful string until the whole reads."""
        best: tuple[Found, str] | None = None
        while self.steps < _STEPS:
            self.order: list[int] = []
            try:
                found, at = self._list()
                rest = self.text[at:]
                if not rest.strip():
                    return found, ""
                best = best or (found, rest)
            except _Wrong:
                pass
            if not self._next_reading():
                break
        if best and best[0]:
            return best
        raise ValueError("the call is no readable Python")

    def _next_reading(self) -> bool:
        """Moves the end of the last string that has a later one. False: there is none."""
        for start in reversed(self.order):
            quote = self.text[start]
            later = self.text.find(quote, self.ends[start] + 1)
            while later >= 0 and not self._may_end(later):
                later = self.text.find(quote, later + 1)
            if later >= 0:
                self.ends = {k: v for k, v in self.ends.items() if k < start}
                self.ends[start] = later
                return True
        return False

    def _may_end(self, at: int) -> bool:
        after = self.text[at + 1 :].lstrip()[:1]
        return (after == "" or after in ",)]}:") and not self._escaped(at)

    def _escaped(self, at: int) -> bool:
        count = 0
        while at - count - 1 >= 0 and self.text[at - count - 1] == "\\":
            count += 1
        return count % 2 == 1

    def _skip(self, at: int, pattern: re.Pattern[str] = _SPACE) -> int:
        match = pattern.match(self.text, at)
        return match.end() if match else at

    def _list(self) -> tuple[Found, int]:
        at = self._skip(0)
        bracket = self.text[at : at + 1] == "["
        at += bracket
        found: Found = []
        while True:
            at = self._skip(at, _SEPARATOR)
            if bracket and self.text[at : at + 1] == "]":
                return found, at + 1
            name = _NAME.match(self.text, at)
            if name is None or self.text[self._skip(name.end()) : self._skip(name.end()) + 1] != "(":
                if bracket and at < len(self.text):
                    raise _Wrong("no call")
                return found, at
            start = self._skip(name.end()) + 1
            try:
                arguments, at = self._arguments(start)
                found.append((name.group(), arguments))
            except _Unliteral as skip:
                at = skip.at

    def _arguments(self, at: int) -> tuple[JsonObject, int]:
        arguments: JsonObject = {}
        while True:
            at = self._skip(at)
            if self.text[at : at + 1] == ")":
                return arguments, at + 1
            key = _KEY.match(self.text, at)
            if key is None:
                raise _Wrong("no keyword")
            value, at = self._value(key.end())
            arguments[key.group(1) or key.group(2)] = value
            at = self._skip(at)
            if self.text[at : at + 1] == ",":
                at += 1
            elif self.text[at : at + 1] != ")":
                raise _Wrong("no comma")

    def _value(self, at: int, depth: int = 0) -> tuple[Any, int]:
        self.steps += 1
        if self.steps > _STEPS or depth > 60:
            raise _Wrong("too deep")
        at = self._skip(at)
        char = self.text[at : at + 1]
        if char and char in "\"'":
            return self._string(at)
        if char and char in "[({":
            return self._container(at, depth)
        if word := _WORD.match(self.text, at):
            return _WORDS[word.group()], word.end()
        if number := _NUMBER.match(self.text, at):
            digits = number.group().replace("_", "")
            return (int(digits) if re.fullmatch(r"[+-]?\d{1,300}", digits) else float(digits)), number.end()
        if char in ("b", "f", "r", "u") and self.text[at + 1 : at + 2] in ("'", '"'):
            close = self.text.find(")", at)
            if char in "bf" and close >= 0:
                raise _Unliteral(close + 1)
            return self._string(at + 1)
        raise _Wrong("no literal")

    def _string(self, at: int) -> tuple[str, int]:
        quote = self.text[at]
        if self.text.startswith(quote * 3, at):
            end = self.text.find(quote * 3, at + 3)
            if end >= 0:
                return _unescaped(self.text[at + 3 : end]), end + 3
        end = self.ends.get(at, -1)
        if end < 0:
            end = self.text.find(quote, at + 1)
            while end >= 0 and not self._may_end(end):
                end = self.text.find(quote, end + 1)
            if end < 0:
                raise _Wrong("the string never ends")
            self.ends[at] = end
        self.order.append(at)
        return _unescaped(self.text[at + 1 : end]), end + 1

    def _container(self, at: int, depth: int) -> tuple[Any, int]:
        close = {"[": "]", "(": ")", "{": "}"}[self.text[at]]
        values: list[Any] = []
        pairs: JsonObject = {}
        mapping = close == "}"
        at += 1
        while True:
            at = self._skip(at, _SEPARATOR)
            if self.text[at : at + 1] == close:
                return (pairs if mapping and (pairs or not values) else values), at + 1
            if at >= len(self.text):
                raise _Wrong("never closed")
            value, at = self._value(at, depth + 1)
            at = self._skip(at)
            if mapping and self.text[at : at + 1] == ":":
                pairs[value if isinstance(value, str) else str(value)], at = self._value(at + 1, depth + 1)
            else:
                values.append(value)


class _Unliteral(Exception):
    """One call holds what is no literal: it is passed over, its neighbours stay."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


_ESCAPE = re.compile(r"\\(?:([nrtbfv0\\'\"/\n])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))")
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


def _unescaped(text: str) -> str:
    """The text with the escapes Python knows decoded; others keep their backslash."""

    def one(match: re.Match[str]) -> str:
        if match.group(1) is not None:
            return _PLAIN.get(match.group(1), match.group(1))
        return chr(int(match.group(2) or match.group(3), 16))

    return _ESCAPE.sub(one, text)
