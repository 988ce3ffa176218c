"""Generated command lines: what counts as reading changes no file and starts no program that is not on the list."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from aicli.safety.allowlist import PROGRAMS
from aicli.safety.shell_parts import parts
from aicli.safety.shell_rules import Plan, read_only
from aicli.workspace.root import Workspace
from tests.attacks.grammar import command
from tests.safety.conftest import tree, workspace  # noqa: F401  (fixtures)
from tests.support.counts import count
from tests.support.figures import figure

pytestmark = pytest.mark.timeout(count(120, 3_600))
LISTED = {*PROGRAMS, "find", "sed", "git"}
DRIVER = """
import json, subprocess, sys
for cwd, pipeline in json.load(open(sys.argv[1])):
    data = b""
    for argv in pipeline:
        try:
            data = subprocess.run(argv, cwd=cwd, input=data, capture_output=True, timeout=20).stdout
        except subprocess.TimeoutExpired:
            print("slow", argv)
"""


def digest(folder: Path) -> str:
    """Names, kinds and bytes of everything below; git's index may be rewritten with the same content."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.name == "index" and path.parent.name == ".git":
            continue
        found.update(str(path).encode() + (path.read_bytes() if path.is_file() and not path.is_symlink() else b"/"))
    return found.hexdigest()


def test_what_counts_as_reading_only_reads(tree: Path, workspace: Workspace, tmp_path: Path) -> None:  # noqa: F811
    (tree / "ev").write_text("#!/bin/sh\ntouch PWN\n")
    (tree / "ev").chmod(0o755)
    chance = random.Random(count(11, 12))
    plans: dict[str, Plan] = {}
    for _ in range(count(200, 20_000)):
        line = command(chance)
        if plan := read_only(line, workspace):
            plans[line] = plan
    assert len(plans) > count(15, 500), "the grammar makes too little that is harmless to prove anything"
    steps = [(s.cwd, s.pipeline) for plan in plans.values() for s in plan.steps]
    script = tmp_path / "steps.json"
    script.write_text(json.dumps(steps))
    before = digest(tmp_path)
    log = Path(tempfile.mkstemp(suffix=".strace")[1])
    trace = ["strace", "-f", "-qq", "-e", "trace=execve", "-s", "300", "-o", str(log)] if shutil.which("strace") else []
    try:
        done = subprocess.run(
            [*trace, sys.executable, "-I", "-c", DRIVER, str(script)], capture_output=True, text=True, timeout=3_000
        )
        assert done.returncode == 0 and done.stdout == "", done
        assert digest(tmp_path) == before, "a file changed"
        assert not (tree / "PWN").exists()
        if not trace:
            pytest.skip("strace is not installed: files were checked, the programs that were started were not")
        started = set(re.findall(r'execve\("([^"]+)"', log.read_text()))
    finally:
        log.unlink(missing_ok=True)
    allowed = {f"/usr/bin/{name}" for name in LISTED} | {f"/bin/{name}" for name in LISTED} | {sys.executable}
    foreign = {p for p in started if p not in allowed and not p.startswith("/usr/lib/git-core/")}
    assert foreign == set()
    lines = count(200, 20_000)
    figure(
        "G3", f"{lines} generated lines, {len(plans)} classed as reading and run: 0 files changed, 0 unlisted programs"
    )


def test_no_generated_line_breaks_the_parsers(workspace: Workspace) -> None:  # noqa: F811
    chance = random.Random(5)
    for _ in range(count(300, 20_000)):
        line = command(chance)
        at = chance.randrange(len(line) + 1)
        broken = line[:at] + chance.choice(("", "'", '"', "\\", "$(", "`", "\x00", "{", "<<", "中")) + line[at:]
        assert isinstance(parts(broken), tuple)
        read_only(broken, workspace)


def test_plans_hold_only_listed_programs(workspace: Workspace) -> None:  # noqa: F811
    chance = random.Random(9)
    for _ in range(count(2_000, 20_000)):
        line = command(chance)
        plan = read_only(line, workspace)
        for argv in (a for s in plan.steps for a in s.pipeline) if plan else ():
            assert argv[0] in {f"/usr/bin/{n}" for n in LISTED} | {f"/bin/{n}" for n in LISTED}, line
            options = argv[: argv.index("--")] if "--" in argv else argv
            assert not any(w.startswith(("-exec", "-delete", "--output", "-fprint")) for w in options), line
