"""One settings file: read it with errors that name line and key, change it without losing its comments."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from aicli.errors import ConfigError
from aicli.late import dataclass, regex

_HEADER = regex(r"^\s*\[\s*([^\[\]#]+?)\s*\]")
_ASSIGN = regex(r"""^\s*([A-Za-z0-9_.\-"' ]+?)\s*=""")
_AT_LINE = regex(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")


@dataclass(frozen=True)
class SettingsFile:
    """A parsed file: `values` by dotted key, `text` as it stands on disk."""

    path: Path
    text: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    def where(self, key: str) -> str:
        """`file:line` of the key, or of the nearest thing above it."""
        line = line_of(self.text, key)
        return f"{self.path}:{line}" if line else str(self.path)


def read(path: Path) -> SettingsFile:
    """The file, empty if it is not there. Raises ConfigError with file and line."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return SettingsFile(path)
    except IsADirectoryError as e:
        raise ConfigError(f"{path} is a folder, not a settings file") from e
    except OSError as e:
        if path.is_dir():  # what Windows says of a folder
            raise ConfigError(f"{path} is a folder, not a settings file") from e
        raise ConfigError(f"{path} can't be read: {os.strerror(e.errno or 0)}") from e
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = data[: e.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{line}: not UTF-8 text", hint="Save the file as UTF-8.") from e
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        found = _AT_LINE.search(str(e))
        line = int(found[1]) if found and found[1] else max(1, len(text.splitlines()))
        said = _AT_LINE.sub("", str(e))
        raise ConfigError(f"{path}:{line}: {said}: {_shown(text, line)}", hint="Fix it with: aicli config edit.") from e
    return SettingsFile(path, text, dict(flatten(values)))


def _shown(text: str, line: int) -> str:
    lines = text.splitlines()
    shown = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return shown.split("=")[0].strip() + " = …" if "=" in shown else shown[:60]  # a value may be a secret


def duration(text: str) -> float | None:
    """90, 90s, 10m, 1h30m as seconds, whole ones as an int; None for what is no time."""
    found = re.fullmatch(r"\s*(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s?)?\s*", text)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, rest = (float(part or 0) for part in found.groups())
    whole = hours * 3600 + minutes * 60 + rest
    return int(whole) if whole.is_integer() else whole


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys of nested tables; a list is a value."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
            if not value:
                yield f"{prefix}{key}", {}
        else:
            yield f"{prefix}{key}", value


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """The opposite of `flatten`."""
    out: dict[str, Any] = {}
    for key, value in values.items():
        *parents, last = key.split(".")
        table = out
        for parent in parents:
            table = table.setdefault(parent, {})
        table[last] = value
    return out


def line_of(text: str, key: str) -> int:
    """The line, from 1, that sets the dotted key; that of its table if no line does; 0 if there is neither."""
    table, nearest = "", (0, 0)
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        assign = None if header else _ASSIGN.match(line)
        if header:
            here = table = _plain(header[1])
        elif assign:
            here = f"{table}.{_plain(assign[1])}" if table else _plain(assign[1])
        else:
            continue
        if here == key and assign:
            return number
        if (key == here or key.startswith(here + ".")) and len(here) > nearest[0]:
            nearest = (len(here), number)
    return nearest[1]


def _plain(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))


def closest(key: str, known: Iterable[str]) -> str:
    """The known key that was probably meant, "" if none is near. `fastModel` and `max_turns` find their tables."""
    names = list(known)
    by_last = {name.rsplit(".", 1)[-1]: name for name in names}
    folded = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).lower().replace("-", "_")
    last = folded.rsplit(".", 1)[-1]
    if last in by_last:
        return by_last[last]
    near = difflib.get_close_matches(folded, names, 1, 0.6)
    if near:
        return near[0]
    near = difflib.get_close_matches(last, list(by_last), 1, 0.7)
    return by_last[near[0]] if near else ""


def with_value(text: str, key: str, value: Any) -> str:
    """The text with the key set, or removed where `value` is None; comments and order stay. Raises ConfigError."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        table: Any = document
        *parents, last = key.split(".")
        for parent in parents:
            if parent not in table:
                if value is None:
                    return text
                table[parent] = tomlkit.table()
            table = table[parent]
        if value is None:
            table.pop(last, None)
        else:
            table[last] = list(value) if isinstance(value, tuple) else value
        return tomlkit.dumps(document)
    except (TOMLKitError, AttributeError, TypeError) as e:
        raise ConfigError(f"{key} can't be set in this file: {e}", hint="Change it with: aicli config edit.") from e


def write(path: Path, text: str) -> None:
    """The whole file at once, mode 0600, its folder 0700 if it is made here. Raises ConfigError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        target = path.resolve()
        temporary = target.with_name(temporary.name)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as e:
        temporary.unlink(missing_ok=True)
        raise ConfigError(f"{path} can't be written: {e.strerror or e}") from e
