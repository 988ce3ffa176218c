"""May this folder's own settings, agents, tools and instructions act? Not before the person said so, per file as it was."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aicli.clean import sanitise
from aicli.errors import TrustError
from aicli.late import dataclass
from aicli.paths import PROJECT, private_folder, state_folder

INSTRUCTIONS = ("AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "GEMINI.md", "AICLI.md")
SERVERS = (".mcp.json",)
_DATA, _DATA_FOLDERS = ("memory.md",), ("plans",)
_MOST_FILES = 500
_KEPT_TEXT = 100_000
_KINDS = {"agents": "agent", "tools": "tool", "hooks": "hook", "commands": "command", "providers": "provider"}


@dataclass(frozen=True, slots=True)
class Item:
    """A file that would act once the folder is trusted. `path` is relative to the root; `kind` is settings, agent, tool,
    hook, command, provider, server, instructions or other; `summary` says in a few words what it would do."""

    kind: str
    path: str
    summary: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is not as it was trusted. `diff` is unified; for a new file all of it is added."""

    item: Item
    diff: str
    new: bool


def repo_root(folder: Path) -> Path:
    """The real folder that trust is about: the repository's root, or the folder itself where there is no repository."""
    here = folder.resolve()
    for candidate in (here, *here.parents):
        if (candidate / ".git").exists():
            return candidate if not _too_wide(candidate) else here
    return here


def found(folder: Path) -> list[Item]:
    """What would act in this folder, from here up to the repository's root. Runs nothing; reads regular files only."""
    root = repo_root(folder)
    return [_item(root, path) for path in _files(folder.resolve(), root)]


def trusted(folder: Path) -> bool:
    """Was the folder trusted, and is every file that would act still as it was then?"""
    root = repo_root(folder)
    if _too_wide(root):
        return False
    known = _load(root)
    return known is not None and all(known.get(i.path, {}).get("sha256") == i.sha256 for i in found(folder))


def known(folder: Path) -> bool:
    """Was it trusted once, whatever changed since?"""
    return _load(repo_root(folder)) is not None


def changes(folder: Path) -> list[Change]:
    """What is new or different since the folder was trusted; everything if it never was."""
    root = repo_root(folder)
    before = _load(root) or {}
    out = []
    for item in found(folder):
        old = before.get(item.path)
        if old is None or old.get("sha256") != item.sha256:
            out.append(
                Change(item, _diff(item.path, (old or {}).get("text", ""), _text(root / item.path)), old is None)
            )
    return out


def grant(folder: Path) -> Path:
    """Trusts the folder's files as they are now; returns the root. Raises TrustError for / and for home folders."""
    root = repo_root(folder)
    if _too_wide(root):
        raise TrustError(f"{root} can't be trusted as a whole", hint="Start in the project's own folder")
    files: dict[str, dict[str, str]] = _load(root) or {}
    for item in found(folder):
        files[item.path] = {"sha256": item.sha256, "text": _text(root / item.path)}
    store = _store(root)
    private_folder(store.parent)
    temporary = store.with_name(f".{store.name}.{os.getpid()}.{os.urandom(4).hex()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump({"root": str(root), "files": files}, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, store)
    return root


def revoke(folder: Path) -> bool:
    """Forgets that the folder was trusted; False if it was not."""
    store = _store(repo_root(folder))
    if not store.exists():
        return False
    store.unlink()
    return True


def too_wide(folder: Path) -> str:
    """Why this folder can't be trusted whatever a person says, "" when it can be."""
    root = repo_root(folder)
    return f"{root} holds more than a project, so it can't be trusted as a whole" if _too_wide(root) else ""


def notice(folder: Path) -> str:
    """One line that says what stays out of action, "" when nothing does."""
    if trusted(folder):
        return ""
    items = found(folder)
    if not items:
        return ""
    names = [sanitise(i.path, keep_newlines=False) for i in items]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    why = "has changed since it was trusted" if known(folder) else "is not trusted"
    how = "start in the project's own folder" if too_wide(folder) else "--trust accepts it"
    return f"this folder {why}, so it is ignored: {shown} ({how})"


def _too_wide(root: Path) -> bool:
    home = Path(os.path.expanduser("~")).resolve()
    return root == Path(root.anchor) or root == home or root in home.parents


def _store(root: Path) -> Path:
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
    return state_folder() / "trust" / f"{name}.json"


def _load(root: Path) -> dict[str, dict[str, str]] | None:
    try:
        stored: Any = json.loads(_store(root).read_text("utf-8"))
        return dict(stored["files"]) if stored.get("root") == str(root) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _files(here: Path, root: Path) -> Iterator[Path]:
    folder = here
    while True:
        yield from _of_folder(folder)
        if folder == root or folder == folder.parent:
            return
        folder = folder.parent


def _of_folder(folder: Path) -> Iterator[Path]:
    for name in (*INSTRUCTIONS, *SERVERS):
        if _regular(folder / name):
            yield folder / name
    count = 0
    for where, folders, names in os.walk(folder / PROJECT):
        top = Path(where) == folder / PROJECT
        folders[:] = sorted(f for f in folders if f != "__pycache__" and not (top and f in _DATA_FOLDERS))
        for name in sorted(names):
            path = Path(where, name)
            if _regular(path) and not (top and name in _DATA):
                count += 1
                if count > _MOST_FILES:
                    return
                yield path


def _regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def _bytes(path: Path) -> bytes:
    """Of a regular file, never waiting on anything else that took its place."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as file:
        return file.read() if stat.S_ISREG(os.fstat(fd).st_mode) else b""


def _text(path: Path) -> str:
    return _bytes(path).decode("utf-8", "replace")[:_KEPT_TEXT]


def _item(root: Path, path: Path) -> Item:
    data = _bytes(path)
    rel = path.relative_to(root).as_posix()
    kind, summary = _meaning(path, data)
    if path.is_symlink():
        summary += f" (a link to {os.path.realpath(path)})"
    return Item(kind, rel, sanitise(summary, keep_newlines=False), hashlib.sha256(data).hexdigest())


def _meaning(path: Path, data: bytes) -> tuple[str, str]:
    if path.name in INSTRUCTIONS:
        return "instructions", f"{len(data)} bytes of instructions for the model"
    if path.name in SERVERS or path.name == "mcp.json":
        return "server", _servers(data)
    if path.name == "config.toml":
        return "settings", _settings(data)
    parts = path.parts
    inside = parts[len(parts) - 1 - parts[::-1].index(PROJECT) + 1] if PROJECT in parts else ""
    kind = _KINDS.get(inside, "other")
    runs = path.suffix == ".py" or kind == "hook"
    return kind, f"{kind} {path.stem}" + (", code that would run" if runs else "")


def _settings(data: bytes) -> str:
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return "settings that can't be read"
    keys = [f"{k}.{inner}" for k, v in table.items() if isinstance(v, dict) for inner in v]
    keys += [k for k, v in table.items() if not isinstance(v, dict)]
    return "sets " + (", ".join(sorted(keys)) or "nothing")


def _servers(data: bytes) -> str:
    try:
        servers = json.loads(data)["mcpServers"]
        return "starts " + ", ".join(f"{n}: {s.get('command') or s.get('url', '?')}" for n, s in servers.items())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "servers that can't be read"


def _diff(name: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"trusted/{name}", name, lineterm="")
    return "\n".join(lines)
