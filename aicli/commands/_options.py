"""The flags of a run, once: shared by `prompt` and `agent run`, and turned into settings and run options."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from aicli.errors import InputError, UsageError
from aicli.late import dataclass
from aicli.settings_file import duration

if TYPE_CHECKING:
    from aicli.runtime import RunOptions


@dataclass(frozen=True)
class RunFlags:
    """What the command line said; None, "" or empty means that the flag was not given."""

    prompt: Annotated[str, typer.Option("--prompt", "-p", metavar="TEXT", help="The task, also as a flag.")] = ""
    output_format: Annotated[str, typer.Option(metavar="text|json|stream-json", help="What stdout carries.")] = ""
    json: Annotated[bool, typer.Option("--json", help="Same as --output-format json.")] = False
    output: Annotated[
        Path | None,
        typer.Option(
            "--output-last-message", "-o", "--output", metavar="FILE", help="Write the final answer there too."
        ),
    ] = None
    include_partial_messages: Annotated[
        bool, typer.Option("--include-partial-messages", help="Pieces of replies too.")
    ] = False
    output_schema: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The answer must fit this JSON schema.")
    ] = None
    json_schema: Annotated[str, typer.Option(metavar="JSON|@FILE", help="The same, written out.")] = ""
    no_markdown: Annotated[bool, typer.Option("--no-markdown", help="Print the answer's raw text.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing on stderr but errors.")] = False
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="More of what happens, on stderr.")] = False
    log_http: Annotated[Path | None, typer.Option(metavar="FILE", help="Every request and response; keys masked.")] = (
        None
    )
    record: Annotated[Path | None, typer.Option(metavar="FILE", help="Record the model's HTTP traffic.")] = None
    replay: Annotated[Path | None, typer.Option(metavar="FILE", help="Answer from a recording.")] = None
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks of our own faults.")] = False
    continue_: Annotated[bool, typer.Option("--continue", "-c", help="Go on with the last session here.")] = False
    continuous: Annotated[bool, typer.Option("--continuous", hidden=True)] = False
    resume: Annotated[str | None, typer.Option("--resume", "-r", metavar="ID", help="Go on with this session.")] = None
    fork_session: Annotated[bool, typer.Option("--fork-session", help="Go on in a copy of it.")] = False
    ephemeral: Annotated[bool, typer.Option("--ephemeral", help="Keep no record.")] = False
    session_id: Annotated[str, typer.Option(metavar="ID", help="The id of the new session.")] = ""
    max_turns: Annotated[int | None, typer.Option(metavar="N", help="Most model requests.")] = None
    max_tokens: Annotated[int | None, typer.Option(metavar="N", help="Most tokens, input and output.")] = None
    max_budget_usd: Annotated[float | None, typer.Option(metavar="USD", help="Most dollars.")] = None
    max_tool_calls: Annotated[int | None, typer.Option(metavar="N", help="Most tool calls.")] = None
    max_wall_time: Annotated[str, typer.Option(metavar="10m", help="Most time: 90, 90s, 10m, 1h.")] = ""
    model: Annotated[str, typer.Option("--model", "-m", metavar="MODEL", help="provider:name, fast or thinking.")] = ""
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="Address of the model server.")] = None
    temperature: Annotated[float | None, typer.Option(metavar="N", help="How freely the model chooses its words.")] = (
        None
    )
    thinking: Annotated[str | None, typer.Option(metavar="off|low|medium|high", help="How hard the model thinks.")] = (
        None
    )
    num_ctx: Annotated[int | None, typer.Option(metavar="N", help="Context window in tokens.")] = None
    permission_mode: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="plan, default, accept-edits, dont-ask (headless default) or bypass."),
    ] = None
    yolo: Annotated[bool, typer.Option("--yolo", help="Same as --permission-mode bypass; the sandbox stays on.")] = (
        False
    )
    allowed_tools: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-tools", "--allowedTools", metavar="RULES", help="Allow unasked, as in shell(git log *)."
        ),
    ] = None
    disallowed_tools: Annotated[
        list[str] | None,
        typer.Option("--disallowed-tools", "--disallowedTools", metavar="RULES", help="Refuse always."),
    ] = None
    sandbox: Annotated[str | None, typer.Option(metavar="auto|required|off", help="Confine commands.")] = None
    strict: Annotated[bool, typer.Option("--strict", help="A refused or failed tool call fails the run.")] = False
    bare: Annotated[bool, typer.Option("--bare", help="No project files, memory, hooks or skills.")] = False
    offline: Annotated[bool, typer.Option("--offline", help="No network but loopback.")] = False
    cwd: Annotated[Path | None, typer.Option("--cwd", "-C", metavar="DIR", help="Work there.")] = None
    add_dir: Annotated[list[Path] | None, typer.Option(metavar="DIR", help="Another folder it may work in.")] = None
    trust: Annotated[bool, typer.Option("--trust", help="Trust this folder's own files for this run.")] = False

    @property
    def format(self) -> str:
        """text, json or stream-json. Raises UsageError."""
        said = self.output_format or ("json" if self.json else "text")
        if said not in ("text", "json", "stream-json"):
            raise UsageError(f"--output-format {said!r}: it is text, json or stream-json")
        if self.json and said != "json":
            raise UsageError(f"--json and --output-format {said} contradict each other")
        return said


@functools.cache
def flag_hints() -> dict[str, Any]:
    """The options by field of RunFlags."""
    return get_type_hints(RunFlags, include_extras=True)


def with_flags(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command that takes `flags: RunFlags` all of its flags as options."""
    hints = flag_hints()
    own = inspect.signature(command, eval_str=True)
    names = [f.name for f in fields(RunFlags)]

    @functools.wraps(command)
    def wrapped(**values: Any) -> int:
        flags = RunFlags(**{name: values.pop(name) for name in names})
        return command(**values, flags=flags)

    parameters = [p for p in own.parameters.values() if p.name != "flags"]
    for field in fields(RunFlags):
        assert field.default is not MISSING
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(field.name, kind, default=field.default, annotation=hints[field.name]))
    wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in parameters}
    del wrapped.__wrapped__
    return wrapped


SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Signals wait while the program is being loaded, so that a run that is ended then has its result line too."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def settings_flags(flags: RunFlags) -> dict[str, object]:
    """The flags that are settings, by dotted key; None where not given. Raises UsageError."""
    mode = "bypass" if flags.yolo else flags.permission_mode
    if flags.yolo and flags.permission_mode and flags.permission_mode.lower() not in ("bypass", "bypasspermissions"):
        raise UsageError(f"--yolo and --permission-mode {flags.permission_mode} contradict each other")
    thinking = flags.thinking
    if thinking is not None and thinking not in ("off", "low", "medium", "high"):
        raise UsageError(f"--thinking {thinking!r}: it is off, low, medium or high")
    if flags.sandbox is not None and flags.sandbox not in ("auto", "required", "off"):
        raise UsageError(f"--sandbox {flags.sandbox!r}: it is auto, required or off")
    return {
        "base_url": flags.base_url,
        "models.temperature": flags.temperature,
        "models.level": thinking,
        "models.num_ctx": flags.num_ctx,
        "limits.max_turns": flags.max_turns,
        "limits.max_tokens": flags.max_tokens,
        "limits.max_budget_usd": flags.max_budget_usd,
        "limits.max_tool_calls": flags.max_tool_calls,
        "limits.max_wall_time": seconds(flags.max_wall_time),
        "permissions.mode": mode,
        "permissions.allow": rules(flags.allowed_tools) or None,
        "permissions.deny": rules(flags.disallowed_tools) or None,
        "sandbox.mode": flags.sandbox,
        "offline": True if flags.offline else None,
    }


