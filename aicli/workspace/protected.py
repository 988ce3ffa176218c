"""Names in a workspace that change what runs later, and names that hold secrets: data and two questions about it."""

from __future__ import annotations

import re
import unicodedata
from fnmatch import fnmatchcase, translate
from functools import cache

FOLDERS = frozenset({".git", "git~1", ".aicli", ".vscode", ".idea", ".husky"})
FILES = (
    ".mcp.json",
    ".gitmodules",
    ".gitconfig",
    ".envrc",
    ".ripgreprc",
    "*.pth",
    "sitecustomize.py",
    "usercustomize.py",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    "config.fish",
)
SECRETS = (
    ".env",
    ".env[!a-z0-9]*",
    ".env[a-z0-9]*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.kdbx",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
)
NO_SECRETS = (".env.example", ".env.sample", ".env.template", ".env.dist", ".envrc")
_KEY = r"id_(?:[^.]+|(?:rsa|dsa|ecdsa|ed25519|xmss).*)"


def _plain(name: str) -> str:
    """The name as the least careful file system sees it: no case, invisible characters, trailing dots or blanks."""
    if name.isascii():
        return name.lower().split(":")[0].rstrip(" .")
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(c for c in folded if unicodedata.category(c) != "Cf").split(":")[0].rstrip(" .")


def is_protected(rel: str) -> bool:
    """Does writing here change what runs later (hooks, settings, shell start files)? `rel` is relative, with "/"."""
    names = [_plain(n) or n for n in rel.replace("\\", "/").split("/") if n]
    if any(n in FOLDERS for n in names):
        return True
    return bool(names) and any(fnmatchcase(names[-1], pattern) for pattern in FILES)


@cache
def _secret() -> re.Pattern[str]:
    """All of them in one: a search asks for each of its files."""
    return re.compile("|".join([*map(translate, SECRETS), rf"(?:{_KEY})\Z"]))


_IN_SECRETS = (".env", ".pem", ".key", ".p12", ".pfx", ".kdbx", "netrc", ".npmrc", ".pypirc", ".git-cred", "id_")


def secret_among(names: list[str]) -> bool:
    """May one of the names promise a secret? Told at once of all; "yes" asks for a look at each."""
    together = "\n".join(names).lower()
    return not together.isascii() or any(text in together for text in _IN_SECRETS)


def is_secret(rel: str) -> bool:
    """Does the name promise a secret (.env, private keys, credentials)? `rel` is relative, with "/"."""
    name = _plain(rel.replace("\\", "/").rsplit("/", 1)[-1])
    if name in NO_SECRETS or name.endswith(".pub"):
        return False
    return _secret().match(name) is not None
