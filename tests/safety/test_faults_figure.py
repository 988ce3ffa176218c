"""What faults leave, in the numbers promised: killed writers, killed logs, full disks, many writers, undo."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aicli.sessions.log import RunLogger
from aicli.sessions.store import SessionStore
from aicli.workspace.history import History
from aicli.workspace.memory import MemoryStore
from aicli.workspace.root import Workspace
from tests.attacks.sinks import WRITER
from tests.attacks.trusting import ROOT
from tests.support.figures import figure
from tests.support.hands import Hands
from tests.workspace.test_memory import WRITER as REMEMBERER

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_800)]
KILLS, LOGS, WRITERS, FACTS, UNDONE = 500, 60, 8, 50, 200

LOGGER = """
import sys
from pathlib import Path
from aicli.content.events import Warned
from aicli.sessions.log import RunLogger
log = RunLogger(Path(sys.argv[1]), "one")
n = 0
while True:
    n += 1
    log.emit(Warned(text=f"{n} " + "文" * (n % 7 * 3_000)))
    print(n, flush=True)
"""

FULL = """
import os, sys
from pathlib import Path
from aicli.workspace.root import Workspace, WriteFailed
work = Workspace(Path(sys.argv[1]))
try:
    work.write("f", b"new" * 20_000)
except WriteFailed as e:
    print(e)
"""


def environ() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", *words], env=environ(), stdout=subprocess.PIPE)


def torn_writes(folder: Path) -> int:
    """Files that are neither the old nor the new one after a kill at a random moment."""
    chance, target = random.Random(5), folder / "big"
    folder.mkdir()
    whole = {b"old" * 400_000, b"new" * 400_000}
    target.write_bytes(b"old" * 400_000)
    torn = 0
    for _ in range(KILLS):
        with start(WRITER, str(folder)) as child:
            assert child.stdout is not None and child.stdout.readline() == b"ready\n"
            time.sleep(chance.random() * 0.03)  # the moment of the kill, not a wait for something
            child.send_signal(signal.SIGKILL)
        torn += target.read_bytes() not in whole
    return torn


def lost_records(folder: Path) -> tuple[int, int]:
    """(logs that can't be read to their end, the most records lost of one log) after kills at random moments."""
    chance, torn, most = random.Random(6), 0, 0
    for n in range(LOGS):
        place = folder / str(n)
        with start(LOGGER, str(place)) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(chance.random() * 0.05)  # the moment of the kill, not a wait for something
            child.send_signal(signal.SIGKILL)
            said = child.stdout.read().split(b"\n")
        told = int(said[-2]) if len(said) > 1 else 1
        RunLogger(place, "one").close()  # going on mends the end
        rows = (place / "one.jsonl").read_bytes().split(b"\n")
        numbers = [json.loads(row)["seq"] for row in rows[:-1]]
        torn += numbers != list(range(len(numbers))) or rows[-1] != b""
        most = max(most, told - (len(numbers) - 1))
        assert SessionStore(place).load("one") is not None
    return torn, most


def full_disks(folder: Path) -> dict[str, bool]:
    """By the call that finds the disk full: is the old file whole, nothing left beside it, and the cause named?"""
    found = {}
    for call in ("openat", "write", "fsync", "rename"):
        place = folder / call
        place.mkdir(parents=True)
        (place / "f").write_bytes(b"old content")
        if call in ("openat", "write"):  # a real one: no room for another file, or for its bytes
            size = "nr_inodes=2" if call == "openat" else "size=16k"
            script = f'mount -t tmpfs -o {size} none "$1" && printf "old content" > "$1/f" && "$2" -c "$3" "$1"'
            script += ' && printf "%s|" "$(cat "$1/f")" "$(ls -A "$1")"'
            words = ["unshare", "-Urm", "sh", "-c", script, "sh", str(place), sys.executable, FULL]
        else:
            kinds = "rename,renameat,renameat2" if call == "rename" else "fsync,fdatasync"
            words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={kinds}"]
            words += ["-e", f"inject={kinds}:error=ENOSPC", sys.executable, "-c", FULL, str(place)]
        done = subprocess.run(words, env=environ(), capture_output=True, text=True, timeout=60)
        if call in ("openat", "write"):
            whole = done.stdout.endswith("old content|f|")
        else:
            whole = (place / "f").read_bytes() == b"old content" and os.listdir(place) == ["f"]
        found[call] = whole and "ENOSPC" in done.stdout
        assert found[call], (call, done.stdout, done.stderr, os.listdir(place))
    return found


def facts_kept(file: Path) -> int:
    running = [start(REMEMBERER, str(file), str(n), str(FACTS)) for n in range(WRITERS)]
    for child in running:
        with child:
            assert child.wait(300) == 0
    return len({fact.text for fact in MemoryStore(file).list()})


def undone(folder: Path) -> tuple[int, int]:
    """(changes taken back byte by byte, changes made), of files with bytes of any kind."""
    chance, same, made = random.Random(7), 0, 0
    root = folder / "w"
    root.mkdir(parents=True)
    hands = Hands(root, checkpoints=folder / "kept")
    for _ in range(UNDONE):
        name = chance.choice(["a", "b", "sub/文件", "new"])
        begin = chance.choice([b"\xef\xbb\xbfx\r\n", b"\xff\xfe\x00", b"", "修好它\n".encode(), os.urandom(300), None])
        path = root / name
        path.unlink(missing_ok=True)
        if begin is not None:
            hands.put(name, begin)
        hands.call("write_file", path=name, content=f"{chance.random()}\n中文\r\n")
        if (path.read_bytes() if path.exists() else None) == begin:
            continue  # refused: nothing to take back
        made += 1
        History(folder / "kept", Workspace(root)).undo()
        same += (path.read_bytes() if path.exists() else None) == begin
    return same, made


@pytest.mark.skipif(not shutil.which("strace") or not shutil.which("unshare"), reason="needs strace and unshare")
def test_faults_leave_what_is_promised(tmp_path: Path) -> None:
    disks = full_disks(tmp_path / "disks")
    (tmp_path / "memory").mkdir()
    facts = facts_kept(tmp_path / "memory" / "memory.md")
    back, made = undone(tmp_path / "undo")
    torn_logs, lost = lost_records(tmp_path / "logs")
    torn = torn_writes(tmp_path / "killed")
    assert (
        (torn, torn_logs, facts, back) == (0, 0, WRITERS * FACTS, made)
        and made > UNDONE / 2
        and lost <= 1
        and all(disks.values())
    )
    figure(
        "G10",
        f"killed {KILLS} times while writing: {torn} torn; {LOGS} times while logging: {torn_logs} torn, "
        f"{max(0, lost)} told records lost; disk full at {', '.join(disks)}: old content and cause named each time; "
        f"{facts} of {WRITERS * FACTS} facts of {WRITERS} writers; {back} of {made} changes undone byte by byte",
    )
