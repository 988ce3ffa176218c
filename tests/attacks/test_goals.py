"""Two figures by what the system saw: no key leaves, and nothing of a hostile folder starts before trust."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attacks.site import KEY, Site
from tests.attacks.trusting import ROOT, files_with, project
from tests.support.counts import soaking
from tests.support.figures import figure
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, error

needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")


def traced(site: Site, log: Path, trace: str, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG")} | {"HOME": str(site.home)}
    strace = ["strace", "-f", "-qq", "-v", "-s", "65536", "-e", f"trace={trace}", "-o", str(log)]
    return subprocess.run(
        [*strace, sys.executable, "-P", "-m", "aicli", *words],
        cwd=site.work,
        env={**kept, "PYTHONPATH": str(ROOT), "OLLAMA_HOST": "http://127.0.0.1:9", **environ},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=100,
    )


@needs_strace
def test_a_seeded_key_reaches_no_output_file_argument_or_child(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    steps = [
        [call("shell", command="env; cat /proc/self/environ; tr '\\0' ' ' < /proc/1/cmdline; echo done")],
        [call("grep", pattern="x")],
        f"you told me {KEY[:9]}",
        [error(401, f"wrong key {KEY}")],
    ]
    hits: list[str] = []
    runs = 0
    for form in ("text", "json", "stream-json") if soaking() else ("stream-json",):
        log = tmp_path / f"trace-{form}"
        with ModelServer(steps) as server:
            address = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url + "/v1"}
            wire = ("--log-http", str(site.base / "wire.log"), "--debug", "-v", "--output-format", form)
            for task in ("agent run general go --yolo", "agent run general again --yolo"):
                done = traced(site, log, "execve", *task.split(), "-m", "openai:x", *wire, **address)
                runs += 1
                hits += [f"{form} output"] if KEY in done.stdout + done.stderr else []
                started = log.read_text(errors="replace").splitlines()[1:]  # the first is the program itself
                hits += [line.partition(", [")[0] for line in started if KEY in line]
            assert any(KEY in str(r.headers) for r in server.requests), "the key never went where it belongs"
    hits += files_with(site.base, KEY.encode())
    assert hits == []
    figure(
        "G6", f"{runs} runs with a seeded key: 0 hits in stdout, stderr, files, arguments and children's environments"
    )


@needs_strace
def test_nothing_of_a_hostile_folder_starts_before_trust(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    site.repository()
    site.git("config", "core.fsmonitor", str(site.work / "ev"))
    folder = project(site, 'provider = "openai"\nbase_url = "http://127.0.0.1:1"\n[permissions]\nmode = "bypass"\n')
    for name in ("tools", "hooks", "providers", "commands", "agents"):
        (folder / name).mkdir()
        (folder / name / "x.py").write_text(f"open({str(site.canary)!r}, 'w')\n")
    (site.work / ".mcp.json").write_text('{"mcpServers": {"x": {"command": "./ev"}}}')
    (site.work / ".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:1\n")
    for name in ("json.py", "typer.py", "sitecustomize.py", "usercustomize.py", "aicli.py"):
        (site.work / name).write_text(f"open({str(site.canary)!r}, 'w')\n")
    for name in ("git", "rg", "bwrap", "sh"):
        (site.work / name).write_text(f"#!/bin/sh\ntouch {site.canary}\n")
        (site.work / name).chmod(0o755)
    log = tmp_path / "trace"
    with ModelServer(["hello"]) as server:
        environ = {"OLLAMA_HOST": server.url, "PATH": f".:{site.work}:{os.environ['PATH']}"}
        done = traced(site, log, "execve,connect,openat", "prompt", "hi", "-m", "ollama:m", **environ)
        port = server.port
    assert done.returncode == 0 and "hello" in done.stdout, done
    text = log.read_text(errors="replace")
    inside = re.escape(str(site.work))
    started = [m for m in re.findall(r'execve\("([^"]+)".* = 0', text) if re.match(rf"{inside}|\./", m)]
    imported = re.findall(rf'openat\([^,]+, "(?:{inside}/)?[^/"]*\.py[c]?"', text)
    contacted = [p for p in re.findall(r"connect\(.*sin_port=htons\((\d+)\)", text) if int(p) != port]
    assert (started, imported, contacted) == ([], [], []) and not site.canary.exists()
    figure("G7", "a hostile folder before trust: 0 of its programs started, 0 modules read, 0 sockets but the model's")
