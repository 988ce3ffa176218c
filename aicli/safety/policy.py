"""Policy: rules and permission mode give a verdict on one call. Hard gates first, then deny, ask, allow, then the mode."""

from __future__ import annotations

import copy
import os
import shlex
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from aicli.content.kinds import PermissionMode, ToolKind, Verdict
from aicli.content.parts import JsonObject
from aicli.late import dataclass
from aicli.safety import denied, gates, suggest
from aicli.safety.gates import Target
from aicli.safety.rules import READS, Rule, RuleSet, host_of, parse_rule, paths_of
from aicli.safety.shell_rules import (
    READ_ONLY,
    BashLine,
    Part,
    bash_line,
    covers,
    is_free,
    network_rule,
    only_cd,
    parts,
    plain_parts,
    read_only,
)
from aicli.safety.wrappers import name_of
from aicli.workspace.root import Workspace, WorkspaceError

LONG_QUERY = 200
NETWORK = "network"
_CHANGES = (ToolKind.EDIT, ToolKind.DELETE, ToolKind.MOVE)
_TALK = (ToolKind.THINK, ToolKind.PLAN, ToolKind.COMMUNICATE, ToolKind.AGENT)
_ORDER = {"deny": 0, "ask": 1, "allow": 2}


@dataclass(frozen=True, slots=True)
class Decided:
    """What decides one part of a call: for a compound command each of its simple commands has one."""

    text: str
    verdict: Verdict


