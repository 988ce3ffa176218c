"""The shell tool: runs a command line, confined, and says how it ended."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from aicli.clean import sanitise
from aicli.content.events import Warned
from aicli.content.kinds import ToolKind
from aicli.content.parts import JsonObject
from aicli.content.results import CommandDisplay, ToolResult
from aicli.content.value import Note
from aicli.late import regex
from aicli.safety.secrets import SYSTEM_PATH, child_environ
from aicli.safety.shell_rules import bash_line, read_only
from aicli.tools.base import ToolContext, ToolFailed, tool
from aicli.tools.jobs import Jobs, TooManyJobs
from aicli.tools.launch import Command
from aicli.tools.process import ProcessResult, run, signal_name
from aicli.workspace.faults import WorkspaceError

LONGEST = 3600.0
"""Seconds; a longer limit is cut to this and said so."""

_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "true",
    "VISUAL": "true",
    "CI": "1",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
"""What keeps programs from paging, asking or opening an editor: nobody sits at the other end."""

_NO_WAY_OUT = regex(
    r"could not resolve|(?:failure|error) in name resolution|name or service not known|nodename nor servname|unknown host"
    r"|network is unreachable|no address associated|unable to resolve|ENOTFOUND|EAI_AGAIN|NameResolutionError"
    r"|dial tcp: lookup|failed to lookup address|bad address '|getaddrinfo|socket: operation not permitted"
    r"|failed to establish a new connection|socket\.socket\(|could not connect to server",
    re.IGNORECASE,
)
"""What programs say where the network is closed."""

_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_ONLY_CD = regex(r"\s*cd(?:\s+(?:--\s+)?(?P<to>[^;&|<>$`(){}*?!#\n]+))?\s*;?\s*")


def _adapt(args: JsonObject) -> JsonObject:
    """`command` as a list, a program with `args` beside it, and `env` become one line, which is what is judged."""
    out = dict(args)
    if "command" not in out and isinstance(out.get("cmd"), list):
        out["command"] = out.pop("cmd")
    command, more = out.get("command"), out.get("args")
    if isinstance(command, list):
        words = [str(w) for w in command]
        shell = len(words) == 3 and os.path.basename(words[0]) in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc")
        out["command"] = words[2] if shell else shlex.join(words)
    if isinstance(more, list):
        del out["args"]
        if more and isinstance(out.get("command"), str):
            out["command"] = " ".join([out["command"], *(shlex.quote(str(w)) for w in more)])
    env = out.get("env")
    if isinstance(env, dict) and isinstance(out.get("command"), str) and all(map(_NAME.fullmatch, env)):
        del out["env"]
        sets = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in env.items())
        out["command"] = f"export {sets}; {out['command']}" if sets else out["command"]
    for key in ("stream_output", "description", "explanation"):
        out.pop(key, None)
    return out


def _title(args: Mapping[str, Any]) -> str:
    opens = str(args.get("network", "")).lower() in ("true", "1", "yes")
    return f"$ {'(network on) ' if opens else ''}{args.get('command', '')}"


@tool(
    kind=ToolKind.EXECUTE,
    title=_title,
    rare=("background", "cwd", "network"),
    aliases=(
        "bash",
        "run_shell_command",
        "execute_command",
        "run_command",
        "terminal",
        "exec",
        "sh",
        "run_terminal_cmd",
    ),
    param_aliases={
        "cmd": "command",
        "script": "command",
        "working_dir": "cwd",
        "workdir": "cwd",
        "working_directory": "cwd",
        "directory": "cwd",
        "dir_path": "cwd",
        "timeout_seconds": "timeout",
        "is_background": "background",
        "run_in_background": "background",
        "network_access": "network",
        "allow_network": "network",
        "with_network": "network",
    },
    adapt=_adapt,
    timeout=None,
    compact="Run a bash command.",
)
async def shell(
    ctx: ToolContext,
    command: str,
    timeout: Annotated[float | None, Note("Seconds.", gt=0)] = None,
    cwd: str = "",
    background: bool = False,
    network: bool = False,
) -> ToolResult:
    """Run bash in the workspace, no input. A plain `cd DIR` moves later calls; background=true: a job for shell_jobs;
    network=true asks for the network."""
    if sys.platform == "win32":
        raise ToolFailed("The shell tool does not support Windows yet. Use the file tools.")
    if not command.strip():
        raise ToolFailed("command is empty: give the line to run.")
    if "\0" in command:
        raise ToolFailed("command holds a NUL character; write such bytes with printf '\\000' instead.")
    if ctx.state.shell_cwd and not _kept_folder(ctx).is_dir():
        gone, ctx.state.shell_cwd = ctx.state.shell_cwd, ""
        raise ToolFailed(f"The folder {gone} is gone; commands run in the workspace root again. Repeat the call.")
    folder = _folder(ctx, cwd)
    opens = network and _closed(ctx)
    if (change := _ONLY_CD.fullmatch(command)) and not background:
        return _change_folder(ctx, folder, change.group("to") or "")
    if not (background or opens) and (commands := _only_reads(ctx, command, folder)):
        return await _run(ctx, commands, command, timeout)
    if ctx.call_id in ctx.state.only_reads:  # what was judged is what runs, or nothing
        raise ToolFailed("This line passed as one that only reads, which it is no longer: what it names has changed.")
    if ctx.state.checkpoints is not None:
        await asyncio.to_thread(ctx.state.checkpoints.before_command, tuple(ctx.state.seen), ctx.state.turn)
    if opens and ctx.state.offline:
        raise ToolFailed("This run is offline: no command may use the network. Work with what is here.")
    env = _environment(ctx, opens)
    line = command if opens else bash_line(command, ctx.state.workspace, str(folder)).text
    job = Command((_program(), "-c", line), folder, env, ctx.state.sandbox, network=opens)
    if background:
        return _start(ctx, job, command)
    changed: list[str] = []
    try:
        result = await _run(ctx, [(";", job)], command, timeout)
    finally:
        if ctx.state.checkpoints is not None:
            changed += await asyncio.to_thread(ctx.state.checkpoints.after_command)
    return result.model_copy(update={"data": {**result.data, "files_changed": changed}}) if changed else result


def _only_reads(ctx: ToolContext, line: str, folder: Path) -> list[tuple[str, Command]]:
    """A line that certainly only reads, as the very programs that were judged; [] for any other."""
    sandbox = ctx.state.sandbox
    with_git = sandbox is not None and sandbox.status in ("full", "reduced")
    plan = read_only(line, ctx.state.workspace, str(folder), git=with_git)
    if plan is None:
        return []
    env = _environment(ctx) | {"PATH": SYSTEM_PATH}
    out: list[tuple[str, Command]] = []
    for step in plan.steps:
        *feeds, last = step.pipeline
        command = Command(last, Path(step.cwd), env, sandbox, writable=False, feeds=tuple(feeds))
        out.append((step.joiner or ";", command))
    return out


async def _run(ctx: ToolContext, commands: list[tuple[str, Command]], line: str, timeout: float | None) -> ToolResult:
    limit = min(timeout or ctx.state.shell.timeout, LONGEST)
    jobs = jobs_of(ctx)
    try:
        result = await run(
            *commands,
            timeout=limit,
            on_output=ctx.progress,
            limit=ctx.state.shell.output_limit,
            file=jobs.output_file(),
        )
    except OSError as e:
        raise ToolFailed(f"The command could not be started: {e.strerror or e}.") from None
    for words in result.capture.notes:
        ctx.emit(Warned(text=sanitise(words)))
    ending = _ending(result, limit)
    rest = ""
    if result.truncated:
        kept = jobs.keep(line, result.capture, ending)
        rest = f'; shell_jobs(action="read", id="{kept.id}") has it'
    text, _ = result.capture.text(ctx.state.shell.output_limit, rest)
    if not result.truncated:
        result.capture.discard()
    if timeout and timeout > LONGEST and result.timed_out:
        ending += f"; {LONGEST:.0f} s is the most that timeout may be"
    if not result.ok and _closed(ctx) and not commands[-1][1].network and _NO_WAY_OUT.search(text[-8_000:]):
        text = f"{text.rstrip()}\n{_how_to_ask(ctx)}"
    return _told(ctx, line, text, ending, result)


def _how_to_ask(ctx: ToolContext) -> str:
    """One line for a command that seems to have failed for want of the network."""
    if ctx.state.offline:
        return "(this run is offline: no command has the network)"
    who = (
        "the person is asked" if ctx.host.present else "nobody is here to ask, so only a rule of the user can allow it"
    )
    return f"(commands have no network here; if this one needs it, call again with network=true: {who})"


def _told(ctx: ToolContext, line: str, text: str, ending: str, result: ProcessResult) -> ToolResult:
    where = f" (in {ctx.state.shell_cwd})" if ctx.state.shell_cwd else ""
    body = text.rstrip("\n")
    display = CommandDisplay(
        command=sanitise(line),
        exit_code=result.exit_code,
        signal=result.signal,
        tail=result.capture.tail(),
        lines=result.capture.lines,
        summary=ending if not result.ok else f"{result.capture.lines:,} lines" if result.capture.lines else "",
    )
    return ToolResult.of(
        f"{body}\n{ending}{where}" if body else f"{ending}{where}, no output",
        is_error=not result.ok,
        display=display,
        exit_code=result.exit_code,
        signal=result.signal,
        seconds=round(result.seconds, 3),
        bytes=result.capture.total,
        **({"timed_out": True} if result.timed_out else {}),
    )


def _ending(result: ProcessResult, limit: float) -> str:
    if result.timed_out:
        return f"timed out after {limit:g} s: the command and all it started were ended"
    if result.signal:
        return f"ended by signal {_number(result.signal)} ({result.signal})"
    code = result.exit_code or 0
    if 128 < code <= 128 + 64:
        return f"exit code {code} (a program in it was ended by signal {code - 128}, {signal_name(code - 128)})"
    return f"exit code {code}"


def _number(name: str) -> int:
    return int(getattr(signal, name, 0)) or int(name.split()[-1])


def _start(ctx: ToolContext, job: Command, line: str) -> ToolResult:
    try:
        started = jobs_of(ctx).start(job, line)
    except TooManyJobs as e:
        raise ToolFailed(f"{e}. Stop one with shell_jobs first.") from None
    except OSError as e:
        raise ToolFailed(f"The command could not be started: {e.strerror or e}.") from None
    text = f'Job {started.id} runs in the background. shell_jobs(action="read", id="{started.id}") shows its output.'
    display = CommandDisplay(command=sanitise(line), exit_code=0, summary=f"job {started.id}")
    return ToolResult.of(text, display=display, job=started.id)


def jobs_of(ctx: ToolContext) -> Jobs:
    """The run's jobs, made on first use."""
    if ctx.state.jobs is None:
        ctx.state.jobs = Jobs()
    return ctx.state.jobs


