"""Small fixed counts for `make test`, the long ones for `make soak`."""

import os


def soaking() -> bool:
    return os.environ.get("AICLI_SOAK") == "1"


def count(small: int, long: int) -> int:
    return long if soaking() else small
