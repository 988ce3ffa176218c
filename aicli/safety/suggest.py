"""The rule that "always" would save: general enough to help, never so general that it surprises."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from aicli.content.kinds import ToolKind
from aicli.content.parts import JsonObject
from aicli.safety.gates import Target, holds_secret
from aicli.safety.lexer import lex
from aicli.safety.rules import BUILTIN, host_of
from aicli.safety.shell_parts import Part
from aicli.workspace.protected import is_protected, is_secret


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WITH_SUBCOMMAND = _words(
    "npm pnpm yarn bun deno cargo go make just uv poetry pip pip3 docker kubectl helm terraform dotnet mvn gradle "
    "./gradlew bundle rake mix stack cabal composer git gh apt apt-get brew"
)
_WHOLE = _words("pytest ruff mypy black isort flake8 eslint prettier tsc jest vitest tox nox ctest mkdir touch")
_GIT = _words("add commit stash fetch pull switch branch tag restore")
_NEVER = _words("rm sudo doas su dd mkfs shred eval exec source . chmod chown kill pkill killall curl wget ssh scp")


def shell_rule(parts: tuple[Part, ...], silent: tuple[Part, ...]) -> str:
    """For one command that needs asking beside others that do not; "" when nothing may be saved."""
    open_parts = [p for p in parts if p not in silent]
    if len(open_parts) != 1 or not open_parts[0].plain:
        return ""
    argv = [w for w in open_parts[0].argv if w is not None]
    name, rest = argv[0], argv[1:]
    if not _sound(argv):
        return ""
    exact = shlex.join(argv)
    if name in _WHOLE:
        return f"shell({name} *)"
    if name in _WITH_SUBCOMMAND and rest and re.fullmatch(r"[a-z][a-z0-9:_-]*", rest[0]):
        if name == "git" and rest[0] not in _GIT:
            return f"shell({exact})"
        words = argv[:3] if rest[0] in ("run", "exec") and len(rest) > 1 and not rest[1].startswith("-") else argv[:2]
        return f"shell({shlex.join(words)} *)"
    return f"shell({exact})" if argv[-1] != "*" else ""


def network_rule(parts: tuple[Part, ...], moves: tuple[Part, ...], line: str) -> str:
    """For exactly this line, if it is one plain command, at most behind a cd: what may reach out is never generalised."""
    open_parts = [p for p in parts if p not in moves]
    simples = lex(line)
    if len(open_parts) != 1 or not open_parts[0].plain or not simples or any(s.words[-1] == "*" for s in simples):
        return ""
    return f"network({line})" if all(_sound(s.words) for s in simples) and not re.search(r"[()*\\]", line) else ""


def _sound(argv: Sequence[str]) -> bool:
    return argv[0] not in _NEVER and not any(len(w) > 200 or not w.isprintable() or is_secret(w) for w in argv)


def path_rule(group: str, targets: tuple[Target, ...]) -> str:
    """For one file: its folder and below; a file at the top alone. "" for protected files and secrets."""
    if len(targets) != 1 or targets[0].wrong or targets[0].place is None or holds_secret(targets[0]):
        return ""
    display = targets[0].place.display
    if display.startswith("/") or is_protected(display) or re.search(r"[*?\[\]!#\\()]", display):
        return ""
    folder = PurePosixPath(display).parent.as_posix()
    return f"{group}({folder}/**)" if folder != "." else f"{group}(/{display})"


def flag(rule: str, edits: bool) -> str:
    """The flag by which the next run may do this; "" where no rule is known."""
    if edits:
        return "--permission-mode accept-edits"
    return f"--allowed-tools {shlex.quote(rule)}" if rule else ""


def other_rule(name: str, kind: ToolKind, args: JsonObject) -> str:
    """For an address: its host. For a tool of another making: the tool."""
    if name == "web_fetch":
        host = host_of(args)
        return f"web_fetch(domain:{host})" if re.fullmatch(r"[a-z0-9.-]+", host) and "." in host else ""
    if name.startswith("mcp__"):
        server, _, tool = name[5:].partition("__")
        return f"mcp({server}/{tool})"
    if name == "memory" or (name in BUILTIN and kind is not ToolKind.FETCH):
        return ""
    return name
