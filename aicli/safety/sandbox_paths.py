"""What a confined command sees of the file system: which folders are hidden, readable, writable, protected."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from aicli import paths
from aicli.late import dataclass
from aicli.safety.secrets import CERTIFICATES

HIDDEN = ("/home", "/root", "/run", "/var/tmp", "/media", "/mnt")
PROTECTED_FOLDERS = (".git", ".aicli", ".vscode", ".idea")
PROTECTED_FILES = (".mcp.json", ".gitmodules", ".envrc")
SHELL_FILES = (".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".gitconfig")
IN_GIT = ("hooks", "config", "modules", "config.worktree")
_HOME_SECRETS = (".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".password-store")
_GIT_SETTINGS = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
_LEVELS, _MOST_ENTRIES, _MOST_NESTED = 3, 4_000, 50
_LARGE = frozenset({"node_modules", "__pycache__", "venv", "env", "target", "dist", "build"})
_MOST_TOOLS = 60
_MOST_LINKS = 2_000


@dataclass(frozen=True)
class View:
    """All absolute and without links. `hidden` are empty, `readable` stand in them, `writable` are the roots.

    `held` are paths in the roots that a rule denies to change.
    """

    hidden: tuple[str, ...]
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    home: str
    hidden_inside: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


def view(
    root: Path, extra: Sequence[Path], read: Sequence[str], environ: Mapping[str, str], held: Sequence[str] = ()
) -> View:
    """Looks at the folders of PATH once. `read` is the setting sandbox.read, `held` is for the view's own."""
    home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))
    roots = tuple(dict.fromkeys(os.path.realpath(p) for p in (root, *extra)))
    own = [os.path.realpath(f()) for f in (paths.config_folder, paths.state_folder)]
    hidden = [h for h in (*HIDDEN, home, *own) if os.path.isdir(h) and os.path.realpath(h) == h and h != "/"]
    outer = [h for h in dict.fromkeys(hidden) if not any(within(h, o) for o in hidden if o != h)]
    inside = [h for h in own if os.path.isdir(h) and any(within(h, r) for r in roots)]
    if any(within(home, r) for r in roots):
        inside += [s for name in _HOME_SECRETS if os.path.isdir(s := os.path.join(home, name))]
        outer = [h for h in outer if h != home]
    wanted = [os.path.realpath(os.path.expanduser(p)) for p in read]
    wanted += _tools([*outer, "/tmp"], home, environ) + _python_of(roots, [*outer, "/tmp"])
    wanted += [os.path.join(home, name) for name in _GIT_SETTINGS]  # who commits; git does not start without them
    readable = [p for p in dict.fromkeys(wanted) if os.path.exists(p) and p not in ("/", home)]
    return View(tuple(outer), tuple(sorted(readable, key=len)), roots, home, tuple(inside), tuple(held))


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def network_files(environ: Mapping[str, str], hidden: Sequence[str]) -> list[str]:
    """What a command with network needs from hidden folders: how names are resolved, and the certificates named there."""
    wanted = ["/etc/resolv.conf", *(environ[name] for name in CERTIFICATES if environ.get(name))]
    real = [os.path.realpath(p) for p in wanted if os.path.isabs(p)]
    return [p for p in dict.fromkeys(real) if os.path.exists(p) and any(within(p, h) and p != h for h in hidden)]


def nested_git(root: str) -> list[str]:
    """The `.git` of repositories up to three levels below a root; not in hidden folders, nor in those for dependencies.

    Looks at 4,000 entries at most: a few milliseconds.
    """
    found: list[str] = []
    level, left = [root], _MOST_ENTRIES
    for _ in range(_LEVELS + 1):
        below: list[str] = []
        for folder in level:
            try:
                with os.scandir(folder) as entries:
                    for entry in itertools.islice(entries, left):
                        left -= 1
                        if entry.name == ".git" and folder != root and not entry.is_symlink():
                            found.append(entry.path)
                        elif entry.name[0] != "." and entry.name not in _LARGE and entry.is_dir(follow_symlinks=False):
                            below.append(entry.path)
            except OSError:
                continue
        level = sorted(below) if left > 0 else []
    return found[:_MOST_NESTED]


def _tools(hidden: Sequence[str], home: str, environ: Mapping[str, str]) -> list[str]:
    """PATH entries in hidden folders, and what their links lead to."""
    found: list[str] = []
    for entry in environ.get("PATH", "").split(os.pathsep):
        if not os.path.isabs(entry) or not os.path.isdir(entry):
            continue
        real = os.path.realpath(entry)
        if not any(within(real, h) for h in hidden):
            continue
        found.append(_toolchain(real, home))
        try:
            names = sorted(os.listdir(real))[:_MOST_LINKS]
        except OSError:
            continue
        links = (os.path.realpath(p) for n in names if os.path.islink(p := os.path.join(real, n)))
        found += [_toolchain(os.path.dirname(t), home) for t in links if any(within(t, h) for h in hidden)]
    cargo = os.path.join(home, ".cargo")
    if any(within(f, cargo) for f in found):
        found += [os.path.join(home, ".rustup"), os.path.join(cargo, "registry"), os.path.join(cargo, "git")]
    kept: list[str] = []
    for folder in sorted(dict.fromkeys(found), key=len):
        if not any(within(folder, k) for k in kept):
            kept.append(folder)
    return kept[:_MOST_TOOLS]


def _toolchain(folder: str, home: str) -> str:
    """A bin folder's own toolchain where it has one of its own (a version, an environment), else the folder alone."""
    parent, name = os.path.split(folder)
    depth = len(os.path.relpath(parent, home).split("/")) if within(parent, home) else 9
    if parent in (home, "/tmp", *HIDDEN) or name not in ("bin", "sbin", "shims"):
        return folder
    return parent if depth >= 2 or name == "shims" else folder


def _python_of(roots: Sequence[str], hidden: Sequence[str]) -> list[str]:
    """Where the interpreter of a virtual environment in the workspace lives."""
    found = []
    for root in roots:
        for name in (".venv", "venv", "env"):
            real = os.path.realpath(os.path.join(root, name, "bin", "python"))
            if os.path.exists(real) and any(within(real, h) for h in hidden) and not within(real, root):
                found.append(os.path.dirname(os.path.dirname(real)))
    return found


def git_folder(root: str) -> str:
    """The folder that holds a worktree's shared git data when `.git` is a file, else ""."""
    try:
        fd = os.open(os.path.join(root, ".git"), os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not keep us waiting
        try:
            line = os.read(fd, 4_096).decode("utf-8", "replace") if stat.S_ISREG(os.fstat(fd).st_mode) else ""
        finally:
            os.close(fd)
    except OSError:
        return ""
    if not line.startswith("gitdir:"):
        return ""
    target = os.path.realpath(os.path.join(root, line[7:].strip()))
    common = target.partition("/.git/worktrees/")
    return common[0] + "/.git" if common[1] else target