class Policy:
    """May this call run? Deterministic for given rules, mode and disk; never asks anybody itself.

    `sandbox_status` is full, reduced, none or off. `headless`: nobody can answer, so what would ask is denied.
    `mode` and `untrusted` (text from outside was read) may be set while a run goes on.
    """

    def __init__(
        self,
        mode: PermissionMode = PermissionMode.DEFAULT,
        rules: RuleSet | None = None,
        workspace: Workspace | None = None,
        headless: bool = False,
        sandbox_status: str = "none",
    ) -> None:
        self.mode = mode
        self.rules = rules or RuleSet()
        self.workspace = workspace
        self.headless = headless
        self.sandbox_status = sandbox_status
        self.untrusted = False
        self.shell_cwd: Callable[[], str] = lambda: ""
        self._session: list[Rule] = []

    def verdict(self, name: str, kind: ToolKind, args: JsonObject) -> Verdict:
        """The strictest of what decides the call's parts. Reads the disk to follow links."""
        found = [d.verdict for d in self.explain(name, kind, args)]
        return min(found, key=lambda v: (_ORDER[v.decision], v.rule == READ_ONLY))

    def explain(self, name: str, kind: ToolKind, args: JsonObject) -> tuple[Decided, ...]:
        """Each part of the call with its verdict and the rule or default behind it; at least one."""
        if name == "shell" and isinstance(args.get("command"), str):
            found = self._shell(str(args["command"]), args)
        else:
            found = [Decided(name, self._call(name, kind, args))]
        line = self._line(args) if name == "shell" else ""
        if not self.headless and self.mode is not PermissionMode.DONT_ASK:
            return tuple(found)
        return tuple(Decided(d.text, self._settled(d, line, (name, kind, args))) for d in found)

    def suggest(self, name: str, kind: ToolKind, args: JsonObject) -> str:
        """The rule that "session" or "always" would add, "" when nothing may be generalised from this call."""
        if name == "shell":
            command, cwd = str(args.get("command", "")), self._cwd(args)
            found = parts(command)
            moves = tuple(p for p in found if self._moved(p, cwd))
            if _said(args, "network"):
                return suggest.network_rule(found, moves, self._line(args))
            placed = bash_line(command, self.workspace, cwd)
            return suggest.shell_rule(found, (*moves, *(p for p in found if is_free(p, placed))))
        if kind in _CHANGES or kind in (ToolKind.READ, ToolKind.SEARCH):
            return suggest.path_rule("edit" if kind in _CHANGES else "read", self._targets(args))
        return suggest.other_rule(name, kind, args)

    def allow_for_session(self, rule: str) -> None:
        """Adds an allow rule until the run ends. Raises ConfigError for one that can't be parsed."""
        self._session.append(parse_rule(rule, known=[rule.partition("(")[0]]))

    def may_read(self, path: str) -> bool:
        """False where a deny rule for reading takes the path: for tools that read many files by one call."""
        rules = self._unread
        return not rules or self.workspace is None or not any(self._names(r, path) for r in rules)

    @property
    def _unread(self) -> list[Rule]:
        return [r for r in self.rules.deny if r.spec and (r.tool == "read" or r.tool in READS)]

    def covers(self, rule: str, name: str, kind: ToolKind, args: JsonObject) -> bool:
        """Would this rule let a call pass that is asked about without it? For showing what a new rule would mean."""
        other = copy.copy(self)
        other._session = [*self._session, parse_rule(rule, known=[rule.partition("(")[0]])]
        return (
            self.verdict(name, kind, args).decision != "allow" and other.verdict(name, kind, args).decision == "allow"
        )

    @property
    def allow(self) -> tuple[Rule, ...]:
        return (*self.rules.allow, *self._session)

    def _settled(self, part: Decided, line: str, call: tuple[str, ToolKind, JsonObject]) -> Verdict:
        """Asking where nobody may be asked is a refusal, which names what would allow the call."""
        verdict, (name, kind, args) = part.verdict, call
        if verdict.decision != "ask":
            return verdict
        if verdict.rule == NETWORK:
            why = f"{verdict.why}; nobody is asked here, and only a rule of the user can allow it: network({line})"
            return Verdict("deny", why, NETWORK)
        alone = {**args, "command": part.text} if name == "shell" else args
        if by_mode := verdict.rule.startswith("mode ") or verdict.rule == "secret file":
            edits = kind in _CHANGES and verdict.rule.startswith("mode ")
            if flag := suggest.flag(self.suggest(name, kind, alone), edits):
                return Verdict("deny", f"{verdict.why}; nobody is asked here: allow it with {flag}", verdict.rule)
        if by_mode and self.mode is PermissionMode.DONT_ASK:
            return Verdict("deny", f"{verdict.why}; in mode dont-ask only a rule can allow it", verdict.rule)
        return Verdict("deny", f"{verdict.why}; nobody is there to approve it", verdict.rule)

    def _call(self, name: str, kind: ToolKind, args: JsonObject) -> Verdict:
        targets = self._targets(args)
        changes = kind in _CHANGES
        for target in targets:
            if gate := self._gate(target, changes):
                return gate
        if rule := self._first(self.rules.deny, name, kind, args, targets):
            return Verdict("deny", f"the rule {rule.text} refuses it", rule.text)
        if changes and self.mode is PermissionMode.PLAN:
            return Verdict("deny", "plan mode changes nothing", "mode plan")
        for target in targets:
            if changes and self.workspace and self.workspace.protects(target.given):
                why = f"{target.given} changes what runs later, so it is asked about in every mode"
                return Verdict("ask" if self.mode is not PermissionMode.PLAN else "deny", why, "protected path")
        if rule := self._first(self.rules.ask, name, kind, args, targets):
            return Verdict("ask", f"the rule {rule.text} asks", rule.text)
        if kind is ToolKind.FETCH and (caution := self._caution(args)):
            return caution
        if rule := self._first(self.allow, name, kind, args, targets):
            return Verdict("allow", f"the rule {rule.text} allows it", rule.text)
        if self.mode is not PermissionMode.BYPASS and (secret := next(filter(gates.holds_secret, targets), None)):
            return Verdict("ask", f"{secret.given} looks like a file of secrets", "secret file")
        return self._by_mode(name, kind, args)

    def _gate(self, target: Target, changes: bool) -> Verdict | None:
        if target.wrong:
            hint = "" if self.workspace is None else ". To work there too, start with --add-dir FOLDER"
            return Verdict("deny", target.wrong.rstrip(".") + hint, "outside the workspace")
        if gates.own_file(target) and (changes or target.given.endswith("credentials.toml")):
            return Verdict("deny", f"{target.given} belongs to aicli itself and is changed only by you", "own files")
        return None

    def _by_mode(self, name: str, kind: ToolKind, args: JsonObject) -> Verdict:
        mode = self.mode
        rule = f"mode {mode.value}"
        if name == "memory" and args.get("action") not in (None, "list", "recall", "search"):
            if self.untrusted:
                return Verdict("ask", "text from outside was read, so what is remembered is asked about", rule)
            return Verdict("allow", "remembering needs no question", rule)
        if kind in (ToolKind.READ, ToolKind.SEARCH) or kind in _TALK or name == "memory":
            return Verdict("allow", "it only reads", rule)
        if mode is PermissionMode.BYPASS:
            return Verdict("allow", "mode bypass allows it", rule)
        if kind in _CHANGES:
            if mode is PermissionMode.ACCEPT_EDITS:
                return Verdict("allow", "mode accept-edits allows changes in the workspace", rule)
            return Verdict("ask", "it changes a file", rule)
        if kind is ToolKind.FETCH:
            return Verdict("ask", f"it contacts {host_of(args) or 'the web'}", rule)
        if mode is PermissionMode.PLAN:
            return Verdict("deny", "plan mode runs nothing that may change something", rule)
        return Verdict("ask", "it runs a command" if kind is ToolKind.EXECUTE else f"{name} may change something", rule)

    def _caution(self, args: JsonObject) -> Verdict | None:
        """A long query can carry data out, so no allow rule covers it."""
        try:
            query = urlsplit(str(args.get("url", ""))).query
        except ValueError:
            return None
        if len(unquote(query)) > LONG_QUERY and self.mode is not PermissionMode.BYPASS:
            return Verdict("ask", f"the address carries {len(query)} characters of data", "long query")
        return None

    def _first(
        self, rules: tuple[Rule, ...], name: str, kind: ToolKind, args: JsonObject, targets: tuple[Target, ...]
    ) -> Rule | None:
        for rule in rules:
            if not rule.fits_tool(name, kind):
                continue
            if rule.tool == "web_fetch":
                if rule.fits_host(host_of(args)):
                    return rule
            elif rule.tool in ("shell", "network", "mcp") or not rule.spec:
                return rule
            else:
                for_deny = rules is not self.allow and rules is self.rules.deny
                taken = [gates.rule_takes(rule, t, for_deny=for_deny) for t in targets]
                if taken and (any(taken) if for_deny or rules is self.rules.ask else all(taken)):
                    return rule
        return None

    def _targets(self, args: JsonObject) -> tuple[Target, ...]:
        if self.workspace is None:
            return ()
        return tuple(gates.target_of(self.workspace, given) for given in paths_of(args))

    def _cwd(self, args: JsonObject) -> str:
        """Where the command will run: all links followed, as the shell tool does."""
        given = os.path.join(self.shell_cwd(), str(args.get("cwd") or ""))
        if self.workspace is None:
            return os.path.normpath(os.path.join(os.getcwd(), given))
        try:
            return str(self.workspace.real(given or ".").path)
        except (WorkspaceError, OSError, ValueError):
            return os.path.normpath(os.path.join(self.workspace.root, given))

    def _line(self, args: JsonObject) -> str:
        """The command with the folder that it runs in, if that is not the root: what a rule for the network speaks of."""
        command, cwd = str(args.get("command", "")).strip(), self._cwd(args)
        root = str(self.workspace.root) if self.workspace else os.getcwd()
        return command if cwd == root else shlex.join(("cd", os.path.relpath(cwd, root))) + " && " + command

    def _shell(self, command: str, args: JsonObject) -> list[Decided]:
        cwd = self._cwd(args)
        for target in self._targets({"cwd": args["cwd"]} if args.get("cwd") else {}):
            if target.wrong:
                return [Decided(command, Verdict("deny", target.wrong, "outside the workspace"))]
        opens = _said(args, "network") and self.sandbox_status != "off"  # without a sandbox all have the network
        alone = not opens and not _said(args, "background")
        reads = alone and read_only(command, self.workspace, cwd, git=self.sandbox_status != "off") is not None
        found = plain_parts(command) if reads else parts(command) or (Part((None,), command, plain=False),)
        reads = reads or (alone and only_cd(found) and bool(self._moved(found[0], cwd)))
        placed = BashLine(command) if reads or opens else bash_line(command, self.workspace, cwd)
        rule = network_rule(self.allow, found, command.strip(), self._line(args)) if opens else None
        out: list[Decided] = []
        for part in found:
            moved = self._moved(part, cwd)
            cwd = moved or cwd
            free = not opens and (bool(moved) or is_free(part, placed))
            verdict = self._stopped(part, cwd, _said(args, "network"), reads or free) or (
                self._connected(rule) if opens else self._part(part, reads, free)
            )
            if verdict is not None:
                out.append(Decided(part.text or command, verdict))
        if not reads and all(d.verdict.rule == READ_ONLY for d in out):
            why = "it seems to read only, but is not plain enough to be sure"
            if _said(args, "background"):
                why = "it reads only, but nothing passes as that in the background"
            return [Decided(command, Verdict("ask", why, f"mode {self.mode.value}"))]
        return out

    def _connected(self, rule: Rule | None) -> Verdict:
        if self.mode is PermissionMode.PLAN:
            return Verdict("deny", "plan mode runs nothing that may change something", f"mode {self.mode.value}")
        if self.sandbox_status == "none":
            return Verdict("ask", "no sandbox is available here, so every command is asked about", "no sandbox")
        if rule is not None:
            return Verdict("allow", f"the rule {rule.text} allows it", rule.text)
        return Verdict("ask", "it wants the network", NETWORK)

    def _moved(self, part: Part, cwd: str) -> str:
        """Where a plain `cd` into a folder of the workspace leads, else ""."""
        if part.argv[:1] != ("cd",) or len(part.argv) != 2 or not part.plain or not part.argv[1] or not self.workspace:
            return ""
        target = gates.target_of(self.workspace, os.path.join(cwd, part.argv[1]))
        inside = target.real is not None and not target.wrong and os.path.isdir(target.real.path)
        return os.path.normpath(os.path.join(cwd, part.argv[1])) if inside else ""

    def _stopped(self, part: Part, cwd: str, network: bool, reads: bool) -> Verdict | None:
        """What refuses or asks about a simple command whatever the mode allows, and whatever the allow rules say."""
        roots = [self.workspace.root, *self.workspace.extra] if self.workspace else []
        if place := gates.deletes_a_root(part, roots, cwd):
            return Verdict("deny", f"it deletes {place} with all that is in it", "deletes a root")
        network = network or (self.sandbox_status in ("off", "none") and not reads)  # then every command has it
        if refused := self._denied(part, cwd, network, reads):
            return refused
        for rule in self.rules.ask:
            if _speaks_of(rule, network) and rule.fits_argv(part.argv, strictly=False) != "no":
                return Verdict("ask", f"the rule {rule.text} asks", rule.text)
        if part.argv[0] == ">" and self._protected(part.argv[-1], cwd):
            why = f"{part.argv[-1]} changes what runs later, so it is asked about in every mode"
            return Verdict("ask", why, "protected path")
        if self._unread and _reads_much(part) and (reads or self.mode is not PermissionMode.PLAN):
            return Verdict("ask", "it reads many files, and a rule denies reading some", self._unread[0].text)
        return None

    def _part(self, part: Part, reads: bool, free: bool) -> Verdict | None:
        """The verdict on one simple command; None for a wrapper, since what it runs is judged.

        `reads`: the whole line is run without a shell. `free`: bash runs this part in a way that can only read.
        """
        mode = f"mode {self.mode.value}"
        if reads and self.sandbox_status != "none":
            return Verdict("allow", "it only reads", READ_ONLY)
        if part.wrapper and free:
            return None
        if self.mode is PermissionMode.PLAN:
            return Verdict("deny", "plan mode runs nothing that may change something", mode)
        if self.sandbox_status == "none":
            return Verdict("ask", "no sandbox is available here, so every command is asked about", "no sandbox")
        if self.mode is PermissionMode.BYPASS:
            return Verdict("allow", "mode bypass allows it", mode)
        for rule in self.allow:
            if rule.of_commands and covers(rule, part):
                return Verdict("allow", f"the rule {rule.text} allows it", rule.text)
        if free:
            return Verdict("allow", "it only reads", READ_ONLY)
        return Verdict("ask", "it runs a command" if None not in part.argv[:1] else "it is not fully understood", mode)

    def _denied(self, part: Part, cwd: str, network: bool, reads: bool) -> Verdict | None:
        for rule in self.rules.deny:
            if _speaks_of(rule, network):
                fit = rule.fits_argv(part.argv, strictly=False)
                if fit == "yes":
                    bare = rule.tool == "network" and self.sandbox_status in ("off", "none")
                    why = "; without a sandbox every command has the network" if bare else ""
                    return Verdict("deny", f"the rule {rule.text} refuses it{why}", rule.text)
                if fit == "maybe":
                    why = f"it can't be told whether the rule {rule.text} refuses it; write the command out plainly"
                    return Verdict("deny", why, rule.text)
                continue
            concerns = bool(rule.spec) if rule.tool == "read" else denied.concerns_changes(rule) and not reads
            if concerns and self.workspace and (word := self._named_by(rule, part, cwd)):
                return Verdict("deny", f"the rule {rule.text} refuses {word}", rule.text)
        return None

    def _named_by(self, rule: Rule, part: Part, cwd: str) -> str:
        """The word by which a command names what a deny rule for paths takes, "" if none is seen."""
        assert self.workspace is not None
        if rule.tool == "read":
            words = (w for w in part.argv[1:] if w and not w.startswith("-"))
            return next((w for w in words if self._names(rule, os.path.join(cwd, w))), "")
        held = denied.plain_path(rule, self.workspace.root)
        if held and (word := denied.takes_all(part, held, cwd)):
            return word
        return next((w for w in denied.changed_paths(part) if self._names(rule, os.path.join(cwd, w))), "")

    def _protected(self, word: str | None, cwd: str) -> bool:
        if not word or self.workspace is None:
            return False
        try:
            return self.workspace.protects(os.path.join(cwd, word))
        except WorkspaceError:
            return False  # outside, where the sandbox decides

    def _names(self, rule: Rule, path: str) -> bool:
        assert self.workspace is not None
        target = gates.target_of(self.workspace, path)
        return target.place is not None and gates.rule_takes(rule, target, for_deny=True)


def _said(args: JsonObject, name: str) -> bool:
    """Is a switch on? What is not plainly off counts as on."""
    return args.get(name) not in (None, False)


def _speaks_of(rule: Rule, network: bool) -> bool:
    """Is a deny or ask rule about this command line? One for network only where the line wants it."""
    return rule.tool == "shell" or (network and rule.tool == "network")


def _reads_much(part: Part) -> bool:
    """Does it read files that the line does not name?"""
    name = name_of(part.argv[0])
    if name == "git":
        return bool({"diff", "show", "log"} & set(part.argv))
    flags = [w for w in part.argv[1:] if w and w.startswith("-")]
    deep = any(w == "--recursive" if w.startswith("--") else {"r", "R"} & set(w) for w in flags)
    return name in ("grep", "diff") and deep
