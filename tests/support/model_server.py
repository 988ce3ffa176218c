"""The scripted server of `aicli.testing`, under the name that the tests use."""

from __future__ import annotations

from aicli.testing.server import ModelServer, Seen

__all__ = ["ModelServer", "Seen"]
