"""What the program's code says to people: the sentences in the places where such are made, with slots for their values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import aicli

ROOT = Path(aicli.__file__).parent
FOR_PEOPLE = re.compile(r"(commands|ui)/|safety/(policy|proof|rules|sandbox|saved|trust)|settings_\w+\.py|cli\.py")
"""Modules in which every sentence is for a person."""
SPEAKS = ("Warned", "Verdict", "Check", "RetryScheduled", "ModelChanged", "Link", "absent")
_SENTENCE = re.compile(r"[A-Za-z'}\d][,:;)]* +[('\"]*[A-Za-z{]")
_BASES = ("Exception", "ValueError", "RuntimeError", "OSError")


def template(node: ast.AST) -> str | None:
    """The string with `{0}`, `{1}`, … for its values; None for what is no string."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    parts, slots = "", 0
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts += str(value.value)
        else:
            parts += f"{{{slots}}}"
            slots += 1
    return parts


def reads_like_a_sentence(text: str) -> bool:
    return bool(_SENTENCE.search(text) and re.search("[a-z]{2}", text))


@cache
def modules() -> dict[str, list[ast.AST]]:
    """The nodes of every module, each before those below it, by the module's path in the package."""
    files = sorted(ROOT.rglob("*.py"))
    return {f.relative_to(ROOT).as_posix(): list(ast.walk(ast.parse(f.read_text("utf-8")))) for f in files}


def docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def strings(nodes: Iterable[ast.AST], skipped: Iterable[int] = ()) -> Iterator[str]:
    """The template of every string among the nodes, those inside of others included."""
    inner = set(skipped)
    for one in nodes:
        if isinstance(one, ast.JoinedStr):
            inner.update(id(value) for value in one.values if isinstance(value, ast.Constant))
        said = template(one)
        if said is not None and id(one) not in inner:
            yield said


@cache
def errors() -> frozenset[str]:
    """The names of all classes of exceptions."""
    classes = [n for nodes in modules().values() for n in nodes if isinstance(n, ast.ClassDef)]
    found: set[str] = set(_BASES)
    while True:
        more = found | {c.name for c in classes if any(_name(base) in found for base in c.bases)}
        if more == found:
            return frozenset(found)
        found = more


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _spoken(nodes: list[ast.AST]) -> Iterator[str]:
    """Sentences given to an error or an event for people; a name stands for what the module assigns to it or returns."""
    given: dict[str, list[ast.AST]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    given.setdefault(target.id, []).append(node.value)
        elif isinstance(node, ast.FunctionDef):
            returned = [r.value for r in ast.walk(node) if isinstance(r, ast.Return) and r.value]
            given.setdefault(node.name, []).extend(returned)
    speaks = errors() | set(SPEAKS)
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        if _name(node.func) in speaks:
            parts: list[ast.AST] = [*node.args, *(k.value for k in node.keywords if k.arg != "raw")]
        else:
            parts = [k.value for k in node.keywords if k.arg in ("summary", "hint", "why")]
        for part in parts:
            below = list(ast.walk(part))
            yield from strings(below)
            for name in below:
                called = _name(name) if isinstance(name, ast.Name | ast.Attribute) else ""
                for value in given.get(called, ()) if called not in speaks else ():
                    yield from strings(ast.walk(value))


def summaries() -> set[str]:
    """What tools say of a call at the right of its line, lone words included."""
    found = set()
    for name, nodes in modules().items():
        for node in nodes if name.startswith(("tools/", "agents/delegate")) else ():
            assigned = isinstance(node, ast.Assign) and _name(node.targets[0]) == "summary"
            if assigned or (isinstance(node, ast.keyword) and node.arg == "summary"):
                found |= set(strings(ast.walk(node)))
    return {text for text in found if sum(map(str.isalpha, re.sub(r"\{\d+\}", "", text))) > 2}


def sayings() -> dict[str, set[str]]:
    """Module -> the sentences in it that reach a person."""
    found = {}
    for name, nodes in modules().items():
        if FOR_PEOPLE.match(name):
            said = strings(nodes, map(id, docstrings(nodes)))
        else:
            said = _spoken(nodes)
        found[name] = {text for text in said if reads_like_a_sentence(text)}
    return found
