"""Which value wins: defaults < user < project (if trusted) < environment < flags, and who said it."""

from __future__ import annotations

import functools
import json
import os
import typing
from collections.abc import Mapping
from dataclasses import field
from dataclasses import fields as own_fields
from pathlib import Path
from typing import Any

from aicli import paths
from aicli.content.kinds import PermissionMode
from aicli.content.value import Misfit, Value, hints
from aicli.errors import ConfigError, UsageError
from aicli.late import dataclass
from aicli.settings import Secret, Settings
from aicli.settings_file import SettingsFile, closest, duration, nested, read

LAYERS = ("default", "user", "project", "environment", "flags")
RULES = ("permissions.deny", "permissions.ask", "permissions.allow")
"""Lists that add up over the layers: no layer can take back another's deny."""

_MODES = [PermissionMode.PLAN, PermissionMode.DONT_ASK, PermissionMode.DEFAULT]
_MODES += [PermissionMode.ACCEPT_EDITS, PermissionMode.BYPASS]  # from strict to loose
_NOT_FROM_A_PROJECT = (
    "api_key",
    "base_url",
    "provider",
    "permissions.allow",
    "shell.env_allow",
    "models.allow_carriers",
)
_NO_TABLE_FROM_A_PROJECT = ("sandbox.", "web.")
_OTHER_VARIABLES = {
    "AICLI_SOAK",
    "AICLI_EMBEDDED_MODEL",
    "AICLI_EMBEDDED_THREADS",
    "AICLI_TRACE",
    "AICLI_DEBUG",
    "AICLI_SESSION_ID",
}


@dataclass(frozen=True)
class Layer:
    """What one layer says, by dotted key. `file` is None for environment and flags."""

    name: str
    values: Mapping[str, Any]
    file: SettingsFile | None = None

    def where(self, key: str) -> str:
        if self.file is not None:
            return self.file.where(key)
        return variable(key) if self.name == "environment" else "command line"


@dataclass(frozen=True)
class Loaded:
    """`origin` names the layer that won, for every key; `ignored` is a project file not read for want of trust.

    `dropped` is what a trusted project wanted to set and may not.
    """

    settings: Settings
    origin: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()
    ignored: Path | None = None
    dropped: Mapping[str, Any] = field(default_factory=dict)


def user_file() -> Path:
    return paths.config_folder() / "config.toml"


def project_file(cwd: Path) -> Path | None:
    """The nearest `.aicli/config.toml` from `cwd` up to the repository's root, never that of the home folder itself."""
    home = Path.home()
    for folder in (cwd, *cwd.parents):
        if folder == home:
            return None
        candidate = folder / ".aicli" / "config.toml"
        if candidate.exists() and candidate != user_file():
            return candidate
        if (folder / ".git").exists():
            return None
    return None


@dataclass(frozen=True)
class Knob:
    """One setting: its type, its default and what it is for."""

    annotation: Any
    default: Any
    description: str


@functools.cache
def fields() -> dict[str, Knob]:
    """Every setting by dotted key, in order of definition."""

    def walk(kind: Any, prefix: str) -> typing.Iterator[tuple[str, Knob]]:
        for one in own_fields(kind):
            annotation = hints(kind)[one.name]
            if isinstance(annotation, type) and issubclass(annotation, Value):
                yield from walk(annotation, f"{prefix}{one.name}.")
            else:
                yield prefix + one.name, Knob(annotation, one.default, one.metadata.get("description", ""))

    return dict(walk(Settings, ""))


@functools.cache
def seconds() -> frozenset[str]:
    """The settings that are a time: they may be written 90, 90s, 10m or 1h30m."""
    return frozenset(key for key, knob in fields().items() if knob.description.startswith("Seconds"))


def variable(key: str) -> str:
    """The environment variable of a key."""
    return "AICLI_" + key.replace(".", "__").upper()


