"""ToolRegistry: the builtin folder, user folders and entry points made answerable; select by name, glob or kind:read."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from aicli.content.kinds import ToolKind
from aicli.errors import UsageError
from aicli.plugins import plugins
from aicli.tools.base import Tool


class ToolRegistry:
    """Tools by name and alias; a later one of the same name is refused, so that nothing shadows a builtin.

    `problems` names each file or entry point that could not be loaded, and why.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._aliases: dict[str, str] = {}
        self.problems: list[str] = []
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> None:
        if tool.name in self._tools:
            self.problems.append(f"tool {tool.name}: a tool of that name is already there")
            return
        self._tools[tool.name] = tool
        for alias in tool.aliases:
            self._aliases.setdefault(alias, tool.name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name a call may use, aliases included."""
        return (*self._tools, *self._aliases)

    @property
    def canonical(self) -> dict[str, str]:
        """Every name a call may use, with the name of its tool."""
        return {**self._aliases, **{name: name for name in self._tools}}

    def get(self, name: str) -> Tool | None:
        """By name, then by alias."""
        return self._tools.get(name) or self._tools.get(self._aliases.get(name, ""))

    def select(self, patterns: Sequence[str], *, without: Sequence[str] = ()) -> list[Tool]:
        """Tools that match any pattern: a name, an alias, a glob, kind:NAME. Raises UsageError for a name that matches none.

        A tool whose kind depends on the call is taken by its name or a glob, or by kind:mixed.
        """
        chosen: dict[str, Tool] = {}
        for pattern in patterns:
            found = [t for t in self if self._matches(t, pattern)]
            if not found and pattern not in ("none", "") and not pattern.startswith("kind:"):
                raise UsageError(f"no tool matches {pattern!r}", hint=self._hint(pattern))
            chosen.update({t.name: t for t in found})
        for pattern in without:
            for t in [t for t in chosen.values() if self._matches(t, pattern)]:
                del chosen[t.name]
        return [t for t in self if t.name in chosen]

    def _matches(self, tool: Tool, pattern: str) -> bool:
        if pattern.startswith("kind:"):
            kind = tool.kind.value if isinstance(tool.kind, ToolKind) else "mixed"
            return kind == pattern[5:]
        return (
            fnmatchcase(tool.name, pattern) or pattern in tool.aliases or pattern.lower() in (tool.name, *tool.aliases)
        )

    def _hint(self, name: str) -> str:
        near = difflib.get_close_matches(name.lower(), self.canonical, 1)
        return f"Did you mean {self.canonical[near[0]]}?" if near else "Tools: " + ", ".join(self._tools)

    def load_builtin(self) -> None:
        import aicli.tools.builtin as package

        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            self._take(importlib.import_module(f"aicli.tools.builtin.{module}"))

    def load_folder(self, folder: Path) -> None:
        """Every *.py of a trusted folder. A file that fails is named in `problems` and skipped."""
        for file in sorted(folder.glob("*.py")) if folder.is_dir() else ():
            try:
                spec = importlib.util.spec_from_file_location(f"aicli_user_tools.{file.stem}", file)
                if spec is None or spec.loader is None:
                    continue
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                self._take(module)
            except Exception as e:
                self.problems.append(f"{file}: {type(e).__name__}: {e}")

    def load_entry_points(self) -> None:
        for point in plugins("aicli.tools"):
            try:
                loaded = point.load()
                if isinstance(loaded, Tool):
                    self.add(loaded)
                else:
                    self._take(loaded)
            except Exception as e:
                self.problems.append(f"entry point {point.name}: {type(e).__name__}: {e}")

    def _take(self, module: object) -> None:
        for value in vars(module).values():
            if isinstance(value, Tool) and value.name not in self._tools:
                self.add(value)
