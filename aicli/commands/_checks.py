"""What `doctor` looks at: one check a matter, each with what was found and what to do about it."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from aicli import paths
from aicli.errors import AicliError, ConfigError
from aicli.late import dataclass
from aicli.models.base import Model
from aicli.models.orchestrator import MultiModelOrchestrator
from aicli.models.probe import Probed, probe
from aicli.safety import sandbox, trust
from aicli.safety.proof import prove
from aicli.safety.secrets import ENV_NAMES, Keys, credentials_path
from aicli.settings import Settings
from aicli.settings_load import Loaded, load, project_file, user_file
from aicli.ui.console import is_terminal

Status = Literal["ok", "warn", "FAIL"]


@dataclass(frozen=True)
class Check:
    """`hint` says what to do."""

    name: str
    status: Status
    detail: str
    hint: str = ""


async def check_all(model: str, screen: str = "") -> AsyncIterator[Check]:
    """Every check as it is done, the model's last; those are left out where `model` is "". Takes as long as the model.

    `screen` is the size of the terminal that somebody else draws on with this output, as in 80x24.
    """
    cwd = Path.cwd()
    loaded: Loaded | None = None
    try:
        loaded = load(cwd=cwd, trusted=trust.trusted(cwd))
        for check in _config(loaded):
            yield check
    except ConfigError as e:
        yield Check("config", "FAIL", str(e), e.hint)
    settings = loaded.settings if loaded else Settings()
    keys = Keys(os.environ, user_urls=[settings.base_url] if settings.base_url else [], general=False)
    for check in (*_trust(cwd), *_keys(settings), *_proxy(), _certificates(), _terminal(screen), _state()):
        yield check
    for check in _sandbox(settings, cwd):
        yield check
    if loaded is not None and model:
        async for check in _models(settings, keys, model):
            yield check


def _config(loaded: Loaded) -> Iterator[Check]:
    files = [str(layer.file.path) for layer in loaded.layers if layer.file is not None and layer.file.values]
    changed = sum(origin != "default" for origin in loaded.origin.values())
    yield Check(
        "config", "ok", f"{changed} settings changed" + (f" by {', '.join(files)}" if files else f"; {user_file()}")
    )
    for warning in loaded.warnings:
        yield Check("config", "warn", warning)


def _trust(cwd: Path) -> Iterator[Check]:
    said = trust.notice(cwd)
    if said:
        yield Check("trust", "warn", said)
    elif project_file(cwd) is not None:
        yield Check("trust", "ok", "this folder is trusted")


def _keys(settings: Settings) -> Iterator[Check]:
    """Names only."""
    names = sorted({name for group in ENV_NAMES.values() for name in group if os.environ.get(name)})
    names += ["AICLI_API_KEY"] if os.environ.get("AICLI_API_KEY") else ["api_key"] if settings.api_key else []
    file = credentials_path()
    if file.exists():
        names.append(str(file))
        if os.name != "nt" and file.stat().st_mode & 0o077:
            yield Check("keys", "FAIL", f"others can read {file}", f"Run: chmod 600 {file}")
    yield Check("keys", "ok", ", ".join(names) or "none (local models need none)")


def _proxy() -> Iterator[Check]:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        value = os.environ.get(name) or os.environ.get(name.lower())
        if value and name != "NO_PROXY":
            parts = urlsplit(value if "://" in value else f"http://{value}")
            place = f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
            yield Check("proxy", "ok" if parts.hostname else "FAIL", f"{name} {place}")
        elif value:
            yield Check("proxy", "ok", f"{name} {value}")


def _certificates() -> Check:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        value = os.environ.get(name)
        if value and not Path(value).exists():
            return Check("certificates", "FAIL", f"{name} names {value}, which is not there", f"Mend or unset {name}.")
    found = len(ssl.create_default_context().get_ca_certs())
    folder = ssl.get_default_verify_paths().capath
    if not found and not (folder and Path(folder).is_dir() and any(Path(folder).iterdir())):
        return Check(
            "certificates", "warn", "the system has no certificates", "Install ca-certificates, or set SSL_CERT_FILE."
        )
    return Check("certificates", "ok", f"{found} of the system" if found else f"folder {folder}")


def _terminal(screen: str) -> Check:
    if not screen and not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        return Check("terminal", "ok", "none here: plain output, nobody is asked")
    size = shutil.get_terminal_size()
    screen = screen or f"{size.columns}x{size.lines}"
    encoding = (sys.stdout.encoding or "").lower()
    parts = [os.environ.get("TERM", "no TERM"), screen, encoding]
    parts += ["NO_COLOR"] if os.environ.get("NO_COLOR") else []
    if "utf" not in encoding:
        return Check("terminal", "warn", ", ".join(parts), "Set a UTF-8 locale, such as LANG=C.UTF-8.")
    return Check("terminal", "ok", ", ".join(parts))


def _state() -> Check:
    folder = paths.state_folder() / "sessions"
    try:
        paths.private_folder(folder)
    except OSError as e:
        return Check("sessions", "warn", f"{folder}: {e.strerror or e}", "Runs work, but are not kept.")
    if not os.access(folder, os.W_OK):
        return Check("sessions", "warn", f"{folder} can't be written", "Runs work, but are not kept.")
    return Check("sessions", "ok", str(folder))


def _sandbox(settings: Settings, cwd: Path) -> Iterator[Check]:
    """Which one there is, and what came of trying to escape from it; a promise that a reduced one makes not is a warning."""
    try:
        box = sandbox.detect(settings.sandbox.mode, cwd, settings.sandbox.read)
    except AicliError as e:
        yield Check("sandbox", "FAIL", str(e), e.hint)
        return
    said = sandbox.say(box)
    yield Check("sandbox", "ok" if box.status == "full" else "warn", said or f"full, by {box.kind}")
    try:
        for proof in prove(box, cwd):
            status: Status = "ok" if proof.held else "FAIL" if box.status == "full" else "warn"
            yield Check("promise", status, f"{proof.promise}: {'held' if proof.held else 'NOT held'} ({proof.tried})")
    except (OSError, subprocess.SubprocessError) as e:
        yield Check("promise", "FAIL", f"the sandbox can't be tried: {e}")


async def _models(settings: Settings, keys: Keys, model: str) -> AsyncIterator[Check]:
    orchestrator = MultiModelOrchestrator(settings, keys.value, cache_dir=paths.cache_folder())
    try:
        rows = await orchestrator.report()
        for row in rows:
            yield Check(row.role, "ok" if row.model else "warn", f"{row.model or 'nothing'}: {row.why}")
        for note in orchestrator.notes:
            yield Check("models", "warn", note)
        for check in await _probed(orchestrator, model):
            yield check
    finally:
        await orchestrator.close()


async def _probed(orchestrator: MultiModelOrchestrator, name: str) -> list[Check]:
    try:
        model: Model = await orchestrator.resolve(name)
        local = model.info.provider == "embedded"  # its window is known, and a long prompt takes it minutes
        return list(_answers(await probe(model, long=not local)))
    except AicliError as e:
        return [Check("model", "FAIL", str(e), e.hint)]


def _answers(found: Probed) -> Iterator[Check]:
    failed = "; ".join(found.problems)
    if found.problems and not found.calls and found.kept is None:
        yield Check("model", "FAIL", f"{found.model}: {failed}")
        return
    yield Check(
        "model",
        "warn" if failed else "ok",
        f"{found.model} answers, {found.seconds:.1f} s" + (f"; {failed}" if failed else ""),
    )
    how = {"native": "native", "": "none came"}.get(found.calls, f"written as text ({found.calls})")
    yield Check(
        "tool calls", "ok" if found.calls else "warn", how, "" if found.calls else "It may answer, but can't do work."
    )
    window = f"{found.window} tokens" if found.window else "unknown"
    if found.kept is False:
        yield Check("context", "warn", f"{window}; the start of a long prompt was lost", "Set models.num_ctx higher.")
    else:
        yield Check("context", "ok", window)
