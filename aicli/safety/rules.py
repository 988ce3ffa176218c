"""Permission rules: their grammar, and which calls one fits. A rule that can't be parsed is an error when it is loaded."""

from __future__ import annotations

import difflib
import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from aicli.content.kinds import ToolKind
from aicli.content.parts import JsonObject
from aicli.errors import ConfigError
from aicli.late import dataclass, regex
from aicli.safety.wrappers import Word, name_of

READS = ("read_file", "read_many_files", "grep", "glob", "ls")
EDITS = ("write_file", "edit")
BUILTIN = (
    *READS,
    *EDITS,
    *("shell", "shell_jobs", "web_fetch", "web_search", "memory", "tasks", "ask_user", "agent"),
)
PATH_KEYS = ("path", "paths", "file_path", "file", "files", "source", "destination", "folder", "directory", "cwd")
_ALIASES = {
    "bash": "shell",
    "run_shell_command": "shell",
    "execute_command": "shell",
    "multiedit": "edit",
    "write": "edit",
    "notebookedit": "edit",
    "replace": "edit",
    "webfetch": "web_fetch",
    "websearch": "web_search",
    "todowrite": "tasks",
    "task": "agent",
    "delegate": "agent",
    "spawn_agent": "agent",
    "list_directory": "ls",
    "search_file_content": "grep",
}
_FORM = regex(r"\s*([A-Za-z_][\w.-]*)\s*(?:\(([\s\S]*)\))?\s*")
_QUOTED = regex(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""")
_UNCLOSED = "Separate rules by commas; write a bracket that belongs to the text with \\ before it"
Fit = Literal["yes", "maybe", "no"]
Known = Collection[str] | Mapping[str, str]
"""Tools beside the builtin ones: their names, or every name and alias with the name of its tool."""


@dataclass(frozen=True)
class Rule:
    """One rule. `tool` is a tool's name or a group (read, edit, mcp), `spec` what stands in the brackets, "" for any."""

    text: str
    tool: str
    spec: str = ""
    words: tuple[str, ...] = ()
    open: bool = True

    @property
    def of_commands(self) -> bool:
        """Is it about command lines: shell(…), or network(…), which speaks of commands that may reach the network?"""
        return self.tool in ("shell", "network")

    def fits_tool(self, name: str, kind: ToolKind | None = None) -> bool:
        if self.tool == "read":
            return name in READS or (kind in (ToolKind.READ, ToolKind.SEARCH) and name not in BUILTIN)
        if self.tool == "edit":
            return name in EDITS or kind in (ToolKind.EDIT, ToolKind.DELETE, ToolKind.MOVE)
        if self.tool == "mcp":
            return _mcp_fits(self.spec, name)
        return name == self.tool

    def fits_argv(self, argv: Sequence[Word], *, strictly: bool) -> Fit:
        """Does a simple command fall under this shell rule? `strictly` (for allow): the program as it is spelled.

        Otherwise (deny, ask) its folder, git's own options and the order of flags make no difference.
        """
        if not self.words:
            return "yes"
        if strictly:
            return "yes" if None not in argv and self._prefix(argv) == "yes" else "no"
        fits = [self._prefix(_bare(argv))]
        if name_of(argv[0]) == "git":
            fits.append(self._prefix(_without_git_options(argv)))
        if any(w.startswith("-") for w in self.words):
            fits.append(self._any_order(_bare(argv)))
        return "yes" if "yes" in fits else "maybe" if "maybe" in fits else "no"

    def _prefix(self, argv: Sequence[Word]) -> Fit:
        for n, wanted in enumerate(self.words):
            if n >= len(argv):
                return "no"
            if argv[n] is None:
                return "maybe"  # an unknown word may stand for several
            if argv[n] != wanted:
                return "no"
        if not self.open and len(argv) != len(self.words):
            return "maybe" if None in argv else "no"
        return "yes"

    def _any_order(self, argv: Sequence[Word]) -> Fit:
        """The flags of the rule in any order and cluster, its other words as a prefix of the other words."""
        if None in argv:
            return "maybe" if argv[0] is None or argv[0] == self.words[0] else "no"
        words = [w for w in argv if w is not None]
        if not _flags(self.words) <= _flags(words):
            return "no"
        wanted = [w for w in self.words if not w.startswith("-")]
        return "yes" if [w for w in words if not w.startswith("-")][: len(wanted)] == wanted else "no"

    def fits_path(self, display: str, absolute: str, *, folded: bool = False) -> bool:
        """Does the pattern, a gitignore glob, take this path? `display` is relative to the root. `folded`: any case."""
        if not self.spec:
            return True
        from pathspec import GitIgnoreSpec  # 30 ms, and only where a rule names a path

        pattern, subject = self.spec, display
        if pattern.startswith("//"):
            pattern, subject = pattern[1:], absolute.lstrip("/")
        elif pattern.startswith("~/"):
            pattern, subject = os.path.expanduser("~") + pattern[1:], absolute.lstrip("/")
        elif pattern.startswith("./"):
            pattern = pattern[1:]
        if folded:
            pattern, subject = pattern.casefold(), subject.casefold()
        return GitIgnoreSpec.from_lines([pattern]).match_file(subject)

    def fits_host(self, host: str) -> bool:
        if not self.spec:
            return True
        wanted = self.spec.removeprefix("domain:").strip().lower()
        host = host.lower().rstrip(".")
        return host.endswith(wanted[1:]) and host != wanted[2:] if wanted.startswith("*.") else host == wanted


@dataclass(frozen=True)
class RuleSet:
    """The rules of one run, in the order they are tried: deny, ask, allow; within each the first that fits decides."""

    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    allow: tuple[Rule, ...] = ()


def parse_rule(given: str | Mapping[str, Any], known: Known = ()) -> Rule:
    """A rule from settings: text, or a table {rule, match, not_match} whose examples are checked. `known`: more tools.

    Raises ConfigError for one that can't be parsed, names no tool or fails its examples.
    """
    if isinstance(given, str):
        return _parse(given, known)
    extra = set(given) - {"rule", "match", "not_match"}
    if extra or not isinstance(given.get("rule"), str):
        raise ConfigError(f"permission rule {dict(given)!r} needs rule = text and may have match and not_match")
    rule = _parse(str(given["rule"]), known)
    for wanted, examples in ((True, given.get("match", ())), (False, given.get("not_match", ()))):
        for example in [examples] if isinstance(examples, str) else examples:
            if fits_example(rule, str(example)) is not wanted:
                verb = "does not match" if wanted else "matches"
                raise ConfigError(f"permission rule {rule.text!r} {verb} its example {example!r}")
    return rule


def names_tool(text: str, known: Known = ()) -> bool:
    """Can the rule be read, and is its tool built in, a group or `known`?"""
    try:
        _parse(text, known)
    except ConfigError:
        return False
    return True


def parse_rules(
    deny: Iterable[str | Mapping[str, Any]] = (),
    ask: Iterable[str | Mapping[str, Any]] = (),
    allow: Iterable[str | Mapping[str, Any]] = (),
    known: Known = (),
) -> RuleSet:
    """The three lists of the settings. Raises ConfigError as parse_rule does."""
    made = [tuple(parse_rule(r, known) for r in one) for one in (deny, ask, allow)]
    return RuleSet(*made)


def _parse(text: str, known: Known) -> Rule:
    found = _FORM.fullmatch(text)
    if not found and not _closed(text, quotes=False):
        raise ConfigError(f"permission rule {text!r}: a bracket is not closed", hint=_UNCLOSED)
    if not found:
        raise ConfigError(
            f"permission rule {text!r} can't be read", hint="Write tool or tool(what), as shell(git log *)"
        )
    name, spec = found.group(1), (found.group(2) or "").strip()
    tool = _tool(name, text, known)
    if name.startswith("mcp__"):
        server, _, own = name[5:].partition("__")
        return Rule(text, "mcp", f"{server}/{own or '*'}")
    if not _closed(spec, quotes=tool in ("shell", "network")):
        raise ConfigError(f"permission rule {text!r}: a bracket is not closed", hint=_UNCLOSED)
    if tool in ("shell", "network"):
        return _shell_rule(text, tool, spec)
    if tool == "web_fetch" and spec and not re.fullmatch(r"domain:(?:\*\.)?[A-Za-z0-9_.-]+", spec):
        raise ConfigError(f"permission rule {text!r}: web_fetch takes domain:example.org or domain:*.example.org")
    if tool == "mcp" and not re.fullmatch(r"[\w.-]+(?:/[\w.*-]+)?", spec):
        raise ConfigError(f"permission rule {text!r}: write mcp(server) or mcp(server/tool)")
    takes = ("web_fetch", "mcp", "read", "edit", "memory", *READS, *EDITS)
    if spec and tool not in takes:
        raise ConfigError(f"permission rule {text!r}: {tool} takes nothing in brackets")
    return Rule(text, tool, spec)


def _tool(name: str, text: str, known: Known) -> str:
    others = known if isinstance(known, Mapping) else {other: other for other in known}
    names = {*BUILTIN, "read", "edit", "mcp", "network", *(others.values() if others is known else ())}
    if name.startswith("mcp__") or name in names:
        return name
    folded = name.lower()
    for found in (_ALIASES.get(folded), folded if folded in names else None, others.get(name), others.get(folded)):
        if found:
            return found
    near = difflib.get_close_matches(folded, {*names, *_ALIASES, *others}, 1)
    meant = [_ALIASES.get(n) or others.get(n, n) for n in near]
    hint = f"Did you mean {meant[0]}?" if meant else "Tools: " + ", ".join(sorted(names))
    raise ConfigError(f"permission rule {text!r} names no tool", hint=hint)


def _closed(spec: str, *, quotes: bool) -> bool:
    """Does every bracket in it have its partner? With `quotes`, those in quotes or after a backslash don't count."""
    plain = _QUOTED.sub("", spec) if quotes else re.sub(r"\\.", "", spec)
    depth = 0
    for char in plain:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0


def _shell_rule(text: str, tool: str, spec: str) -> Rule:
    if spec.endswith(":*"):
        spec = spec[:-2] + " *"
    try:
        words = shlex.split(spec)
    except ValueError:
        raise ConfigError(f"permission rule {text!r}: a quote is not closed") from None
    is_open = not words or words[-1] == "*"
    words = words[:-1] if words and words[-1] == "*" else words
    if any("*" in w for w in words) and not any(c in spec for c in "'\""):
        raise ConfigError(f"permission rule {text!r}: * may only be the last word", hint=f"As in {tool}(npm test *)")
    return Rule(text, tool, spec, tuple(words), is_open)


def fits_example(rule: Rule, example: str) -> bool:
    """Does the rule fit an example: a command, a path, an address, or server/tool, as its tool takes them."""
    from aicli.safety.shell_parts import parts  # only shell examples need the parser

    if rule.of_commands:
        return any(rule.fits_argv(p.argv, strictly=False) == "yes" for p in parts(example))
    if rule.tool == "web_fetch":
        return rule.fits_host(urlsplit(example if "://" in example else f"https://{example}").hostname or "")
    if rule.tool == "mcp":
        return _mcp_fits(rule.spec, "mcp__" + example.replace("/", "__", 1))
    return rule.fits_path(example.removeprefix("./"), os.path.abspath(example))


def paths_of(args: JsonObject) -> tuple[str, ...]:
    """Every path that a call names."""
    found: list[str] = []
    for key in PATH_KEYS:
        value = args.get(key)
        found += [value] if isinstance(value, str) else [v for v in value if isinstance(v, str)] if value else []
    return tuple(found)


def host_of(args: JsonObject) -> str:
    try:
        return (urlsplit(str(args.get("url", "")).strip()).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def matches(rule: Rule | str, name: str, args: JsonObject, root: Path | None = None) -> bool:
    """Would this rule, as an allow rule, have taken that call? For showing before it is saved."""
    from aicli.safety.shell_parts import parts

    rule = parse_rule(rule, known=[name]) if isinstance(rule, str) else rule
    if rule.of_commands:
        if name != "shell" or (args.get("network") and rule.tool != "network"):
            return False
        found = [p for p in parts(str(args.get("command", ""))) if not p.wrapper]
        return bool(found) and all(p.plain and rule.fits_argv(p.argv, strictly=True) == "yes" for p in found)
    if not rule.fits_tool(name):
        return False
    if rule.tool == "web_fetch":
        return rule.fits_host(host_of(args))
    base = root or Path.cwd()
    where = [os.path.normpath(base / p) for p in paths_of(args)]
    return all(rule.fits_path(os.path.relpath(w, base), w) for w in where) and (bool(where) or not rule.spec)


def _mcp_fits(spec: str, name: str) -> bool:
    if not name.startswith("mcp__"):
        return False
    server, _, tool = name[5:].partition("__")
    wanted, _, own = spec.partition("/")
    return server == wanted and own in ("", "*", tool)


def _bare(argv: Sequence[Word]) -> tuple[Word, ...]:
    return (None if argv[0] is None else name_of(argv[0]).casefold(), *argv[1:])


def _flags(words: Sequence[str]) -> set[str]:
    out: set[str] = set()
    for word in words[1:]:
        if word == "--":
            break
        if word.startswith("--"):
            out.add(word.split("=")[0])
        elif word.startswith("-"):
            out |= set(word[1:])
    return out


def _without_git_options(argv: Sequence[Word]) -> tuple[Word, ...]:
    at = 1
    while at < len(argv) and (word := argv[at]) is not None and word.startswith("-"):
        at += 2 if word in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env") else 1
    return ("git", *argv[at:])
