"""The simple commands in a shell text, wrappers looked through: for showing, and for rules. Never the gate by itself."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from aicli.late import dataclass, regex
from aicli.safety.wrappers import WRAPPERS, Word, inner, name_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MOST_TEXT = 100_000
_DEPTH = 8
_CONTINUATION = regex(r"(?<!\\)((?:\\\\)*)\\\r?\n")
_ODD = regex(r"[\x00-\x08\x0b-\x1f\x7f-\xa0\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]")
_ESCAPED = regex(r"\\([\s\S])")
_LOOPED = regex(r"(?:for|select)\s+(?!\w*_proxy\b)[a-z_][a-z0-9_]*\b[\s\S]*")
_LIVE = regex(r"(?<!\\)[*?\[\]{}~]")


SETTING = frozenset(
    {
        *("export", "declare", "typeset", "readonly", "local", "set", "shopt", "read", "mapfile", "readarray"),
        *("getopts", "let", "unset", "source", ".", "eval"),
    }
)
"""Builtins that change what later words of the line mean or run."""

_BLOCKS = frozenset(
    {"program", "list", "pipeline", "subshell", "do_group", "if_statement", "else_clause", "elif_clause"}
)
_STATEMENTS = _BLOCKS | {
    *("compound_statement", "while_statement", "for_statement", "case_statement", "negated_command", "comment"),
    *("redirected_statement", "command", "declaration_command", "unset_command", "test_command"),
    *("variable_assignment", "variable_assignments", "function_definition", "heredoc_body", "heredoc_end"),
    *("ERROR", "word", "variable_name", "string", "raw_string"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command. A word is None where its value is only known when it runs; (None,) is text not understood.

    `plain`: literal words and nothing else (no redirect into a file, no assignment in front), so an allow rule may fit.
    `wrapper`: it only runs another part, which is judged in its place. A redirect is a part of its own: (">", target).
    """

    argv: tuple[Word, ...]
    text: str
    plain: bool = True
    wrapper: bool = False

    @property
    def sets(self) -> bool:
        """Does it give variables or options to what runs after it, or inside it? A rule that ends in * never means that."""
        first, rest = self.argv[0], self.argv[1:]
        if first in SETTING and first not in ("source", ".", "eval"):
            return bool(rest)
        if first == "printf":
            return any(w is None or w.startswith("-v") for w in rest[:1])
        wrapper = WRAPPERS.get(name_of(first))
        return bool(wrapper and wrapper.assigns and any(w is None or "=" in w for w in rest))


def parts(command: str) -> tuple[Part, ...]:
    """Every simple command the text would run, also inside substitutions, functions, sh -c, find -exec and the like."""
    found = _Collector()
    found.read(command, 0)
    return tuple(dict.fromkeys(found.parts))


@functools.cache
def _parser() -> Parser:
    import tree_sitter  # 40 ms, needed only when a command is not plainly read-only
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _Collector:
    def __init__(self) -> None:
        self.parts: list[Part] = []

    def unknown(self, text: str) -> None:
        self.parts.append(Part((None,), text, plain=False))

    def read(self, text: str, depth: int) -> None:
        if depth > _DEPTH or len(text) > MOST_TEXT or (not text.isascii() and _ODD.search(text)):
            self.unknown(text)
            return
        try:
            text.encode()
        except UnicodeEncodeError:
            self.unknown(text)
            return
        if _ODD.search(text):
            self.unknown(text)
        joined = _CONTINUATION.sub(r"\1", text)
        for one in dict.fromkeys((joined, text)):
            root = _parser().parse(one.encode()).root_node
            if root.has_error:
                self.unknown(one)
            self.walk(root, depth)

    def walk(self, root: Node, depth: int) -> None:
        pending: list[tuple[Node, bool]] = [(root, True)]
        while pending:
            node, plain = pending.pop()
            if node.type == "redirected_statement":
                plain = plain and all(r.type == "file_redirect" for r in node.children_by_field_name("redirect"))
            if node.type in ("command", "declaration_command", "unset_command", "test_command"):
                self.command(node, plain, depth)
            elif node.type == "variable_assignment" and node.parent and node.parent.type != "command":
                self.parts.append(Part((None,) if _loader(node) else ("=",), _source(node), plain=False))
            elif node.type == "file_redirect" and not _harmless(node):
                target = node.child_by_field_name("destination")
                self.parts.append(Part((">", _word(target) if target else None), _source(node), plain=False))
            elif node.type == "compound_statement" and _source(node).startswith("(("):
                self.unknown(_source(node))  # arithmetic, which can hold commands in its subscripts
            elif node.type == "for_statement" and not _LOOPED.fullmatch(_source(node)):
                self.unknown(_source(node))  # its variable may be one that programs look at, as PATH
            elif node.type == "function_definition":
                self.parts.append(Part(("function",), _source(node), plain=False))
            elif node.is_named and node.parent and node.parent.type in _BLOCKS and node.type not in _STATEMENTS:
                self.unknown(_source(node))
            pending += [(child, plain) for child in reversed(node.named_children)]

    def command(self, node: Node, plain: bool, depth: int) -> None:
        argv: list[Word] = []
        for child in node.children:
            match child.type:
                case "variable_assignment":
                    plain = False
                    if node.type == "declaration_command":
                        argv.append(_source(child))
                case "file_redirect":
                    continue
                case "heredoc_redirect" | "herestring_redirect":
                    plain = False
                case _:
                    word = _word(child)
                    argv.append(word)
                    plain = plain and word is not None
        if argv:
            self.add(tuple(argv), _source(node), plain, depth)

    def add(self, argv: tuple[Word, ...], text: str, plain: bool, depth: int) -> None:
        if argv[0] is None or depth > _DEPTH:
            self.parts.append(Part((None, *argv[1:]), text, plain=False))
            return
        looked = inner(argv)
        self.parts.append(Part(argv, text, plain, wrapper=looked.clear))
        if looked.opaque:
            self.unknown(text)
        for other in looked.argvs:
            self.add(other, text, plain, depth + 1)
        for inside in looked.texts:
            self.read(inside, depth + 1)


def _source(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _loader(node: Node) -> bool:
    return bool(re.match(r"(?:PATH|LD_\w+|BASH_ENV|ENV|IFS|PROMPT_COMMAND|GIT_\w+)\+?=", _source(node)))


def _harmless(redirect: Node) -> bool:
    """Writes into no file: to /dev/null, or from one descriptor to another."""
    return re.fullmatch(r"(?:[0-9]?|&)>>?\s*(?:/dev/null|&[0-9])", _source(redirect)) is not None


def _word(node: Node) -> Word:
    """What the word will be, None if that depends on the running shell."""
    text = _source(node)
    if text == "{}":
        return text  # what find and xargs fill in
    match node.type:
        case "command_name":
            return _word(node.named_children[0]) if node.named_children else text
        case "word" | "number" | "variable_name":
            return None if _LIVE.search(text) else _ESCAPED.sub(r"\1", text)
        case "raw_string":
            return text[1:-1]
        case "string":
            if any(child.type != "string_content" for child in node.named_children):
                return None
            return re.sub(r'\\([$`"\\\n])', r"\1", text[1:-1])
        case "concatenation":
            pieces = [_word(child) for child in node.children]
            return None if any(p is None for p in pieces) else "".join(p for p in pieces if p is not None)
    return text if not node.is_named else None
