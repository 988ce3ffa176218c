from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from aicli import paths


def test_folders_follow_the_environment_at_call_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.config_folder() == tmp_path / "c" / "aicli"
    assert paths.state_folder() == tmp_path / "s" / "aicli"
    assert paths.cache_folder() == tmp_path / ".cache" / "aicli"
    assert paths.project_folder(tmp_path) == tmp_path / ".aicli"
    assert not (tmp_path / "c").exists()


def test_private_folders_are_closed_to_others_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o777)
    try:
        paths.private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(old)
    for folder in (tmp_path / "a", tmp_path / "a" / "b"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    os.chmod(tmp_path / "a", 0o755)
    assert stat.S_IMODE(paths.private_folder(tmp_path / "a").stat().st_mode) == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        paths.private_folder(tmp_path / "file")