def run_options(flags: RunFlags, session_id: str, **more: Any) -> RunOptions:
    """The rest. Raises UsageError for a folder that is not there and flags that contradict each other."""
    from aicli.runtime import RunOptions

    cwd = working_folder(flags)
    for folder in (cwd, *(flags.add_dir or ())):
        if not os.path.isdir(folder):
            raise UsageError(f"there is no folder {str(folder)!r}")
    if flags.continue_ and flags.resume:
        raise UsageError("--continue and --resume contradict each other")
    if flags.resume is not None and not flags.resume.strip():
        raise UsageError("--resume needs the id of a session", hint="See: aicli sessions list.")
    resume = "latest" if flags.continue_ else flags.resume or ""
    if flags.session_id and resume and not flags.fork_session:
        raise UsageError("--session-id names a new session; with --resume it needs --fork-session")
    return RunOptions(
        cwd=cwd,
        add_dirs=tuple(flags.add_dir or ()),
        model=flags.model,
        resume=resume,
        fork=flags.fork_session,
        ephemeral=flags.ephemeral,
        session_id=session_id,
        strict=flags.strict,
        bare=flags.bare,
        trust=flags.trust,
        log_http=flags.log_http,
        record=flags.record,
        replay=flags.replay,
        **more,
    )


def working_folder(flags: RunFlags) -> Path:
    """Where the run works. Raises UsageError when that folder was removed meanwhile."""
    try:
        return (flags.cwd or Path.cwd()).expanduser()
    except (OSError, RuntimeError) as e:
        raise UsageError("the current folder is not there any more", hint="Give one with -C.") from e


def seconds(text: str) -> float | None:
    """90, 90s, 10m, 1h30m as seconds; None for "". Raises UsageError."""
    if not text:
        return None
    found = duration(text)
    if found is None:
        raise UsageError(f"{text!r} is no time", hint="Write 90, 90s, 10m or 1h30m.")
    return found


_QUOTING = ("shell", "bash", "network", "run_shell_command", "execute_command")
"""Rules in which a quoted bracket is text."""


def rules(given: list[str] | None) -> list[str]:
    """Rules separated by commas or blanks that stand outside of brackets; what is left open reaches to the end."""
    found: list[str] = []
    for text in given or ():
        depth, start, quote = 0, 0, ""
        for at, char in enumerate(text):
            if quote or (depth and char in "'\"" and text[start:].lower().startswith(_QUOTING)):
                quote = char if not quote else "" if char == quote else quote
            elif char in ", " and depth <= 0:
                found.append(text[start:at])
                start = at + 1
            else:
                depth += (char == "(") - (char == ")")
        found.append(text[start:])
    return [rule.strip() for rule in found if rule.strip()]


def schema_of(flags: RunFlags) -> dict[str, Any] | None:
    """The schema that the answer must fit, None if there is none. Raises InputError, UsageError."""
    if flags.output_schema is not None and flags.json_schema:
        raise UsageError("--output-schema and --json-schema contradict each other")
    source = flags.output_schema or (Path(flags.json_schema[1:]) if flags.json_schema.startswith("@") else None)
    if source is None and not flags.json_schema:
        return None
    import json

    name = str(source) if source else "--json-schema"
    try:
        text = source.read_text("utf-8-sig") if source else flags.json_schema
        schema = json.loads(text)
    except OSError as e:
        raise InputError(f"the schema {name} can't be read: {e.strerror or e}") from e
    except (ValueError, RecursionError) as e:
        raise InputError(f"the schema {name} is not JSON: {e}") from e
    from jsonschema import SchemaError, validators

    if not isinstance(schema, dict):
        raise InputError(f"the schema {name} is not a JSON object")
    try:
        validators.validator_for(schema).check_schema(schema)
    except SchemaError as e:
        raise InputError(f"{name} is no JSON schema: {e.message[:200]}") from e
    except RecursionError as e:
        raise InputError(f"{name} is nested too deeply") from e
    return schema
