"""Engine: the llama.cpp server beside us, started once a process and reached over loopback with a key of its own."""

from __future__ import annotations

import asyncio
import atexit
import importlib.util
import json
import os
import secrets
import subprocess
import sys
import threading
from concurrent.futures import Future
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from aicli.errors import ConfigError
from aicli.models.embedded import INSTALL, LIBRARY

_PASSED = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP", "LANG", "LD_LIBRARY_PATH", "OMP_NUM_THREADS")


def library_version() -> str:
    """Version of the engine, or "" when it isn't installed. Imports nothing."""
    try:
        return version(LIBRARY)
    except PackageNotFoundError:
        return ""


def library_folder() -> Path:
    """The folder to import the engine from. Raises ConfigError when it isn't installed."""
    found = importlib.util.find_spec(LIBRARY)
    if found is None or not found.origin:
        raise ConfigError("The embedded model's engine is not installed", hint=f"Install it with: {INSTALL}")
    return Path(found.origin).parent.parent


def physical_cores() -> int:
    """Cores to compute on: AICLI_EMBEDDED_THREADS, else the physical ones that this process may use."""
    named = os.environ.get("AICLI_EMBEDDED_THREADS", "")
    if named.isdigit() and int(named) > 0:
        return int(named)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        info = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return usable if sys.platform == "darwin" else max(1, usable // 2)
    cores: set[tuple[str, str]] = set()
    package = ""
    for line in info.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "physical id":
            package = value
        elif key.strip() == "core id":
            cores.add((package, value))
    return max(1, min(usable, len(cores) or usable))


class Engine:
    """One server process. `start` returns at once, `ready` waits; a server that died is started anew."""

    def __init__(self, model: Path, *, window: int, slots: Path, threads: int | None = None) -> None:
        self.model = model
        self.window = window
        self.slots = slots
        self.threads = threads or physical_cores()
        self.key = secrets.token_urlsafe(24)
        self.fresh = True
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._address: Future[str] | None = None

    def start(self) -> None:
        """Begins to load the model. Raises ConfigError when the engine isn't installed."""
        with self._lock:
            if self._child is not None and self._child.poll() is None:
                return
            _discard(self._child)
            library = library_folder()
            self.fresh = True
            options = {
                "library": str(library),
                "model": str(self.model),
                "window": self.window,
                "slots": str(self.slots),
                "threads": self.threads,
                "key": self.key,
            }
            environ = {k: v for k in _PASSED if (v := os.environ.get(k)) is not None}
            self._child = child = subprocess.Popen(
                [sys.executable, "-I", str(Path(__file__).with_name("serve.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**environ, "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"},
                cwd=str(self.slots),
                start_new_session=True,
            )
            address: Future[str] = Future()
            self._address = address
            address.set_running_or_notify_cancel()  # from here on a waiter's cancellation is its own affair
            atexit.register(self.close)
            threading.Thread(target=_await_address, args=(child, options, address), daemon=True).start()

    async def ready(self) -> str:
        """The server's address, once the model is loaded. Raises ConfigError when it can't be. May be cancelled."""
        self.start()
        assert self._address is not None
        return await asyncio.wrap_future(self._address)

    def close(self) -> None:
        """Ends the server at once. Blocks for its death only, at most 5 s."""
        with self._lock:
            child, self._child = self._child, None
            atexit.unregister(self.close)
        _discard(child)


def _discard(child: subprocess.Popen[bytes] | None) -> None:
    """Ends the process, if it hasn't, and lets go of its pipes."""
    if child is None:
        return
    child.kill()
    try:
        child.wait(5)
    except subprocess.TimeoutExpired:
        return
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue


def _await_address(child: subprocess.Popen[bytes], options: dict[str, object], address: Future[str]) -> None:
    assert child.stdin is not None and child.stdout is not None
    line: dict[str, str] = {}
    try:
        child.stdin.write(json.dumps(options).encode() + b"\n")
        child.stdin.flush()
        line = json.loads(child.stdout.readline() or b"{}")
    except (OSError, ValueError):
        pass
    if "address" in line:
        address.set_result(line["address"])
        return
    why = line.get("error") or f"its process ended ({child.wait()}); it needs about 2 GB of memory"
    address.set_exception(ConfigError(f"The embedded model can't be loaded from {options['model']}: {why}"))


_engines: dict[tuple[Path, int], Engine] = {}
_engines_lock = threading.Lock()


def shared_engine(model: Path, *, window: int, slots: Path) -> Engine:
    """The process's engine for this file: two agents in one process load the model once."""
    with _engines_lock:
        return _engines.setdefault((model, window), Engine(model, window=window, slots=slots))


def close_all() -> None:
    """Ends every engine of this process now, not at exit."""
    with _engines_lock:
        engines = list(_engines.values())
        _engines.clear()
    for engine in engines:
        engine.close()
