"""What the models command does: the table of providers and roles, the pull with its progress, the probe."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from aicli import paths, runtime
from aicli.commands._listing import dumped
from aicli.commands._trying import Trying
from aicli.errors import AicliError, ConfigError, UsageError
from aicli.late import dataclass
from aicli.models import registry
from aicli.models.embedded import cache
from aicli.models.embedded.pull import pull
from aicli.models.orchestrator import MultiModelOrchestrator
from aicli.models.probe import Probed, ProbedEmbedder, probe, probe_embedder
from aicli.models.providers.embedded import EmbeddedModel, absent
from aicli.runtime import RunOptions
from aicli.safety.secrets import Keys
from aicli.settings import Settings
from aicli.ui.cells import pad_right
from aicli.ui.console import Console, is_terminal
from aicli.ui.translate import said

REACH = 2.0
"""Seconds that a server gets to list its models here."""


def show_models(as_json: bool) -> int:
    """Prints the table; a provider that can't be reached is a row, never an error."""
    settings = _settings()
    report = asyncio.run(_report(settings))
    console = Console()
    if as_json:
        console.out_exact(dumped(report))
        return 0
    lines = [said("Roles")]
    for row in report["roles"]:
        lines.append(f"  {pad_right(row['role'], 10)} {pad_right(row['model'] or '-', 34)} {said(row['why'])}")
    lines += ["", said("Providers")]
    for row in report["providers"]:
        mark = said({True: "yes", False: "no", None: "?"}[row["reachable"]])
        lines.append(f"  {pad_right(row['provider'], 12)} {pad_right(mark, 4)} {said(row['why'])}")
        names = row["models"]
        if names:
            more = f", and {len(names) - 12} more" if len(names) > 12 else ""
            lines.append(f"  {pad_right('', 17)} {said(', '.join(names[:12]) + more)}")
    lines += [said(f"note  {note}") for note in report["notes"]]
    console.out_text("\n".join(lines))
    return 0


def _settings() -> Settings:
    return runtime.load({}, RunOptions(cwd=Path.cwd())).settings


def _orchestrator(settings: Settings) -> MultiModelOrchestrator:
    keys = Keys(os.environ, user_urls=[settings.base_url] if settings.base_url else [], general=False)
    return MultiModelOrchestrator(settings, keys.value, cache_dir=paths.cache_folder())


async def _report(settings: Settings) -> dict[str, Any]:
    orchestrator = _orchestrator(settings)
    try:
        roles = [{"role": f.role, "model": f.model, "why": f.why} for f in await orchestrator.report()]
        found = registry.providers()
        rows = await asyncio.gather(*(_provider_row(orchestrator, p) for p in found.values()))
        rows = [row for row in rows if row is not None]
        return {"roles": roles, "providers": rows, "notes": list(orchestrator.notes)}
    finally:
        await orchestrator.close()


async def _provider_row(orchestrator: MultiModelOrchestrator, provider: Any) -> dict[str, Any]:
    """A provider without a key is not asked anything."""
    row: dict[str, Any] = {"provider": provider.name, "reachable": None, "why": "", "models": []}
    try:
        link = orchestrator.link(provider)
        row["base_url"] = link.base_url
        if provider.name == "embedded":
            why = absent(paths.cache_folder())
            return {**row, "reachable": not why, "why": why or "on this machine", "models": _own() if not why else []}
        async with asyncio.timeout(REACH):
            there = await orchestrator.available(provider)
        return {**row, "reachable": True, "why": f"answers at {link.base_url}", "models": [m.name for m in there]}
    except TimeoutError:
        return {**row, "reachable": False, "why": f"no answer within {REACH:g} s"}
    except AicliError as e:
        return {**row, "reachable": False, "why": str(e)}


def _own() -> list[str]:
    return [EmbeddedModel(paths.cache_folder()).info.name]


@dataclass
class Progress:
    """Bytes as one line that redraws itself on a terminal, or as a line every tenth off one."""

    console: Console
    live: bool
    _shown: float = 0.0
    _tenth: int = 0
    _open: bool = False
    _begin: float = field(default_factory=time.monotonic)

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        text = said(f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB")
        if self.live and self.console.stderr is not None:
            if now - self._shown > 0.2 or done == total:
                self._shown, self._open = now, True
                self.console.stderr.write(f"\r{text} ({done * 100 // total} %) ")
                self.console.stderr.flush()
        elif done * 10 // total > self._tenth:
            self._tenth = done * 10 // total
            self.console.err(text)

    def line(self, text: str) -> None:
        self.end()
        self.console.err(said(text))

    def end(self) -> None:
        """Leaves the line that redraws itself."""
        if self._open and self.console.stderr is not None:
            self.console.stderr.write("\n")
            self._open = False


def pull_model(name: str, file: Path | None, allow_carriers: bool) -> int:
    """Fetches, checks and warms up the embedded model. Raises UsageError, ConfigError or ConnectFailed."""
    if name != "embedded":
        raise UsageError(f"only the embedded model can be pulled, not {name!r}", hint="Models of Ollama: ollama pull.")
    settings = _settings()
    console = Console()
    progress = Progress(console, is_terminal(sys.stderr))
    fetch(settings, progress, file, allow_carriers)
    asyncio.run(_warm(progress))
    return 0


def fetch(settings: Settings, progress: Progress, file: Path | None = None, allow_carriers: bool = False) -> Path:
    """The file in the cache folder, fetched if need be. Blocks."""
    try:
        return pull(
            cache.models_folder(paths.cache_folder()),
            file,
            say=progress.line,
            progress=progress,
            allow_carriers=allow_carriers or settings.models.allow_carriers,
            offline=settings.offline,
        )
    finally:
        progress.end()


async def _warm(progress: Progress) -> None:
    model = EmbeddedModel(paths.cache_folder())
    begin = time.monotonic()
    progress.line("Trying it: the first time it reads its examples, which takes a minute or two")
    try:
        there = await model.warm()
    except ConfigError as e:
        progress.line(f"warn  not tried out: {e.line}")
        return
    made = "its examples were read before" if there else "its examples are read and saved"
    progress.line(f"{model.info.id} works here: {made} ({time.monotonic() - begin:.0f} s)")


def probe_model(model: str, role: str, as_json: bool) -> int:
    """Prints what a few short requests show. Raises what resolving raises."""
    if role not in ("", "fast", "thinking", "embedding"):
        raise UsageError(f"--role {role!r}: it is fast, thinking or embedding")
    found = asyncio.run(_probe(model, role))
    console = Console()
    console.out_exact(dumped(asdict(found))) if as_json else console.tell(str(found))
    return 0


async def _probe(model: str, role: str) -> Probed | ProbedEmbedder:
    orchestrator = _orchestrator(_settings())
    try:
        async with Trying(Console(), live=is_terminal(sys.stderr)) as trying:
            if role == "embedding":
                embedder = await orchestrator.embedder(model)
                trying("trying three sentences")
                return await probe_embedder(embedder)
            return await probe(await orchestrator.resolve(model or role or "fast"), say=trying)
    finally:
        await orchestrator.close()