def _closed(ctx: ToolContext) -> bool:
    """Does a sandbox keep the network closed?"""
    return ctx.state.sandbox is not None and ctx.state.sandbox.status in ("full", "reduced")


def _kept_folder(ctx: ToolContext) -> Path:
    return Path(ctx.state.workspace.root if ctx.state.workspace else os.getcwd(), ctx.state.shell_cwd)


def _folder(ctx: ToolContext, cwd: str) -> Path:
    """Where to run: the root, then the folder kept from before, then `cwd`, as cd would. Raises ToolFailed."""
    workspace = ctx.state.workspace
    if workspace is None:
        folder = Path(os.path.expanduser(os.path.join(ctx.state.shell_cwd, cwd) or "."))
        if not folder.is_dir():
            raise ToolFailed(f"The folder {cwd} does not exist.")
        return folder.absolute()
    try:
        place = workspace.real(os.path.join(ctx.state.shell_cwd, cwd) or ".")
    except WorkspaceError as e:
        raise ToolFailed(f"cwd: {e}") from None
    if not place.path.is_dir():
        raise ToolFailed(f"cwd: {cwd or ctx.state.shell_cwd} is not a folder.")
    return place.path


def _change_folder(ctx: ToolContext, folder: Path, to: str) -> ToolResult:
    words = to.strip().strip("'\"") or "."
    if words == "-":
        raise ToolFailed("cd - is not known here; name the folder.")
    root = ctx.state.workspace.root if ctx.state.workspace else Path(os.getcwd())
    target = root if to.strip() in ("", "~") else _folder(ctx, os.path.join(folder, os.path.expanduser(words)))
    relative = os.path.relpath(target, root)
    ctx.state.shell_cwd = "" if relative == "." else relative
    text = f"Later commands run in {'the workspace root' if relative == '.' else relative}.\nexit code 0"
    return ToolResult.of(text, display=CommandDisplay(command=f"cd {to}".strip(), exit_code=0), exit_code=0)


def _environment(ctx: ToolContext, network: bool = False) -> dict[str, str]:
    environ = ctx.state.environ if ctx.state.environ is not None else os.environ
    workspace = ctx.state.workspace.root if ctx.state.workspace else None
    trusted = bool(ctx.state.extra.get("trusted"))
    return child_environ(environ, ctx.state.shell.env_allow, trusted, workspace, network=network) | _QUIET


def _program() -> str:
    return next(
        (path for path in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash") if os.access(path, os.X_OK)), "/bin/sh"
    )
