"""Permissions: list the rules, explain what decides a call, test them; trust a folder or stop trusting it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from aicli.safety.policy import Decided, Policy
    from aicli.settings_load import Loaded
    from aicli.ui.console import Console

app = typer.Typer(
    help="Permissions: list the rules, explain what decides a call, test them; trust a folder.",
    rich_markup_mode=None,
    add_completion=False,
    invoke_without_command=True,
)
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Mode = Annotated[str, typer.Option("--mode", "--permission-mode", metavar="MODE", help="As if in this mode.")]
HEADLESS = "without a terminal the mode is dont-ask: what would ask is denied"
"""Where no mode is set."""
WithTool = Annotated[str, typer.Option("--tool", metavar="NAME", help="Another tool than shell.")]


@app.callback()
def permissions(ctx: typer.Context) -> int | None:
    """Permissions: list the rules, explain what decides a call, test them; trust a folder."""
    return list_() if ctx.invoked_subcommand is None else None


@app.command("list")
def list_(mode: Mode = "", as_json: AsJson = False) -> int:
    """The mode, the sandbox and every rule in the order in which they are tried."""
    from aicli.ui.translate import said

    loaded, policy, box = _setup(mode)
    rows = [
        {"decision": decision, "rule": rule.text, "from": source}
        for decision, source, rules in _sources(loaded, policy)
        for rule in rules
    ]
    if as_json:
        headless = loaded.settings.permissions.mode or "dont-ask"
        _json(
            {
                "mode": policy.mode.value,
                "headless_mode": headless,
                "sandbox": box.status,
                "missing": list(box.missing),
                "rules": rows,
            }
        )
        return 0
    lines = [f"mode     {policy.mode.value}  ({loaded.origin.get('permissions.mode', 'default')})"]
    if not loaded.settings.permissions.mode:
        lines += [f"         {said(HEADLESS)}"]
    lines += [f"sandbox  {box.status}{f' ({box.kind})' if box.kind else ''}"]
    lines += [f"         not kept: {m}" for m in box.missing]
    lines += [f"{r['decision']:<8} {r['rule']}  ({said(r['from'])})" for r in rows] or ["no rules: the mode decides"]
    lines += [
        "",
        "Tried in this order: what no mode lifts, deny, ask, allow, then the mode. The first that fits decides.",
    ]
    _console().tell("\n".join(lines))
    return 0


@app.command()
def explain(
    subject: Annotated[str, typer.Argument(metavar="CMD", help="A command line; with --tool a path or an address.")],
    mode: Mode = "",
    tool: WithTool = "shell",
    network: Annotated[bool, typer.Option("--network", help="As if the command asked for the network.")] = False,
    as_json: AsJson = False,
) -> int:
    """What decides a command, part by part; runs nothing.

    Ends with 0 for allow, 1 for ask, 3 for deny.
    """
    from aicli.safety.rules import BUILTIN
    from aicli.ui.translate import said

    loaded, policy, _ = _setup(mode)
    name = tool if tool in BUILTIN else _tool_name(tool)
    kind, args = _call(name, subject)
    args |= {"network": True} if network and name == "shell" else {}
    parts = policy.explain(name, kind, args)
    whole = policy.verdict(name, kind, args)
    rule = policy.suggest(name, kind, args) if whole.decision == "ask" else ""
    if as_json:
        _json({"decision": whole.decision, "why": whole.why, "parts": [_row(p) for p in parts], "always": rule})
    else:
        lines = [
            f"{p.verdict.decision:<6} {p.text}\n       {said(p.verdict.why)}  ({said(p.verdict.rule)})" for p in parts
        ]
        if len(parts) > 1:
            lines.append(f"\n{whole.decision}: the strictest part decides")
        if whole.decision == "ask" and not loaded.settings.permissions.mode:
            lines.append(f"\n{said(HEADLESS)}")
        if rule:
            lines.append(f"\n“always” would save: {rule}")
        _console().tell("\n".join(lines))
    return {"allow": 0, "ask": 1, "deny": 3}[whole.decision]


@app.command()
def test(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Lines such as `deny: curl x`; - reads standard input.")
    ] = None,
    mode: Mode = "",
    as_json: AsJson = False,
) -> int:
    """Check that the rules can be read, and what commands would get.

    Each rule must fit its examples. With a file: what each command in it would get.
    """
    from aicli.content.kinds import ToolKind
    from aicli.ui.translate import said

    loaded, policy, _ = _setup(mode)
    rows: list[dict[str, Any]] = []
    for line in _lines(file):
        wanted, colon, command = line.partition(":")
        if not colon or wanted.strip() not in ("allow", "ask", "deny"):
            wanted, command = "", line
        verdict = policy.verdict("shell", ToolKind.EXECUTE, {"command": command.strip()})
        right = not wanted or wanted.strip() == verdict.decision
        rows.append(
            {"command": command.strip(), "decision": verdict.decision, "rule": verdict.rule, "as_wanted": right}
        )
    wrong = [r for r in rows if not r["as_wanted"]]
    count = sum(len(rules) for _, _, rules in _sources(loaded, policy))
    if as_json:
        _json({"rules": count, "results": rows, "wrong": len(wrong)})
    else:
        lines = [
            f"{'  ' if r['as_wanted'] else '✗ '}{r['decision']:<6} {r['command']}  ({said(r['rule'])})" for r in rows
        ]
        lines.append(
            f"{count} rules can be read and fit their examples" + (f"; {len(wrong)} lines differ" if wrong else "")
        )
        _console().tell("\n".join(lines))
    return 1 if wrong else 0


@app.command()
def trust(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Without the question.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Stop trusting this folder.")] = False,
    as_json: AsJson = False,
) -> int:
    """Trust this folder's own files, after showing what they do.

    Shows what they would set or run, and asks before it trusts them.
    """
    import sys

    from aicli.errors import TrustError
    from aicli.safety import trust as trusts
    from aicli.ui.console import is_terminal
    from aicli.ui.translate import said

    here = Path.cwd()
    console = _console()
    if revoke:
        console.tell("no longer trusted" if trusts.revoke(here) else "it was not trusted")
        return 0
    changes = trusts.changes(here)
    if as_json:
        items = [{"kind": i.kind, "path": i.path, "summary": i.summary} for i in trusts.found(here)]
        _json({"root": str(trusts.repo_root(here)), "trusted": trusts.trusted(here), "items": items})
        return 0
    if trusts.trusted(here):
        console.tell(f"{trusts.repo_root(here)} is trusted and unchanged")
        return 0
    if not changes:
        console.tell(f"no file in {trusts.repo_root(here)} would set or run anything: there is nothing to trust")
        return 0
    for change in changes:
        kind = "new" if change.new else "changed"
        console.tell(f"{kind}: {change.item.path}: {change.item.summary}")
        console.out_text(change.diff)
    question = f"Trust these {len(changes)} files in {trusts.repo_root(here)}?"
    if not yes:
        if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
            why = "these files are not trusted: nobody can be asked here"
            raise TrustError(why, hint="Say --yes once you have read them")
        if not typer.confirm(said(question), default=False, err=True):
            return 1
    console.tell(f"{trusts.grant(here)} is trusted while these files stay as they are")
    return 0


def _setup(mode: str) -> tuple[Loaded, Policy, Any]:
    from aicli.commands._listing import tools_of
    from aicli.content.kinds import PermissionMode
    from aicli.errors import UsageError
    from aicli.safety.policy import Policy
    from aicli.safety.rules import parse_rules
    from aicli.safety.sandbox import detect
    from aicli.safety.saved import saved_rules
    from aicli.safety.trust import trusted
    from aicli.settings_load import load
    from aicli.workspace.root import Workspace

    here = Path.cwd()
    try:
        flags = {"permissions.mode": PermissionMode.parse(mode).value} if mode else {}
    except ValueError:
        raise UsageError(
            f"there is no permission mode {mode!r}", hint="plan, default, accept-edits, dont-ask, bypass"
        ) from None
    loaded = load(flags, cwd=here, trusted=trusted(here))
    settings = loaded.settings
    box = detect(settings.sandbox.mode if settings.sandbox.mode != "required" else "auto", here, settings.sandbox.read)
    rules = settings.permissions
    names = tools_of(here).canonical
    policy = Policy(
        mode=PermissionMode(rules.mode or "default"),
        rules=parse_rules(rules.deny, rules.ask, (*rules.allow, *saved_rules(here, names)), known=names),
        workspace=Workspace(here),
        sandbox_status=box.status,
    )
    return loaded, policy, box


def _sources(loaded: Loaded, policy: Policy) -> list[tuple[str, str, Any]]:
    origin = loaded.origin
    rows = [
        (name, origin.get(f"permissions.{name}", "default"), getattr(policy.rules, name))
        for name in ("deny", "ask", "allow")
    ]
    said = len(loaded.settings.permissions.allow)
    allow = policy.rules.allow
    return [*rows[:2], ("allow", rows[2][1], allow[:said]), ("allow", "saved for this project", allow[said:])]


def _tool_name(name: str) -> str:
    from aicli.safety.rules import parse_rule

    return {"read": "read_file", "edit": "write_file"}.get(parse_rule(name).tool, parse_rule(name).tool)


def _call(name: str, subject: str) -> tuple[Any, dict[str, Any]]:
    from aicli.content.kinds import ToolKind
    from aicli.safety.rules import EDITS, READS

    if name == "shell":
        return ToolKind.EXECUTE, {"command": subject}
    if name in READS:
        return ToolKind.READ, {"path": subject}
    if name in EDITS:
        return ToolKind.EDIT, {"path": subject}
    return (ToolKind.FETCH, {"url": subject}) if name.startswith("web") else (ToolKind.OTHER, {})


def _lines(file: Path | None) -> list[str]:
    import sys

    from aicli.errors import InputError

    if file is None:
        return []
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise InputError(f"{file}: {e}") from None
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def _row(part: Decided) -> dict[str, str]:
    return {"text": part.text, "decision": part.verdict.decision, "rule": part.verdict.rule, "why": part.verdict.why}


def _json(value: Any) -> None:
    from aicli.clean import json_text

    _console().out_exact(json_text(value))


def _console() -> Console:
    import os

    from aicli.clean import Redactor
    from aicli.safety.secrets import all_secrets
    from aicli.ui.console import Console

    return Console(Redactor(all_secrets(os.environ)))
