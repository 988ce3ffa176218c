"""Confined and Sandbox: what a sandbox makes of a command, and what every sandbox can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol

from aicli.late import dataclass

Status = Literal["full", "reduced", "none", "off"]


@dataclass(frozen=True)
class Confined:
    """A command ready to start. `pass_fds` must be inherited; call `close` once it has ended (or failed to start)."""

    argv: list[str]
    env: dict[str, str]
    pass_fds: tuple[int, ...] = ()
    close: Callable[[], None] = field(default=lambda: None)


class Sandbox(Protocol):
    """`status` is full, reduced (`missing` names what is not kept), none (nothing available) or off (switched off)."""

    @property
    def status(self) -> Status: ...

    @property
    def missing(self) -> tuple[str, ...]: ...

    @property
    def kind(self) -> str:
        """What does it: bubblewrap, landlock or ""."""
        ...

    def confine(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], writable: bool = True, network: bool = False
    ) -> Confined:
        """The command so that it can change only the workspace (nothing without `writable`) and reach no network."""
        ...


@dataclass(frozen=True)
class Unconfined:
    """Runs commands as they are: where no sandbox can be had (none), or the person switched it off (off)."""

    status: Status = "off"
    missing: tuple[str, ...] = ()
    kind: str = ""

    def confine(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], writable: bool = True, network: bool = False
    ) -> Confined:
        return Confined(list(argv), dict(env))
