"""Small fixed counts for `make test`, the long ones for `make soak`."""

import os
from typing import TypeVar

T = TypeVar("T")


def soaking() -> bool:
    return os.environ.get("AICLI_SOAK") == "1"


def count(small: int, long: int) -> int:
    return long if soaking() else small


def some(cases: list[T], small: int) -> list[T]:
    """The first few of the cases, all of them in a long run."""
    return cases if soaking() else cases[:small]


def within(seconds: float) -> float:
    """A bound of time: itself in a long run, else three times that and at least a second, only against hanging."""
    return seconds if soaking() else max(1.0, 3 * seconds)
