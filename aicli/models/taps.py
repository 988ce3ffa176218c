"""What stands between the requests and the network: a log, a recording, a replay."""

from __future__ import annotations

from pathlib import Path

from aicli.models.http import Network, Transport
from aicli.models.record import Recorder, Replayer
from aicli.models.wirelog import WireLog


def transport(*, log_http: Path | None, record: Path | None, replay: Path | None) -> Transport:
    """The network with the wanted taps. Raises ConfigError for a file that cannot be used."""
    inner: Transport = Replayer(replay) if replay is not None else Network()
    if record is not None:
        inner = Recorder(inner, record)
    return WireLog(inner, log_http) if log_http is not None else inner
