"""The embedded model's file and its prompt caches on disk: where they lie, and whether they are what they should be."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from aicli.errors import ConfigError
from aicli.late import dataclass

PULL = "aicli models pull embedded"
CHUNK = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The pinned file. `size` in bytes, `sha256` in hex, `window` in tokens."""

    name: str
    file: str
    size: int
    sha256: str
    publisher: str
    licence: str
    window: int

    @property
    def gigabytes(self) -> str:
        return f"{self.size / 1e9:.1f} GB"


@cache
def sources() -> dict[str, Any]:
    """The data file that names the model and where it comes from."""
    return tomllib.loads(files("aicli.models.embedded").joinpath("sources.toml").read_text("utf-8"))


@cache
def pinned() -> ModelFile:
    m = sources()["model"]
    return ModelFile(m["name"], m["file"], m["bytes"], m["sha256"], m["publisher"], m["licence"], m["window"])


def own_file() -> Path | None:
    """The file that AICLI_EMBEDDED_MODEL names, if any. Raises ConfigError when it isn't there."""
    named = os.environ.get("AICLI_EMBEDDED_MODEL", "")
    if not named:
        return None
    path = Path(named).expanduser()
    if not path.is_file():
        raise ConfigError(
            f"AICLI_EMBEDDED_MODEL names {named}, which is no file", hint="Name a GGUF file, or unset it."
        )
    return path


def models_folder(cache_folder: Path) -> Path:
    return cache_folder / "models"


def write_private(path: Path, data: bytes) -> None:
    """Replaces the file in one step, mode 0600."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as f:
        f.write(data)
    os.replace(temporary, path)


def file_hash(path: Path, progress: Callable[[int], None] = lambda done: None) -> str:
    """SHA-256 of a file in hex. Blocks: about a second a gigabyte."""
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as f:
        while chunk := f.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            progress(done)
    return digest.hexdigest()


def _side(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def remember(path: Path, sha256: str) -> None:
    """Writes down that this file, as it lies there, has this hash, so that no start has to read it whole."""
    stat = path.stat()
    note = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": sha256}
    write_private(_side(path), json.dumps(note).encode())


def known_hash(path: Path) -> str | None:
    """The hash written down for the file, or None when the file is another one by now."""
    try:
        note = json.loads(_side(path).read_bytes())
        stat = path.stat()
    except (OSError, ValueError):
        return None
    if not isinstance(note, dict) or (note.get("size"), note.get("mtime_ns")) != (stat.st_size, stat.st_mtime_ns):
        return None
    found = note.get("sha256")
    return found if isinstance(found, str) else None


def installed(cache_folder: Path) -> Path | None:
    """The model file that a run would use, by a look at its size only; None when it isn't there."""
    own = own_file()
    if own:
        return own
    path = models_folder(cache_folder) / pinned().file
    try:
        return path if path.stat().st_size == pinned().size else None
    except OSError:
        return None


def checked(cache_folder: Path) -> tuple[Path, str]:
    """The file to load, and its hash ("" for a file of the person's own).

    Reads the whole file only where nobody did since it last changed; blocks then. Raises ConfigError, with the command
    to type, when the file isn't there or isn't the right one.
    """
    own = own_file()
    if own:
        stat = own.stat()
        return own, f"{stat.st_size}-{stat.st_mtime_ns}"
    path = models_folder(cache_folder) / pinned().file
    if not path.is_file():
        raise ConfigError(f"The embedded model is not here yet ({pinned().gigabytes})", hint=f"Get it with: {PULL}")
    found = known_hash(path)
    if found is None:
        found = file_hash(path)
        if found == pinned().sha256:
            remember_quietly(path, found)
    if found != pinned().sha256:
        raise ConfigError(f"{path} is not the published file (its hash differs)", hint=f"Get it anew with: {PULL}")
    return path, found


def remember_quietly(path: Path, sha256: str) -> None:
    """As `remember`; a folder that can't be written only costs the next start its time."""
    try:
        remember(path, sha256)
    except OSError:
        return


@dataclass(frozen=True, slots=True)
class PromptCache:
    """One saved prompt state. It fits only this model, this engine and this prefix; its own hash guards the bytes."""

    folder: Path
    model: str
    engine: str
    prefix: str

    @property
    def name(self) -> str:
        key = hashlib.sha256("\0".join((self.model, self.engine, self.prefix)).encode()).hexdigest()[:32]
        return f"{key}.prompt"

    @property
    def path(self) -> Path:
        return self.folder / self.name

    def usable(self) -> bool:
        """Is there a saved state whose bytes are those that were written?"""
        known = known_hash(self.path)
        return known is not None and known == file_hash(self.path)

    def adopt(self, saved: Path) -> None:
        """Takes a freshly saved file over as this cache, and drops those of other prefixes and engines."""
        saved.chmod(0o600)
        os.replace(saved, self.path)
        remember(self.path, file_hash(self.path))
        for old in self.folder.glob("*.prompt*"):
            if not old.name.startswith(self.name):
                old.unlink(missing_ok=True)
