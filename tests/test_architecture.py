"""The walls: layers, cycles, sizes, and what may stand where."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "aicli"
FILES = sorted(PACKAGE.rglob("*.py"))

LEVELS = [
    {"late"},
    {"errors", "paths", "clean", "plugins"},
    {"content"},
    {"models", "workspace", "settings", "settings_file", "settings_load", "settings_text"},
    {"safety"},
    {"tools"},
    {"agents"},
    {"sessions", "ui"},
    {"session", "assembly", "runtime"},
    {"commands", "testing", "evaluate"},
    {"cli"},
    {"__main__", "__init__"},
]
LEVEL = {name: n for n, names in enumerate(LEVELS) for name in names}
TOGETHER = [{"settings", "settings_file", "settings_load", "settings_text"}, {"session", "assembly", "runtime"}]
UI_MAY = {"errors", "paths", "clean", "late", "content", "ui", "tools.host", "workspace.ignore"}


def name_of(file: Path) -> str:
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def imports(file: Path) -> set[str]:
    """Modules of ours that a file imports, at the top or inside functions, for types or for real."""
    found: set[str] = set()
    known = {name_of(f) for f in FILES}
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "aicli":
            assert node.level == 0, f"{file}: relative import"
            base = node.module.removeprefix("aicli").lstrip(".")
            for alias in node.names:
                full = f"{base}.{alias.name}".strip(".")
                found.add(full if full in known else base or "__init__")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "aicli":
                    found.add(alias.name.removeprefix("aicli").lstrip(".") or "__init__")
    return found - {name_of(file)}


def room(module: str) -> str:
    return module.split(".")[0]


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_module_imports_only_from_below_and_its_own_room(file: Path) -> None:
    me = room(name_of(file))
    if me == "__init__":
        return
    for other in imports(file):
        there = room(other)
        if there in (me, "__init__"):
            continue
        assert LEVEL[there] <= LEVEL[me], f"{name_of(file)} imports upward: {other}"
        if LEVEL[there] == LEVEL[me]:
            assert any({there, me} <= group for group in TOGETHER), f"{name_of(file)} imports a sibling: {other}"
        if me == "ui":
            assert there in UI_MAY or other in UI_MAY, f"the face knows values and Host, not {other}"


def test_no_import_goes_round() -> None:
    graph = {name_of(f): imports(f) for f in FILES if name_of(f) != "__init__"}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail[trail.index(module) :], module))
        if module in done or module not in graph:
            return
        for other in graph[module]:
            visit(other, (*trail, module))
        done.add(module)

    for module in graph:
        visit(module, ())


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_files_and_functions_stay_small(file: Path) -> None:
    assert len(file.read_text("utf-8").splitlines()) < 400, f"{file.name} has 400 lines or more"
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= 60, f"{name_of(file)}.{node.name} has {length} lines"


MAY_CATCH_ALL = {"tools.executor", "agents.agent", "cli", "tools.registry", "agents.registry", "models.registry"}


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_what_stands_only_in_its_place(file: Path) -> None:
    name = name_of(file)
    assert ast.get_docstring(tree(file)), f"{name} does not say its purpose"
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            assert room(name) in ("ui", "commands"), f"print in {name}"
        if isinstance(node, ast.ExceptHandler) and name not in MAY_CATCH_ALL:
            kind = node.type
            caught = {n.id for n in ast.walk(kind) if isinstance(n, ast.Name)} if kind else {"everything"}
            assert not caught & {"Exception", "everything"}, f"{name} line {node.lineno} catches everything"


def test_the_tests_import_nothing_in_a_circle() -> None:
    files = {
        f"tests.{'.'.join(f.relative_to(ROOT / 'tests').with_suffix('').parts)}": f
        for f in (ROOT / "tests").rglob("*.py")
    }
    graph: dict[str, set[str]] = {}
    for module, file in files.items():
        nodes = [n for n in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(n, ast.ImportFrom) and n.module]
        graph[module] = {n.module for n in nodes if n.module and n.module.startswith("tests.")} & set(files)
    for start in graph:
        seen, todo = set(), list(graph[start])
        while todo:
            module = todo.pop()
            assert module != start, f"{start} imports itself by way of others"
            if module not in seen:
                seen.add(module)
                todo += graph[module]
