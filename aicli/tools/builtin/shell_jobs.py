"""The shell_jobs tool: background jobs, and whole outputs that were too long, listed, read and stopped."""

from __future__ import annotations

from typing import Any, Literal

from aicli.clean import sanitise
from aicli.content.kinds import ToolKind
from aicli.content.results import CommandDisplay, TextDisplay, ToolResult
from aicli.tools.base import ToolContext, ToolFailed, tool
from aicli.tools.jobs import Job


def _kind(params: Any) -> ToolKind:
    """Stopping ends only what this run started, with consent: no further question."""
    return ToolKind.READ if params.action in ("list", "read") else ToolKind.THINK


@tool(
    kind=_kind,
    title="jobs: {action} {id}",
    full_only=True,
    untold=("offset",),
    aliases=("bash_output", "read_background_output", "kill_shell", "kill_bash"),
    param_aliases={"job_id": "id", "shell_id": "id", "bash_id": "id"},
    compact="Background jobs.",
)
def shell_jobs(
    ctx: ToolContext, action: Literal["list", "read", "stop"] = "list", id: str = "", offset: int | None = None
) -> ToolResult:
    """List background jobs, read a job's new output, or stop it."""
    jobs = ctx.state.jobs
    known = jobs.list() if jobs else ()
    if action == "list":
        lines = [f"{job.id}: {job.state}: {sanitise(job.command, keep_newlines=False)[:200]}" for job in known]
        summary = f"{sum(job.active for job in known)} running"
        return ToolResult.of("\n".join(lines) or "no jobs", display=TextDisplay(text="\n".join(lines), summary=summary))
    job = jobs.get(id) if jobs else None
    if jobs is None or job is None:
        raise ToolFailed(f"There is no job {id!r}. Jobs: {', '.join(j.id for j in known) or 'none'}.")
    if action == "stop":
        jobs.stop(job)
        return ToolResult.of(f"Job {job.id}: {job.state}.\n{job.capture.tail(20)}", display=_display(job))
    return _read(ctx, job, offset)


def _read(ctx: ToolContext, job: Job, offset: int | None) -> ToolResult:
    if offset is not None and offset < 0:
        raise ToolFailed("offset is a byte count from the start: 0 or more.")
    start = job.read_to if offset is None else offset
    text, end = job.capture.page(start, ctx.state.shell.output_limit)
    job.read_to = end
    total = job.capture.total
    if start > total:
        raise ToolFailed(f"The output has only {total:,} bytes.")
    more = f"; more from offset {end}" if end < total else ""
    if not text and end < total:
        more = "; that part was not kept, only head and tail are"
    body = text.rstrip("\n") + "\n" if text else ""
    return ToolResult.of(f"{body}[bytes {start:,} to {end:,} of {total:,}{more}; {job.state}]", display=_display(job))


def _display(job: Job) -> CommandDisplay:
    ended = job.running is not None and not job.active
    return CommandDisplay(
        command=sanitise(job.command),
        exit_code=job.running.exit_code if job.running and ended else None,
        tail=job.capture.tail(),
        lines=job.capture.lines,
        summary=job.state,
    )
