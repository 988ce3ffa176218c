"""Bringing the embedded model's file here: sources in turn, the hash computed on the way, put in place in one step."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from aicli import paths
from aicli.errors import AicliError, ConfigError, ConnectFailed
from aicli.late import dataclass
from aicli.models.embedded import cache
from aicli.models.embedded.fetch import by_source
from aicli.models.embedded.sink import Sink, SourceFailed

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SPARE = 64 * 1024 * 1024
"""Bytes left free on the disk beside the file."""


@dataclass
class Pull:
    """One pull into `folder`. `say` gets a line for people, `progress` bytes done and bytes in all."""

    folder: Path
    say: Callable[[str], None] = lambda line: None
    progress: Callable[[int, int], None] = lambda done, total: None
    allow_carriers: bool = False
    offline: bool = False
    connect: float = 5.0
    model: cache.ModelFile = field(default_factory=cache.pinned)
    sources: list[dict[str, Any]] = field(default_factory=lambda: list(cache.sources()["source"]))

    @property
    def target(self) -> Path:
        return self.folder / self.model.file

    def run(self, local: Path | None = None) -> Path:
        """The file in place and checked. Blocks for the whole download; an interrupted one goes on next time.

        Raises ConfigError (wrong file, no space, another pull at work) or ConnectFailed (no source gave it).
        """
        paths.private_folder(self.folder)
        with self._alone():
            if local is None and self._here():
                self.say(f"{self.target} is here and right")
                return self.target
            self._room()
            return self._copied(local) if local is not None else self._fetched()

    def _here(self) -> bool:
        if not self.target.is_file():
            return False
        found = cache.known_hash(self.target) or cache.file_hash(
            self.target, lambda done: self.progress(done, self.model.size)
        )
        if found == self.model.sha256:
            cache.remember_quietly(self.target, found)
            return True
        self.say(f"{self.target} is not the published file; kept aside as {self._aside(self.target, found)}")
        return False

    def _room(self) -> None:
        begun = sum(p.stat().st_size for p in self.folder.glob(f"{self.model.file}.*part") if p.is_file())
        needed = self.model.size - begun + SPARE
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise ConfigError(
                f"{self.folder} has {free / 1e9:.1f} GB free, and the model needs {needed / 1e9:.1f} GB",
                hint="Make room, or set XDG_CACHE_HOME to a larger disk.",
            )

    @contextmanager
    def _alone(self) -> Iterator[None]:
        fd = os.open(self.folder / f"{self.model.file}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise ConfigError("Another pull of this model is at work", hint="Wait for it to end.") from None
            yield
        finally:
            os.close(fd)

    def _copied(self, local: Path) -> Path:
        """A file that the person has: copied in, never changed itself."""
        try:
            size = local.stat().st_size
            source = local.open("rb")
        except OSError as e:
            raise ConfigError(f"{local} can't be read: {e.strerror}") from None
        with source:
            if size != self.model.size:
                raise ConfigError(self._wrong(local), hint=_OWN)
            sink = Sink(self.target.with_name(f"{self.model.file}.copy.part"), self.model.size, self.progress)
            sink.path.unlink(missing_ok=True)
            sink.open()
            try:
                while chunk := source.read(cache.CHUNK):
                    sink.write(chunk)
            finally:
                found = sink.close()
        if found != self.model.sha256:
            sink.path.unlink()
            raise ConfigError(self._wrong(local), hint=_OWN)
        return self._placed(sink.path, found)

    def _wrong(self, path: Path) -> str:
        return f"{path} is not the published {self.model.file} (size or hash differs)"

    def _fetched(self) -> Path:
        refused = []
        for source in self.sources:
            if source.get("carrier") and not self.allow_carriers:
                refused.append(source["name"])
                continue
            part = self.target.with_name(f"{self.model.file}.{source['kind']}.part")
            sink = Sink(part, self.model.size, self.progress)
            self.say(f"Fetching {self.model.name} ({self.model.gigabytes}, {self.model.licence}) from {source['name']}")
            try:
                by_source(source, sink, connect=self.connect, offline=self.offline)
            except SourceFailed as e:
                self.say(f"Not from {source['name']}: {e}")
                continue
            except OSError as e:
                raise ConfigError(f"{part} can't be written: {e.strerror or e}") from None
            finally:
                found = sink.close()
            if found == self.model.sha256:
                return self._placed(part, found)
            self.say(f"Not from {source['name']}: not the published file; kept aside as {self._aside(part, found)}")
        hint = f"Get it elsewhere, then: {cache.PULL} FILE"
        if refused:
            hint = f"{' and '.join(refused)} are left: {cache.PULL} --allow-carriers"
        raise ConnectFailed("No source gave the embedded model's file", hint=hint)

    def _aside(self, path: Path, found: str) -> Path:
        aside = self.target.with_name(f"{self.model.file}.bad-{found[:8]}")
        os.replace(path, aside)
        return aside

    def _placed(self, part: Path, found: str) -> Path:
        os.chmod(part, 0o600)
        os.replace(part, self.target)
        cache.remember_quietly(self.target, found)
        for left in self.folder.glob(f"{self.model.file}.*part*"):
            left.unlink(missing_ok=True)
        self.say(f"{self.target} is here, and its hash is the published one")
        return self.target


_OWN = "To use another GGUF file, set AICLI_EMBEDDED_MODEL to its path."


def pull(folder: Path, local: Path | None = None, **options: Any) -> Path:
    """As `Pull(folder, **options).run(local)`; a file of the person's own (AICLI_EMBEDDED_MODEL) needs no pull."""
    own = cache.own_file()
    if own is not None and local is None:
        options.get("say", lambda line: None)(f"AICLI_EMBEDDED_MODEL names {own}: nothing to fetch")
        return own
    try:
        return Pull(folder, **options).run(local)
    except OSError as e:
        raise AicliError(f"{folder}: {e.strerror or e}") from None
