"""Isolation: every test has its own HOME, XDG folders and cwd, and reaches nothing but loopback."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
from pathlib import Path

import pytest

from tests.support.counts import soaking

REAL_HOME = Path(os.path.expanduser("~"))


def pytest_configure() -> None:
    """Signals as a shell in front would leave them: `nohup` and a script's `&` hand ignored ones down."""
    for name, handler in (
        ("SIGINT", signal.default_int_handler),
        ("SIGTERM", signal.SIG_DFL),
        ("SIGHUP", signal.SIG_DFL),
    ):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if soaking():
        return
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.skip(reason="long: run by make soak"))


@pytest.fixture(autouse=True)
def isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    work = tmp_path / "work"
    work.mkdir()
    for name in list(os.environ):
        if name.startswith(("AICLI_", "XDG_")) and name not in ("AICLI_SOAK", "AICLI_EMBEDDED_MODEL"):
            monkeypatch.delenv(name)
        if name.endswith(("_API_KEY", "_TOKEN", "_SECRET")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
        if name.startswith(("LC_", "GIT_")) or name in ("LANGUAGE", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("HOME", str(home))
    for part in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{part}_HOME", str(home / part.lower()))
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")  # nobody there, whatever runs on this machine
    monkeypatch.chdir(work)
    return work


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = str(address[0])  # type: ignore[index]
            if host != "localhost" and not ipaddress.ip_address(host.split("%")[0]).is_loopback:
                raise PermissionError(f"tests reach only loopback, not {host}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)