def load(
    flags: Mapping[str, object] | None = None,
    *,
    cwd: Path,
    trusted: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Loaded:
    """Reads two small files. Flags are dotted keys; None means not given. Raises ConfigError (files, environment) or
    UsageError (flags)."""
    environ = os.environ if environ is None else environ
    warnings: list[str] = []
    user = read(user_file())
    _keep_key_private(user)
    layers = [Layer("user", _checked(user), user)]

    ignored: Path | None = None
    dropped: dict[str, Any] = {}
    theirs = project_file(cwd)
    if theirs is not None and not trusted:
        ignored = theirs
    elif theirs is not None:
        file = read(theirs)
        kept, dropped = _tightening(_checked(file), layers[0].values)
        warnings += [f"{file.where(k)}: {k} is ignored: a project can't set it to that" for k in dropped]
        layers.append(Layer("project", kept, file))

    layers.append(Layer("environment", _spelt(_from_environ(environ, warnings))))
    given = {k: v for k, v in (flags or {}).items() if v is not None}
    _check(given, None)
    layers.append(Layer("flags", _spelt(given)))

    merged, origin = _merge(layers)
    return Loaded(Settings.from_data(nested(merged)), origin, tuple(warnings), tuple(layers), ignored, dropped)


def _merge(layers: list[Layer]) -> tuple[dict[str, Any], dict[str, str]]:
    merged: dict[str, Any] = {}
    origin = dict.fromkeys(fields(), "default")
    for layer in layers:
        for key, value in layer.values.items():
            if key in RULES and merged.get(key):
                value = [*merged[key], *value]
            merged[key] = value
            origin[key] = layer.name
    return merged, origin


def _checked(file: SettingsFile) -> dict[str, Any]:
    """What the file says, by known keys; a table of ours that is empty says nothing."""
    tables = {key.rpartition(".")[0] for key in fields()}
    values = {k: v for k, v in file.values.items() if not (v == {} and k in tables)}
    _check(values, file)
    return _spelt(values)


def _spelt(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same with the permission mode in our own spelling, and times in seconds."""
    out = {k: duration(v) if k in seconds() and isinstance(v, str) else v for k, v in values.items()}
    mode = out.get("permissions.mode")
    if isinstance(mode, str) and mode:
        out["permissions.mode"] = PermissionMode.parse(mode).value
    return out


def _tightening(values: Mapping[str, Any], user: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a trusted project may set, and what it may not: it can only tighten."""
    kept: dict[str, Any] = {}
    dropped: dict[str, Any] = {}
    for key, value in values.items():
        (dropped if _loosens(key, value, user) else kept)[key] = value
    return kept, dropped


def _loosens(key: str, value: Any, user: Mapping[str, Any]) -> bool:
    if key in _NOT_FROM_A_PROJECT or key.startswith(_NO_TABLE_FROM_A_PROJECT):
        return True
    if key == "permissions.mode":
        most = min(_MODES.index(PermissionMode(user.get(key) or "default")), _MODES.index(PermissionMode.DEFAULT))
        return bool(value) and _MODES.index(PermissionMode(value)) > most
    if key.startswith("limits.") and user.get(key) is not None:
        return bool(value > user[key])
    return key == "offline" and not value and bool(user.get(key))


def _check(values: Mapping[str, Any], file: SettingsFile | None) -> None:
    """Raises for the first unknown key or wrong value, naming where it stands."""
    for key, value in values.items():
        where = f"{file.where(key)}: " if file else ""
        error = ConfigError if file else UsageError
        if key not in fields():
            near = closest(key, fields())
            raise error(
                f"{where}unknown setting {key!r}", hint=f"Did you mean {near}?" if near else "See: aicli config show."
            )
        complaint = wrong(key, value)
        if complaint:
            raise error(f"{where}{key if file else flag_of(key)} {complaint}")


_FLAGS = {
    "models.level": "--thinking",
    "permissions.mode": "--permission-mode",
    "permissions.allow": "--allowed-tools",
    "permissions.deny": "--disallowed-tools",
    "sandbox.mode": "--sandbox",
}


def flag_of(key: str) -> str:
    """The flag that sets the key."""
    return _FLAGS.get(key) or "--" + key.rpartition(".")[2].replace("_", "-")


def wrong(key: str, value: Any) -> str:
    """What is wrong with a value for the key, "" if nothing. Never repeats a key's value."""
    if key == "permissions.mode" and isinstance(value, str) and value:
        try:
            value = PermissionMode.parse(value).value
        except ValueError:
            return f"should be one of plan, default, accept-edits, dont-ask, bypass, not {value!r}"
    if key in seconds() and isinstance(value, str):
        time = duration(value)
        if time is None:
            return f"should be a time such as 90, 90s, 10m or 1h30m, not {json.dumps(value, ensure_ascii=False)}"
        value = time
    if key.split(".")[0] not in hints(Settings):
        return "is not a setting"
    try:
        Settings.from_data(nested({key: value}))
    except Misfit as e:
        return e.said if key == "api_key" else f"{e.said}, not {json.dumps(e.given, ensure_ascii=False, default=str)}"
    return ""


def _keep_key_private(file: SettingsFile) -> None:
    if "api_key" not in file.values or os.name == "nt":
        return
    mode = file.path.stat().st_mode & 0o777
    if mode & 0o077:
        raise ConfigError(
            f"{file.where('api_key')}: the file holds an api_key and others can read it (mode {mode:o})",
            hint=f"Run: chmod 600 {file.path}",
        )


def _from_environ(environ: Mapping[str, str], warnings: list[str]) -> dict[str, Any]:
    known = {variable(key): key for key in fields()}
    out: dict[str, Any] = {}
    for name, text in environ.items():
        if not name.startswith("AICLI_") or name in _OTHER_VARIABLES or not text.strip():
            continue
        key = known.get(name)
        if key is None:
            near = closest(name.removeprefix("AICLI_").replace("__", ".").lower(), known.values())
            if "__" in name or near:
                warnings.append(f"{name} is not a setting" + (f"; did you mean {variable(near)}?" if near else ""))
            continue
        out[key] = parse(key, text)
        complaint = wrong(key, out[key])
        if complaint:
            raise ConfigError(f"{name}: {key} {complaint}")
    return out


def parse(key: str, text: str) -> Any:
    """A value as typed on a command line or in the environment, in the key's own type where it can be read as that."""
    if key in seconds() and (time := duration(text)) is not None:
        return time
    kind = str(fields()[key].annotation)
    if "tuple" in kind:
        if text.lstrip().startswith("["):
            try:
                return json.loads(text)
            except ValueError:
                return text
        return [part.strip() for part in text.split(",") if part.strip()]
    if "bool" in kind:
        return {
            "1": True,
            "true": True,
            "yes": True,
            "on": True,
            "0": False,
            "false": False,
            "no": False,
            "off": False,
        }.get(text.strip().lower(), text)
    for number in (int, float):
        if number.__name__ in kind:
            try:
                return number(text)
            except ValueError:
                continue
    return text


def plain(value: Any) -> Any:
    """A value for showing: secrets masked whatever their length, tuples as lists."""
    if isinstance(value, Secret):
        return "***" if value.get_secret_value() else ""
    return list(value) if isinstance(value, tuple) else value


def value_of(settings: Settings, key: str) -> Any:
    """The value under a dotted key."""
    found: Any = settings
    for part in key.split("."):
        found = getattr(found, part)
    return found
