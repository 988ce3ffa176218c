"""D41 to D46: the terminal, keys in outputs, and files under kill, full disks and torn logs."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

from aicli.sessions.store import SessionStore
from tests.attacks.site import KEY, Site, case
from tests.attacks.trusting import ROOT, files_with, run, soon
from tests.support.counts import count, soaking
from tests.support.model_server import ModelServer
from tests.support.model_server_steps import call, error

ESCAPES = "\x1b[2J\x1b]52;c;aGk=\x07\x1b]0;title\x07\x07\x9b2J\u202e"


@case("D41")
def terminal_sequences(site: Site) -> None:
    (site.work / "nasty").write_text(f"before{ESCAPES}after\n")
    (site.work / f"name{ESCAPES.replace('/', '')}").write_text("x")
    steps = [[call("read_file", path="nasty")], [call("ls", path=".")], f"said{ESCAPES}end"]
    for form in ("text", "json", "stream-json") if soaking() else ("text", "stream-json"):
        with ModelServer(steps) as server:
            done = soon(site, "prompt", "hi", "-m", "ollama:m", "-v", "--output-format", form, OLLAMA_HOST=server.url)
        raw = {c for c in done.stdout + done.stderr if c in "\x1b\x07\x9b\u202e"}
        site.check(f"{form}: {raw}", not raw)
        assert "said" in done.stdout and "end" in done.stdout, done


@case("D42")
def a_key_that_is_echoed(site: Site) -> None:
    site.git("init", "-q")
    with ModelServer([[error(401, f"bad key {KEY} given")]] * 9) as server:
        words = ("prompt", "hi", "-m", "openai:x", "--debug", "--log-http", str(site.base / "wire.log"))
        environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url, "AICLI_BASE_URL": server.url}
        for form in ("text", "json", "stream-json") if soaking() else ("text", "json"):
            more = ("--output-format", form)
            done = run(site, *words, *more, **environ)
            site.check(f"output {more}", KEY not in done.stdout + done.stderr and done.returncode != 0)
        assert any(KEY in str(r.headers) for r in server.requests), "the key was sent where it belongs"
    site.check("files", not files_with(site.base, KEY.encode()))
    loose = [p for p in site.home.rglob("*") if "aicli" in p.parts and stat.S_IMODE(p.stat().st_mode) & 0o077]
    site.check(f"modes {loose}", not [p for p in loose if "state" in p.parts or "sessions" in p.parts])


WRITER = """
import sys
from pathlib import Path
from aicli.workspace.root import Workspace
work = Workspace(Path(sys.argv[1]))
print("ready", flush=True)
for n in range(10**9):
    work.write("big", (b"old" if n % 2 else b"new") * 400_000)
"""


@case("D43")
def killed_while_writing(site: Site) -> None:
    chance = random.Random(3)
    target = site.work / "big"
    target.write_bytes(b"old" * 400_000)
    whole = {b"old" * 400_000, b"new" * 400_000}
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))}
    for n in range(count(5, 500)):
        words = [sys.executable, "-c", WRITER, str(site.work)]
        with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None and child.stdout.readline() == b"ready\n"
            time.sleep(chance.random() * 0.03)
            child.send_signal(signal.SIGKILL)
        site.check(f"kill {n}", target.read_bytes() in whole)


LIMITED = """
import resource, sys
from pathlib import Path
from aicli.testing import call_tool
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
out = call_tool("write_file", {"path": "f", "content": "x" * 500_000}, Path(sys.argv[1]), "bypass")
print(out.is_error, out.text)
out = call_tool("write_file", {"path": "g", "content": "small"}, Path(sys.argv[1]), "bypass")
print(out.is_error, out.text)
"""


@case("D44")
def a_full_disk(site: Site) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))}
    words = [sys.executable, "-c", LIMITED, str(site.work)]
    done = subprocess.run(words, env=environ, cwd=site.work, capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    named = "EFBIG" in done.stdout or "larger" in done.stdout
    site.check("named", bool(lines) and lines[0].startswith("True") and named)
    site.check("old file whole", (site.work / "f").read_text() == "b\na\nc\n")
    site.check("nothing left", not [p for p in site.work.iterdir() if "tmp" in p.name])
    site.check("the next write works", (site.work / "g").read_text() == "small")


@case("D45")
def undo_in_a_new_process(site: Site) -> None:
    before = b"one\r\ntwo\r\n\xff"
    (site.work / "crlf").write_bytes(before)
    steps = [
        [call("write_file", path="new", content="n\n")],
        [call("write_file", path="f", content="z\n")],
        "done",
    ]
    with ModelServer(steps) as server:
        done = soon(site, "agent", "run", "general", "hi", "-m", "ollama:m", "--yolo", OLLAMA_HOST=server.url)
    assert done.returncode == 0 and (site.work / "f").read_text() == "z\n", done
    run(site, "undo")
    site.check("the last turn", (site.work / "f").read_bytes() == b"b\na\nc\n" and (site.work / "new").exists())
    (site.work / "new").write_text("by hand\n")
    refused = soon(site, "undo")
    site.check(f"a file changed by hand {refused}", (site.work / "new").read_text() == "by hand\n")
    (site.work / "new").write_text("n\n")
    soon(site, "undo")
    site.check("the turn before", not (site.work / "new").exists())
    site.check("others untouched", (site.work / "crlf").read_bytes() == before)


@case("D46")
def a_torn_log(site: Site) -> None:
    with ModelServer(["first", "second"]) as server:
        soon(site, "prompt", "remember 7", "-m", "ollama:m", OLLAMA_HOST=server.url)
        folder = Path(os.environ["XDG_STATE_HOME"]) / "aicli" / "sessions"
        log = next(p for p in folder.rglob("*.jsonl"))
        lines = log.read_bytes().splitlines(keepends=True)
        lines.insert(1, b"not json\n")
        log.write_bytes(b"".join(lines) + b'{"type": "message_added", "mess')
        done = soon(site, "prompt", "and now", "-m", "ollama:m", "--continue", OLLAMA_HOST=server.url)
        history = json.dumps(server.bodies[-1])
    site.check("resumes", done.returncode == 0 and "remember 7" in history and "second" in done.stdout)
    (folder / f"{'0' * 8}-empty.jsonl").write_bytes(b"")
    listed = soon(site, "sessions", "list")
    site.check("an empty file", listed.returncode == 0)
    assert SessionStore(folder).list() is not None
