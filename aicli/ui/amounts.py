"""Seconds, tokens and money as short text."""

from __future__ import annotations


def seconds(value: float) -> str:
    """4.6 s, 41 s, 3 min 05 s, 1 h 02 min."""
    if value < 10:
        return f"{value:.1f} s"
    return whole_seconds(value)


def whole_seconds(value: float) -> str:
    total = int(value)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60:02d} s"
    return f"{total // 3600} h {total % 3600 // 60:02d} min"


def tokens(count: int) -> str:
    if count < 1000:
        return str(count)
    if count < 10_000:
        return f"{count / 1000:.1f}k".replace(".0k", "k")
    if count < 1_000_000:
        return f"{count // 1000}k"
    return f"{count / 1e6:.1f}M"


def money(usd: float) -> str:
    return f"${usd:.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"


def size(count: int) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count = round(count / 1000, 1)  # type: ignore[assignment]
    return f"{count:.1f} GB"


def ago(age: float) -> tuple[str, int]:
    """The message key and number for how long ago something was."""
    for limit, unit in ((60, 1), (3600, 60), (86_400, 3600)):
        if age < limit:
            return {1: "ago.now", 60: "ago.minutes", 3600: "ago.hours"}[unit], int(age // unit)
    days = int(age // 86_400)
    return ("ago.yesterday", 1) if days == 1 else ("ago.days", days)
