"""What a server reports, as the right ModelError with a hint of what to do."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from aicli.errors import (
    AuthFailed,
    BadRequest,
    ContentFiltered,
    ContextTooLong,
    MalformedReply,
    ModelError,
    ModelNotFound,
    ModelTimeout,
    Overloaded,
    RateLimited,
    ServerFailed,
)
from aicli.late import dataclass, regex


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked for what; for messages and hints."""

    provider: str
    model: str = ""
    url: str = ""
    key_names: tuple[str, ...] = ()


_CONTEXT = regex(
    r"context[ _-]?(length|window|size)|maximum context|context_length_exceeded|exceed_context_size|prompt is too long"
    r"|input (is )?too long|too many (input )?tokens|input token count|exceeds the (available )?context"
    r"|request too large for",
    re.I,
)
_MALFORMED = regex(
    r"error parsing tool call|does not match the expected|failed to parse input at pos|XML syntax error"
    r"|invalid character .{1,8} (after|in|looking)|unexpected end of JSON input|MALFORMED_(FUNCTION_CALL|RESPONSE)",
    re.I,
)
_FILTER = regex(r"content[_ ]?filter|content management policy|blocked by .{0,20}(safety|policy)|moderation", re.I)
_NOT_FOUND = regex(
    r"model .{0,80}(not found|does not exist|is not found)|no such model|unknown model|model_not_found", re.I
)
_AUTH = regex(
    r"api[ _-]?key (not valid|is invalid|expired)|invalid[ _-]?api[ _-]?key|unauthori[sz]ed|authentication_error", re.I
)
_BUSY = regex(r"overloaded|insufficient_system_resource|server (is )?busy|no capacity|UNAVAILABLE", re.I)
_LIMITED = regex(r"rate[ _-]?limit|RESOURCE_EXHAUSTED|too many requests", re.I)
_SERVER = regex(r"internal[ _]?(server[ _])?error|api_error|server_error|bad gateway|timeout", re.I)


def from_status(asked: Asked, status: int, headers: Mapping[str, str], body: str) -> ModelError:
    """The error for an HTTP answer that is not a success."""
    message, code = _words(body)
    text = f"{code} {message}"
    shown = f"{asked.provider} answered {status}" + (f": {message}" if message else "")
    wait = retry_after(headers, body)
    error = _by_status(asked, status, text, shown, wait, body[:4000])
    if "insufficient_quota" in text or "billing" in text.lower():
        error.retryable, error.hint = False, "The account has no credit left."
    wanted = headers.get("x-should-retry")
    if wanted in ("true", "false"):
        error.retryable = wanted == "true"
    return error


def _by_status(asked: Asked, status: int, text: str, shown: str, wait: float | None, raw: str) -> ModelError:
    if status in (301, 302, 303, 307, 308):
        return BadRequest(shown, hint="Point base_url at the final address.", status=status, raw=raw)
    if status in (401, 403):
        return AuthFailed(shown, hint=_key_hint(asked), status=status, raw=raw)
    if status == 402:
        return AuthFailed(shown, hint="The account has no credit left.", status=status, raw=raw)
    if _MALFORMED.search(text):
        return MalformedReply(shown, status=status, raw=raw)
    if status in (400, 413, 422, 500) and _CONTEXT.search(text):
        return ContextTooLong(shown, hint=_context_hint(), status=status, raw=raw)
    if status == 404 and not re.search(r"model|endpoint", text, re.I):
        return BadRequest(shown, hint=f"Is base_url right? It is {asked.url}.", status=status, raw=raw)
    if status == 404 or (status == 400 and _NOT_FOUND.search(text)):
        return ModelNotFound(shown, hint=_model_hint(asked), status=status, raw=raw)
    if status == 429:
        return RateLimited(shown, hint="Try again later.", status=status, retry_after=wait, raw=raw)
    if status in (503, 529):
        return Overloaded(shown, hint="Try again later.", status=status, retry_after=wait, raw=raw)
    if status in (408, 409, 504):
        return ModelTimeout(shown, hint="Try again later.", status=status, retry_after=wait, raw=raw)
    if status >= 500:
        return ServerFailed(shown, hint="Try again later.", status=status, retry_after=wait, raw=raw)
    if _AUTH.search(text):
        return AuthFailed(shown, hint=_key_hint(asked), status=status, raw=raw)
    if _FILTER.search(text):
        return ContentFiltered(shown, status=status, raw=raw)
    return BadRequest(shown, status=status, raw=raw)


def from_event(asked: Asked, error: Any) -> ModelError:
    """The error that came inside a reply that began as a success."""
    body = json.dumps({"error": error})
    message, code = _words(body)
    number = error.get("code") if isinstance(error, dict) else None
    status = number if isinstance(number, int) and 400 <= number < 600 else None
    if status:
        return from_status(asked, status, {}, body)
    text = f"{code} {message}"
    shown = f"{asked.provider} reported: {message or code or 'an error'}"
    for pattern, kind in (
        (_MALFORMED, MalformedReply),
        (_CONTEXT, ContextTooLong),
        (_BUSY, Overloaded),
        (_LIMITED, RateLimited),
        (_NOT_FOUND, ModelNotFound),
        (_AUTH, AuthFailed),
        (_FILTER, ContentFiltered),
        (_SERVER, ServerFailed),
    ):
        if pattern.search(text):
            hint = {ModelNotFound: _model_hint(asked), AuthFailed: _key_hint(asked), ContextTooLong: _context_hint()}
            return kind(shown, hint=hint.get(kind, ""), raw=message)
    if re.search(r"invalid|unsupported|not support|bad request", text, re.I):
        return BadRequest(shown, raw=message)
    return ServerFailed(shown, raw=message)


def retry_after(headers: Mapping[str, str], body: str = "") -> float | None:
    """Seconds to wait as the server asked: milliseconds, seconds, a date, or Google's retryDelay in the body."""
    millis = headers.get("retry-after-ms")
    if millis:
        try:
            return max(0.0, float(millis) / 1000)
        except ValueError:
            pass
    value = headers.get("retry-after", "").strip()
    if value:
        try:
            return max(0.0, float(value))
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except (TypeError, ValueError):
            pass
    found = re.search(r'"retryDelay"\s*:\s*"([\d.]+)s"', body)
    return float(found[1]) if found else None


def _words(body: str) -> tuple[str, str]:
    """(message, code or type) out of any of the error bodies in use."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        plain = re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", body[:8000], flags=re.S | re.I)
        return " ".join(plain.split())[:300], ""
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return str(value)[:300], ""
    error = value.get("error", value)
    if not isinstance(error, dict):
        return str(error)[:1000], ""
    message = error.get("message") or error.get("detail") or value.get("message") or value.get("detail") or ""
    if not isinstance(message, str):
        message = json.dumps(message, ensure_ascii=False)
    inner = error.get("metadata")
    if isinstance(inner, dict) and isinstance(inner.get("raw"), str):
        message = f"{message} ({inner['raw'][:300]})"
    codes = (error.get(k) for k in ("type", "code", "status"))
    return message[:1000], " ".join(str(c) for c in codes if c is not None)


def _key_hint(asked: Asked) -> str:
    if not asked.key_names:
        return "Check the key."
    return f"Set {' or '.join(asked.key_names)} in the environment."


def _model_hint(asked: Asked) -> str:
    if asked.provider == "ollama":
        return f"Get it with: ollama pull {asked.model}"
    return "`aicli models list` shows what the server has."


def _context_hint() -> str:
    return "Shorten the task, compact the conversation, or use a model with a larger window."
