"""Entry points of other packages are found wherever packages may lie, and packages without any cost no reader."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CODE = (
    "import sys\nsys.path.insert(0, sys.argv[1])\nfrom aicli.plugins import plugins\n"
    "print([p.name for p in plugins('aicli.tools') if p.name == 'mine'], 'importlib.metadata' in sys.modules)"
)
FILES = {"mine-1.dist-info/METADATA": "Name: mine\nVersion: 1\n"}
DECLARED = {**FILES, "mine-1.dist-info/entry_points.txt": "[aicli.tools]\nmine = mine:tool\n"}


def found(place: Path) -> str:
    done = subprocess.run([sys.executable, "-c", CODE, str(place)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(("files", "names"), [(DECLARED, "['mine'] True"), (FILES, "[] False")])
def test_a_folder_of_packages(tmp_path: Path, files: dict[str, str], names: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert found(tmp_path) == names


def test_a_zip_of_packages(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as file:
        for name, text in DECLARED.items():
            file.writestr(name, text)
    assert found(tmp_path / "all.zip") == "['mine'] True"
