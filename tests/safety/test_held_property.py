"""Random workspaces and deny rules in the real sandbox: what is denied or protected stays, all else can be changed."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from aicli.safety.denied import held_paths
from aicli.safety.sandbox import detect
from tests.safety.test_sandbox import needs_bwrap, run
from tests.support.counts import count

NAMES = ["a", "b", "文", "A", "node_modules", ".vscode", ".cache"]
AT_ROOT = [".vscode", ".aicli", ".idea", ".mcp.json", ".gitmodules", ".envrc"]
IN_GIT = ["hooks", "config", "modules"]
PROGRAM = """
import json, os, sys
names, pinned = json.load(open("plan.json"))
def tried(step):
    try:
        step()
        return True
    except OSError:
        return False
written = [n for n in names if tried(lambda: open(n, "a").write("new"))]
moved = [n for n in pinned if tried(lambda: os.rename(n, n + ".moved"))]
print(json.dumps([written, moved]))
"""


def grown(chance: random.Random, folder: Path, depth: int = 0) -> None:
    """A tree of folders and files, some of them repositories, some of these without hooks."""
    (folder / "f").write_text("old")
    for name in chance.sample(NAMES, chance.randint(1, 3)) if depth < 3 else ():
        (folder / name).mkdir()
        grown(chance, folder / name, depth + 1)
    if chance.random() < (0.5 if depth < 3 else 0.2):
        (folder / ".git").mkdir()
        for name in ("config", "HEAD"):
            (folder / ".git" / name).write_text("old")
        for name in chance.sample(["hooks", "modules", "refs"], 2):
            (folder / ".git" / name).mkdir()
            (folder / ".git" / name / "f").write_text("old")


def protected(name: str) -> bool:
    steps = name.split("/")
    if steps[0] in AT_ROOT:
        return True
    if ".git" not in steps[:-1]:
        return False
    at = steps.index(".git")
    seen = at == 0 or (at <= 3 and not any(s[0] == "." or s == "node_modules" for s in steps[:at]))
    return seen and steps[at + 1] in IN_GIT


def below(name: str, folder: str) -> bool:
    return name == folder or name.startswith(folder + "/")


@needs_bwrap
@pytest.mark.parametrize("seed", range(count(8, 200)))
def test_exactly_what_is_denied_or_protected_is_read_only(seed: int, isolated: Path) -> None:
    chance = random.Random(seed)
    grown(chance, isolated)
    files = sorted(str(p.relative_to(isolated)) for p in isolated.rglob("*") if p.is_file())
    folders = sorted(str(p.relative_to(isolated)) for p in isolated.rglob("*") if p.is_dir())
    outer = [p for p in (*files, *folders) if ".git" not in p.split("/")]
    denied = chance.sample(outer, min(len(outer), chance.randint(0, 4)))
    rules = [f"edit({chance.choice(('/', './'))}{d}{'/**' if (isolated / d).is_dir() else ''})" for d in denied]
    if chance.random() < 0.3:
        rules = [r.upper().replace("EDIT", "edit") for r in rules]
    denied = [p for p in outer if p.casefold() in {d.casefold() for d in denied}]  # a deny rule is for any case
    fresh = [f"{f}/new" for f in (".", *folders) if (isolated / f).is_dir()]
    fresh += [
        f"{f}/hooks/new" for f in folders if os.path.basename(f) == ".git" and not (isolated / f / "hooks").exists()
    ]
    names = [os.path.normpath(n) for n in (*files, *fresh)]
    pinned = sorted({above for d in denied for above in (d, *map(str, Path(d).parents)) if above != "."}, reverse=True)
    (isolated / "plan.json").write_text(json.dumps([names, pinned]))
    (isolated / "p.py").write_text(PROGRAM)
    box = detect("required", isolated, held=held_paths(rules, isolated))
    done = run(box, isolated, "/usr/bin/python3 p.py")
    written, moved = json.loads(done.stdout or "[[], []]")
    kept = {n for n in names if protected(n) or any(below(n, d) for d in denied)}
    unmade = {n for n in fresh if n.endswith(".git/hooks/new") and not (isolated / os.path.dirname(n)).exists()}
    assert set(written) == set(names) - kept - unmade and moved == [], (rules, done.stderr)
    for name in names:
        place = isolated / name
        wanted = ("old" if name in files else "") + ("new" if name in written else "")
        assert (place.read_text() if place.exists() else "") == wanted, (name, rules)
    after = {str(p.relative_to(isolated)) for p in isolated.rglob("*")} - {"plan.json", "p.py"}
    assert after == {*files, *folders, *written}, rules
