"""AgentRegistry: builtin, user and (trusted) project folders of agent files made answerable; the nearest folder wins."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

from aicli.agents.spec import AgentSpec, parse_spec
from aicli.errors import ConfigError, UsageError

BUILTIN = Path(__file__).parent / "builtin"


class AgentRegistry:
    """Specs by name. `problems` names each file that could not be read, and why."""

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._specs: dict[str, AgentSpec] = {}
        self.problems: list[str] = []
        self._broken: dict[str, ConfigError] = {}
        for entry in sorted(BUILTIN.glob("*.md")):
            self._add(parse_spec(entry.stem, entry.read_text("utf-8"), "built in"))
        for folder in folders:
            self._load(folder)

    def _load(self, folder: Path) -> None:
        for file in sorted(folder.glob("*.md")) if folder.is_dir() else ():
            try:
                self._add(parse_spec(file.stem, file.read_text("utf-8-sig"), str(file)))
            except ConfigError as e:
                self._skip(file, e)
            except (OSError, UnicodeDecodeError) as e:
                self._skip(file, ConfigError(f"{file}: {e}"))

    def _skip(self, file: Path, error: ConfigError) -> None:
        self._broken[file.stem.casefold()] = error
        self.problems.append(error.line)

    def _add(self, spec: AgentSpec) -> None:
        self._specs[spec.name] = spec
        self._broken.pop(spec.name.casefold(), None)

    def __iter__(self) -> Iterator[AgentSpec]:
        return iter(self._specs.values())

    def get(self, name: str) -> AgentSpec:
        """By name, display name or alias, in any case.

        Raises UsageError with the nearest name, ConfigError where the file of that name could not be read.
        """
        wanted = name.strip().casefold()
        if wanted in self._broken:
            raise self._broken[wanted]
        for spec in self:
            names = (spec.name, spec.display_name, *spec.aliases)
            if wanted and wanted in {n.casefold() for n in names}:
                return spec
        near = difflib.get_close_matches(wanted, list(self._specs), 1)
        hint = f"Did you mean {near[0]}?" if near else "Agents: " + ", ".join(self._specs)
        raise UsageError(f"there is no agent named {name!r}", hint=hint)
