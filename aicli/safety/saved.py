"""Rules that a person allowed for good: in the user's settings, or for one project only. Never in the project itself."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from aicli.errors import ConfigError
from aicli.paths import config_folder, private_folder
from aicli.safety.rules import names_tool, parse_rule


def save_rule(rule: str, scope: str, root: Path) -> Path:
    """Adds an allow rule for "user" or "project"; returns the file. Comments stay.

    Raises ConfigError for a rule or file that can't be parsed, OSError when the file can't be written.
    """
    parse_rule(rule, known=[rule.partition("(")[0]])
    path = project_rules(root) if scope == "project" else config_folder() / "config.toml"
    private_folder(path.parent)
    document = _parsed(path)
    if scope == "project":
        document.setdefault("root", str(root.resolve()))
    table = document.setdefault("permissions", {})
    rules = table.setdefault("allow", [])
    if rule not in [r if isinstance(r, str) else r.get("rule") for r in rules]:
        rules.append(rule)
        _write(path, document)
    return path


def saved_rules(root: Path, known: Collection[str] | None = None) -> tuple[str, ...]:
    """The allow rules saved for this project alone; those of the user stand in the settings.

    With `known`, a rule for a tool that is neither built in nor in it is left out: a project's own tools come and go.
    Raises ConfigError for a file that can't be read.
    """
    path = project_rules(root)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise ConfigError(f"{path}: {e}", hint="Mend or remove the file") from e
    rules = table.get("permissions", {}).get("allow", [])
    return tuple(r for r in rules if isinstance(r, str) and (known is None or names_tool(r, known)))


def project_rules(root: Path) -> Path:
    """Where the rules of one project are kept: in the user's own folder."""
    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:32]
    return config_folder() / "projects" / f"{name}.toml"


def _parsed(path: Path) -> Any:
    import tomlkit  # keeps the comments of the file; needed here only
    from tomlkit.exceptions import ParseError

    try:
        return tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
    except (ParseError, UnicodeDecodeError) as e:
        raise ConfigError(f"{path}: {e}", hint="Mend the file, then allow it again") from e


def _write(path: Path, document: Any) -> None:
    import tomlkit

    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(tomlkit.dumps(document))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, os.path.realpath(path))
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
