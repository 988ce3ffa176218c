"""The script language of the scripted server, under the names that the tests use."""

from __future__ import annotations

from aicli.testing.steps import (
    Reply,
    Step,
    call,
    comment,
    cut,
    end_early,
    error,
    finish,
    from_json,
    hang,
    raw,
    raw_call,
    redacted,
    text,
    think,
    usage,
    wait,
)

__all__ = [
    "Reply",
    "Step",
    "call",
    "comment",
    "cut",
    "end_early",
    "error",
    "finish",
    "from_json",
    "hang",
    "raw",
    "raw_call",
    "redacted",
    "text",
    "think",
    "usage",
    "wait",
]
